"""A tiny warmed-up policy, trained once a test session (a few seconds), and a fixed batch of its rollouts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from suites.verl.actor import Experience
    from suites.verl.model import Qwen3


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of the session's own, which parallel workers share."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if base.name.startswith("popen-") else base) / "costaware-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COSTAWARE_CACHE", str(shared))
        yield shared


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """As the runner does: records of equal specs are equal."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def policy() -> Callable[[], Qwen3]:
    """Gives out copies of the tiny warmed-up policy."""
    from suites.verl.settings import TINY
    from suites.verl.warmstart import warm_start

    return lambda: warm_start(TINY)


@pytest.fixture(scope="session")
def experience(policy: Callable[[], Qwen3]) -> Experience:
    """128 rollouts of that policy with verl's advantages."""
    pytest.importorskip("verl", reason="needs the extra: install costaware-bench[verl]")
    from suites.verl.actor import Experience
    from suites.verl.policy_loss import advantages
    from suites.verl.rollouts import collect
    from suites.verl.settings import PRESETS
    from suites.verl.streams import Streams

    world, stage = PRESETS["tiny"]
    streams = Streams(np.random.SeedSequence(1), np.random.SeedSequence(2))
    rollouts, _ = collect(policy(), world.chain, stage, streams, step=0)
    return Experience(rollouts, advantages(rollouts.scores, rollouts.groups, normalize=True))
