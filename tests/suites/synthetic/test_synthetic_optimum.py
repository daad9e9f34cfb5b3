"""The optimum satisfies its optimality conditions, and what is measured from it is f(x) - f(x*)."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from strategies import WrongUse
from strategies.types import Floats
from suites.synthetic import RECIPES, losses
from suites.synthetic.measure import excess_error, gradient_norm2
from suites.synthetic.optimum import optimum
from suites.synthetic.settings import Settings
from suites.synthetic.worlds import World

SEED, CPU = np.random.SeedSequence(1), torch.device("cpu")
VALUES = {  # written once more, in numpy
    "squared": lambda z, b: (z - b) ** 2 / 2,
    "absolute": lambda z, b: np.abs(z - b),
    "logistic": lambda z, b: np.log1p(np.exp(-b * z)),
    "welsch": lambda z, b: 1 - np.exp(-((z - b) ** 2) / 2),
}
LOSSES = {name: getattr(losses, name.upper()) for name in VALUES}


def small(name: str) -> World:
    return RECIPES[name].world(Settings(n=200, dim=5), SEED)


def f(world: World, loss: str, x: Floats) -> float:
    return float(np.mean(VALUES[loss](world.rows @ x, world.targets)))


def gradient(world: World, loss: str, x: Floats, h: float = 1e-5) -> Floats:
    """Central differences."""
    return np.array([(f(world, loss, x + h * e) - f(world, loss, x - h * e)) / (2 * h) for e in np.eye(len(x))])


@pytest.mark.parametrize(("name", "loss"), [("least-squares", "squared"), ("logistic", "logistic")])
def test_smooth_optimum_inside_the_ball(name: str, loss: str) -> None:
    world = small(name)
    best = optimum(world, LOSSES[loss], 2.0)
    assert np.linalg.norm(best.x) < 2
    assert np.abs(gradient(world, loss, best.x)).max() < 1e-8  # rounding of the differences: 1e-16 / 1e-5
    assert best.value == pytest.approx(f(world, loss, best.x), rel=1e-14)


@pytest.mark.parametrize(("name", "loss"), [("least-squares", "squared"), ("logistic", "logistic")])
def test_smooth_optimum_on_the_ball(name: str, loss: str) -> None:
    """KKT: the gradient points straight inwards, -lambda x with lambda > 0."""
    world = small(name)
    best = optimum(world, LOSSES[loss], 0.3)
    assert np.linalg.norm(best.x) == pytest.approx(0.3, rel=1e-10)
    slope = gradient(world, loss, best.x)
    multiplier = -slope @ best.x / 0.09
    assert multiplier > 0
    np.testing.assert_allclose(slope, -multiplier * best.x, atol=1e-8)


def test_least_absolute_optimum() -> None:
    """0 is a subgradient: d residuals are 0, and slopes in [-1, 1] there cancel the signs of all others."""
    world = small("absolute-deviation")
    best = optimum(world, losses.ABSOLUTE, 2.0)
    residual = world.rows @ best.x - world.targets
    zero = np.abs(residual) < 1e-9
    assert zero.sum() == 5
    inner = np.linalg.solve(world.rows[zero].T, -world.rows[~zero].T @ np.sign(residual[~zero]))
    assert np.abs(inner).max() <= 1


def test_least_absolute_optimum_outside_the_ball_is_refused() -> None:
    with pytest.raises(WrongUse, match="outside the ball"):
        optimum(small("absolute-deviation"), losses.ABSOLUTE, 0.1)


@pytest.mark.parametrize(
    ("name", "loss", "radius"),
    [
        ("least-squares", "squared", 2.0),
        ("least-squares", "squared", 0.3),
        ("logistic", "logistic", 2.0),
        ("logistic", "logistic", 0.3),
        ("absolute-deviation", "absolute", 2.0),
    ],
)
def test_excess_error_is_the_difference(name: str, loss: str, radius: float) -> None:
    world = small(name)
    best = optimum(world, LOSSES[loss], radius)
    x = np.random.default_rng(0).standard_normal((300, 5))  # more than one chunk of trials
    x = np.vstack([x * radius / np.linalg.norm(x, axis=1, keepdims=True), best.x])
    excess = excess_error(world, LOSSES[loss], best, CPU)(torch.as_tensor(x)).numpy()
    expected = [f(world, loss, each) - best.value for each in x]
    np.testing.assert_allclose(excess, expected, rtol=1e-9, atol=1e-14)
    assert (excess > -1e-14).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_gradient_norm_is_that_of_the_objective(loss: str) -> None:
    world = small({"logistic": "logistic"}.get(loss, "least-squares"))
    x = np.random.default_rng(0).standard_normal((4, 5))
    measured = gradient_norm2(world, LOSSES[loss], CPU)(torch.as_tensor(x)).numpy()
    expected = [np.sum(gradient(world, loss, each, h=1e-7 if loss == "absolute" else 1e-5) ** 2) for each in x]
    np.testing.assert_allclose(measured, expected, rtol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic", "welsch"])
def test_curvature_is_the_slopes_derivative(loss: str) -> None:
    z, b = torch.linspace(-3, 3, 61, dtype=torch.float64), torch.ones(61, dtype=torch.float64)
    ahead, behind = torch.empty_like(z), torch.empty_like(z)
    LOSSES[loss].slope(z + 1e-6, b, ahead)
    LOSSES[loss].slope(z - 1e-6, b, behind)
    curvature = LOSSES[loss].curvature(z, b)
    np.testing.assert_allclose(curvature, (ahead - behind) / 2e-6, atol=1e-8)
    assert curvature.abs().max() <= LOSSES[loss].smoothness
