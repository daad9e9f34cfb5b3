"""What the synthetic tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from strategies import parse
from suites import task as suites
from suites.task import Point

Run = Callable[..., list[Point]]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """As in a worker; small tensors are slower with more, and far slower on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """run(task, method, settings, budget=, seed=, repeat=) -> its Points; files go to `tmp_path`."""

    def run(
        name: str, spec: str, settings: dict[str, Any], budget: float | None = None, seed: int = 0, repeat: int = 0
    ) -> list[Point]:
        task, method = suites.make(name, settings), parse(spec)
        task.check(method)
        world, draw = suites.seeds(name, method, seed, repeat)
        return list(task.run(suites.Request(method, world, draw, budget, tmp_path)))

    return run
