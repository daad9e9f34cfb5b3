"""The batched engine takes the same steps as a plain loop over the same draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from plain_sgd import Outcome, plain_sgd

from strategies import Method, parse
from suites.synthetic import RECIPES
from suites.synthetic.engine import Problem, Sgd
from suites.synthetic.sampling import Stream, stream
from suites.synthetic.settings import Settings
from suites.synthetic.task import SyntheticTask

CPU = torch.device("cpu")
TRIALS, BLOCKS = 6, (1, 1, 5, 64, 33)
SEED = np.random.SeedSequence(5)


def both(name: str, method: Method, dtype: torch.dtype = torch.float64) -> tuple[Sgd, Outcome, Stream]:
    """The engine in uneven blocks, and the plain loop, on the same draws."""
    recipe = RECIPES[name]
    task = SyntheticTask(name, recipe, Settings(n=60, dim=4, trials=TRIALS))
    world = recipe.world(task.settings, SEED)
    draws = stream(method, task.pool(world), TRIALS, SEED, CPU)
    size = task.step_size(world)
    sgd = Sgd(Problem(world, task.loss, recipe.radius, dtype, CPU), size, draws.second_moment, TRIALS)
    taken = [draws.take(steps) for steps in BLOCKS]
    for block in taken:
        sgd.advance(*block)
    rates = np.broadcast_to(size.rate(draws.second_moment), TRIALS)
    indices, weights = (torch.cat(each).numpy() for each in zip(*taken, strict=True))
    plain = plain_sgd(
        world, recipe.loss, recipe.radius, lambda t, trial: rates[trial] / t**size.power, indices, weights
    )
    return sgd, plain, draws


@pytest.mark.parametrize("name", RECIPES)
def test_equals_a_plain_loop(name: str) -> None:
    sgd, plain, _ = both(name, parse("pstar"))
    assert sgd.steps == sum(BLOCKS)
    np.testing.assert_allclose(sgd.x.numpy(), plain.x, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(sgd.mean.numpy(), plain.mean, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(sgd.moments.second.numpy(), plain.second, rtol=1e-9)
    np.testing.assert_allclose(sgd.moments.cost.numpy(), plain.cost, rtol=1e-12)


@pytest.mark.parametrize("spec", ["none", "noisy:sigma2=4", "pps:draws=0.25", "knapsack", "uniform"])
def test_equals_a_plain_loop_for_every_kind_of_draw(spec: str) -> None:
    sgd, plain, _ = both("least-squares", parse(spec))
    np.testing.assert_allclose(sgd.x.numpy(), plain.x, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(sgd.mean.numpy(), plain.mean, rtol=1e-9, atol=1e-11)


def test_single_precision_follows_double() -> None:
    sgd, plain, _ = both("least-squares", parse("pstar"), torch.float32)
    assert sgd.x.dtype == torch.float32
    np.testing.assert_allclose(sgd.x.numpy(), plain.x, rtol=1e-4, atol=1e-5)  # 104 steps of relative error 1e-7
    np.testing.assert_allclose(sgd.mean.numpy(), plain.mean, rtol=1e-4, atol=1e-5)


def test_iterates_stay_in_the_ball_that_long_steps_would_leave() -> None:
    """1/(mu t) begins with steps far beyond the ball: the projection is at work from the first step on."""
    sgd, plain, _ = both("strongly-convex", parse("uniform"))
    assert (np.linalg.norm(plain.mean, axis=1) > 0.1).all()
    assert (sgd.x.norm(dim=1) <= 2 * (1 + 1e-12)).all()
    free, _, _ = both("non-convex", parse("uniform"))
    assert free.problem.radius == math.inf


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("least-squares", lambda t, S, mu, L, f0: 2 / math.sqrt(S * t)),
        ("strongly-convex", lambda t, S, mu, L, f0: 1 / (mu * t)),
        ("non-convex", lambda t, S, mu, L, f0: math.sqrt(2 * f0 / (L * S * t))),
    ],
)
def test_step_sizes(name: str, formula: object) -> None:
    recipe = RECIPES[name]
    task = SyntheticTask(name, recipe, Settings(n=80, dim=3))
    world = recipe.world(task.settings, SEED)
    size, S = task.step_size(world), np.asarray(3.7)
    curvature = np.linalg.eigvalsh(world.rows.T @ world.rows / 80)
    f0 = np.mean(1 - np.exp(-(world.targets**2) / 2))
    for t in (1, 2, 50):
        expected = formula(t, 3.7, curvature[0], curvature[-1], f0)  # type: ignore[operator]
        assert size.rate(S) / t**size.power == pytest.approx(expected, rel=1e-12)


def test_each_trial_steps_by_its_own_second_moment() -> None:
    _, _, draws = both("noisy-proxy", parse("noisy:sigma2=1"))
    assert draws.second_moment.shape == (TRIALS,)
    assert len(set(draws.second_moment.tolist())) == TRIALS
