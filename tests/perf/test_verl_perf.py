"""Tokens a CPU-second of the in-process engine's two halves, one process, one thread, preset `small`.

    python -m pytest tests/perf/test_verl_perf.py -s

Aimed at: 30k useful tokens sampled and 28k trained on. Figures depend on the machine and on what shares its cores: none
is asserted. The first call on a machine trains the warm start (about a minute).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from suites.updates import Update
from suites.verl.settings import PRESETS

torch = pytest.importorskip("torch")
pytest.importorskip("verl", reason="needs the extra: install costaware-bench[verl]")

from suites.verl.actor import Actor, Experience  # noqa: E402
from suites.verl.policy_loss import advantages  # noqa: E402
from suites.verl.rollouts import Rollouts, collect, respond  # noqa: E402
from suites.verl.streams import Streams  # noqa: E402
from suites.verl.warmstart import warm_start  # noqa: E402

if TYPE_CHECKING:
    from suites.verl.model import Qwen3

WORLD, STAGE = PRESETS["small"]
STREAMS = Streams(np.random.SeedSequence(0), np.random.SeedSequence(1))


@pytest.fixture(scope="module")
def policy() -> Qwen3:
    torch.set_num_threads(1)
    return warm_start(WORLD)


@pytest.fixture(scope="module")
def rollouts(policy: Qwen3) -> Rollouts:
    return collect(policy, WORLD.chain, STAGE, STREAMS, step=0)[0]


def measured(benchmark: BenchmarkFixture, work: Callable[[], object], tokens: int, label: str) -> None:
    """Print tokens a CPU-second: the best of the rounds, as neighbours can only slow one down."""
    begun: list[float] = []
    spent: list[float] = []

    def timed() -> None:
        begun.append(time.process_time())
        work()
        spent.append(time.process_time() - begun[-1])

    benchmark.pedantic(timed, rounds=7, warmup_rounds=1)
    print(f"\n{label}: {tokens / min(spent):,.0f} tokens a CPU-second ({tokens} tokens, best of {len(spent)})")
    assert tokens > 0


def test_sampling(benchmark: BenchmarkFixture, policy: Qwen3, rollouts: Rollouts) -> None:
    """The rollouts of a step, verified: useful tokens are the responses'."""
    tokens = int(rollouts.response_lengths.sum())
    measured(benchmark, lambda: collect(policy, WORLD.chain, STAGE, STREAMS, step=0), tokens, "sampling a step")


def test_evaluating(benchmark: BenchmarkFixture, policy: Qwen3) -> None:
    """All evaluation prompts at once."""
    rng = STREAMS.prompts(0, 0)
    questions = [WORLD.chain.problem(rng, held_out=True) for _ in range(STAGE.eval_prompts)]
    uniforms = STREAMS.evaluation(STAGE.eval_prompts * STAGE.eval_n, WORLD.chain.max_response)
    tokens = int(respond(policy, WORLD.chain, questions, uniforms).response_lengths.sum())
    measured(benchmark, lambda: respond(policy, WORLD.chain, questions, uniforms), tokens, "sampling an evaluation")


def test_training(benchmark: BenchmarkFixture, policy: Qwen3, rollouts: Rollouts) -> None:
    """The four updates of a step without sampling, optimizer included: every rollout's prompt and response once."""
    actor = Actor(policy, STAGE, WORLD.chain.max_response)
    experience = Experience(rollouts, advantages(rollouts.scores, rollouts.groups, normalize=True))
    parts = np.array_split(np.random.default_rng(0).permutation(len(rollouts)), STAGE.updates)
    updates = [Update(np.sort(part), np.full(len(part), 1 / len(part)), np.ones(len(part), int)) for part in parts]

    def step() -> None:
        for update in updates:
            actor.update(experience, update, step=0)

    measured(benchmark, step, int(rollouts.lengths.sum()), "training on a step")
