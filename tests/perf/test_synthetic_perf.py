"""SGD steps a second of the synthetic engine at the paper's size, against a plain numpy loop over the same draws.

    python -m pytest tests/perf/test_synthetic_perf.py -s

Two figures: one process with one thread (a run), and two such processes at once (what a sweep does with two cores).
Figures depend on the machine and on what else it does: none is asserted, but the results are, to float tolerance.
"""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
import torch
from plain_sgd import plain_sgd
from pytest_benchmark.fixture import BenchmarkFixture

from strategies import parse
from suites.synthetic import RECIPES
from suites.synthetic.engine import BLOCK, Problem, Sgd
from suites.synthetic.sampling import Stream, stream
from suites.synthetic.settings import Settings
from suites.synthetic.task import SyntheticTask

SEED, CPU, NAME = np.random.SeedSequence(0), torch.device("cpu"), "least-squares"
STEPS = 20 * BLOCK  # of each trial in a round
CHECKED = 20  # trials that the plain loop goes through


def paper_size(dtype: torch.dtype) -> tuple[SyntheticTask, Stream, Sgd]:
    """N = 3000, d = 50, 1000 trials under p*, drawing included."""
    torch.set_num_threads(1)
    task = SyntheticTask(NAME, RECIPES[NAME], Settings())
    world = task.recipe.world(task.settings, SEED)
    draws = stream(parse("pstar"), task.pool(world), task.settings.trials, SEED, CPU)
    problem = Problem(world, task.loss, task.recipe.radius, dtype, CPU)
    return task, draws, Sgd(problem, task.step_size(world), draws.second_moment, task.settings.trials)


def advance(draws: Stream, sgd: Sgd, steps: int = STEPS) -> None:
    for _ in range(steps // BLOCK):
        sgd.advance(*draws.take(BLOCK))


def rate_of_a_process(dtype: torch.dtype) -> float:
    """Steps a second, the median of some rounds."""
    _, draws, sgd = paper_size(dtype)
    rates = []
    for _ in range(7):
        begun = time.perf_counter()
        advance(draws, sgd)
        rates.append(STEPS * len(sgd.x) / (time.perf_counter() - begun))
    return float(np.median(rates))


def plain_rate(dtype: torch.dtype) -> float:
    """Steps a second of the plain loop on the engine's own draws; its results must be the engine's."""
    task, draws, sgd = paper_size(dtype)
    taken = [draws.take(BLOCK) for _ in range(4)]
    for block in taken:
        sgd.advance(*block)
    indices, weights = (torch.cat(each)[:, :CHECKED].numpy() for each in zip(*taken, strict=True))
    world = task.recipe.world(task.settings, SEED)
    size, rate = task.step_size(world), float(task.step_size(world).rate(draws.second_moment))
    begun = time.perf_counter()
    plain = plain_sgd(world, "squared", task.recipe.radius, lambda t, _: rate / t**size.power, indices, weights)
    elapsed = time.perf_counter() - begun
    tolerance = {"rtol": 1e-9, "atol": 1e-11} if dtype == torch.float64 else {"rtol": 1e-3, "atol": 1e-5}
    np.testing.assert_allclose(sgd.x[:CHECKED].numpy(), plain.x, **tolerance)
    np.testing.assert_allclose(sgd.mean[:CHECKED].numpy(), plain.mean, **tolerance)
    return float(indices.size / elapsed)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_steps_a_second(dtype: torch.dtype, benchmark: BenchmarkFixture) -> None:
    threads = torch.get_num_threads()
    try:
        plain = plain_rate(dtype)
        _, draws, sgd = paper_size(dtype)
        benchmark.pedantic(advance, args=(draws, sgd), rounds=7, warmup_rounds=1)
    finally:
        torch.set_num_threads(threads)
    one = STEPS * len(sgd.x) / benchmark.stats.stats.median
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        two = sum(pool.map(rate_of_a_process, [dtype, dtype]))
    benchmark.extra_info |= {"plain_steps_s": plain, "steps_s": one, "steps_s_two_processes": two}
    print(
        f"\n{dtype}: plain loop {plain / 1e6:.2f} M steps/s, engine {one / 1e6:.2f} M ({one / plain:.0f}x), "
        f"two processes {two / 1e6:.2f} M ({two / plain:.0f}x)"
    )
