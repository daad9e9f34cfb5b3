"""The minimum of f(x) = (1/N) sum_i l(a_i x, b_i) on the ball: where excess error is measured from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from strategies.errors import WrongUse
from strategies.types import Floats
from suites.synthetic.losses import Loss
from suites.synthetic.worlds import World

STEPS = 100  # Newton converges in about 10
TOLERANCE = 1e-13  # of the gradient, relative to its size at 0


@dataclass(frozen=True, eq=False)
class Optimum:
    """x (d,) the minimizer on |x| <= radius, value f(x)."""

    x: Floats
    value: float


def optimum(world: World, loss: Loss, radius: float) -> Optimum:
    """Newton's method on a smooth loss, a linear program for absolute deviations.

    Raises:
        WrongUse: absolute deviations whose optimum lies outside the ball (too few components for the dimension).
    """
    if loss.curvature is None:
        x = _least_absolute(world)
        if np.linalg.norm(x) > radius:
            shape = f"n={world.rows.shape[0]},dim={world.rows.shape[1]}"
            raise WrongUse(f"{shape}: the optimum lies outside the ball |x| <= {radius:g}; take more components")
    else:
        x = _smooth(world, loss, radius)
    z, b = torch.as_tensor(world.rows @ x), torch.as_tensor(world.targets)
    return Optimum(x, float(loss.value(z, b).mean()))


def _smooth(world: World, loss: Loss, radius: float) -> Floats:
    """The unconstrained minimizer, or the minimizer of f + penalty |x|^2 / 2 whose norm is the radius (KKT)."""
    from scipy.optimize import brentq

    rows, targets = torch.as_tensor(world.rows), torch.as_tensor(world.targets)
    x = _newton(rows, targets, loss, 0.0)
    if x.norm() <= radius:
        return np.asarray(x.numpy())

    def outside(penalty: float) -> float:
        return float(_newton(rows, targets, loss, penalty).norm()) - radius

    high = 1.0
    while outside(high) > 0:
        high *= 2
    return np.asarray(_newton(rows, targets, loss, brentq(outside, 0.0, high, xtol=1e-14, rtol=1e-14)).numpy())


def _newton(rows: Tensor, targets: Tensor, loss: Loss, penalty: float) -> Tensor:
    """argmin f(x) + penalty |x|^2 / 2 by damped Newton steps from 0."""
    assert loss.curvature is not None
    n, dim = rows.shape
    x, identity = torch.zeros(dim, dtype=rows.dtype), torch.eye(dim, dtype=rows.dtype)

    def objective(at: Tensor) -> Tensor:
        return loss.value(rows @ at, targets).mean() + penalty / 2 * at @ at

    first = None
    for _ in range(STEPS):
        z = rows @ x
        slopes = torch.empty_like(z)
        loss.slope(z, targets, slopes)
        gradient = rows.T @ slopes / n + penalty * x
        first = first or float(gradient.norm())
        if gradient.norm() <= TOLERANCE * first:
            break
        hessian = (rows * loss.curvature(z, targets)[:, None]).T @ rows / n + penalty * identity
        step, length, here = torch.linalg.solve(hessian, gradient), 1.0, objective(x)
        while objective(x - length * step) > here and length > 1e-8:
            length /= 2
        x = x - length * step
    return x


def _least_absolute(world: World) -> Floats:
    """min sum_i u_i + v_i with a_i x + u_i - v_i = b_i and u, v >= 0, by the dual simplex of HiGHS: a vertex, so exact.

    Solved as its dual, max b y with rows^T y = 0 and |y| <= 1, which has d constraints only; x are its multipliers.
    """
    from scipy.optimize import linprog

    dual = linprog(
        -world.targets, A_eq=world.rows.T, b_eq=np.zeros(world.rows.shape[1]), bounds=(-1, 1), method="highs-ds"
    )
    return np.asarray(-dual.eqlin.marginals)
