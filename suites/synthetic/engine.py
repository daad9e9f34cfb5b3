"""Projected SGD of all trials as one batched computation.

A step of every trial is x <- P(x - eta_t w_i grad f_i(x)) with a component of its own, P the projection on
|x| <= radius. What bounds the speed is memory: per step and trial one row a_i is fetched, and iterate and average are
read and written once; so every operation writes into place, norms are tracked by scalars
(|x - s a|^2 = |x|^2 - 2 s (a x) + s^2 |a|^2) and the projection is made only in the steps that need it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from strategies.types import Floats
from suites.synthetic.alias import at
from suites.synthetic.losses import Loss
from suites.synthetic.worlds import World

BLOCK = 64  # steps whose draws and weights are prepared together; they stay in the cache


@dataclass(frozen=True)
class StepSize:
    """eta_t = scale * t^-power, and divided by sqrt(S) where `by_moment`."""

    scale: float
    power: float
    by_moment: bool

    def rate(self, second_moment: Floats) -> Floats:
        """eta_1, for one S or one a trial."""
        return np.asarray(
            self.scale / np.sqrt(second_moment) if self.by_moment else np.full_like(second_moment, self.scale)
        )


class Problem:
    """A world on a device. rows (N, d) and targets (N,) in `dtype`; squares (N,) |a_i|^2 and costs (N,) in float64."""

    def __init__(self, world: World, loss: Loss, radius: float, dtype: torch.dtype, device: torch.device) -> None:
        self.loss, self.radius = loss, radius
        self.rows = torch.as_tensor(world.rows, dtype=dtype, device=device)
        self.targets = torch.as_tensor(world.targets, dtype=dtype, device=device)
        self.squares = torch.as_tensor(world.lengths**2, device=device)
        self.costs = torch.as_tensor(world.costs, device=device)


class Moments:
    """Per-trial sums over the steps of s = |w g|^2, c and s c, from which S, C and J are measured; (trials,) each."""

    def __init__(self, trials: int, device: torch.device) -> None:
        self.second, self.cost, self.product = torch.zeros(3, trials, dtype=torch.float64, device=device).unbind()

    def add(self, second: Tensor, cost: Tensor) -> None:
        """Add (steps, trials) values."""
        self.second += second.sum(0)
        self.cost += cost.sum(0)
        self.product += second.mul_(cost).sum(0)


class Sgd:
    """(trials, d) iterates from x = 0. `mean` averages the points at which gradients were taken."""

    def __init__(self, problem: Problem, step_size: StepSize, second_moment: Floats, trials: int) -> None:
        self.problem, self.steps = problem, 0
        rows = problem.rows
        self.x = torch.zeros(trials, rows.shape[1], dtype=rows.dtype, device=rows.device)
        self.moments = Moments(trials, rows.device)
        self._power = step_size.power
        self._rate = torch.as_tensor(step_size.rate(second_moment), device=rows.device)
        self._total = torch.zeros_like(self.x, dtype=torch.float64)
        self._row, self._product, self._part = (torch.empty_like(self.x) for _ in range(3))
        self._ones = torch.ones_like(self.x[0])
        self._z, self._change = torch.empty_like(self.x[:, 0]), torch.empty_like(self.x[:, 0])

    @property
    def mean(self) -> Tensor:
        """(trials, d) float64 average of x_1 .. x_t, x_1 = 0 being where the first gradient is taken."""
        return self._total / max(self.steps, 1)

    @torch.inference_mode()
    def advance(self, indices: Tensor, weights: Tensor) -> None:
        """Take len(indices) steps with (steps, trials) components and importance weights."""
        p, bounded = self.problem, self.problem.radius < float("inf")
        dtype = self.x.dtype
        scaled = (weights * self._rate).to(dtype)
        squares = at(p.squares, indices)
        slopes = torch.empty_like(scaled)  # of the loss, times weight and rate
        norms = self.x.square().sum(1)
        self._part.zero_()
        columns = indices, scaled, at(p.targets, indices), squares.to(dtype), slopes
        for i, w, b, square, slope in zip(*(column.unbind() for column in columns), strict=True):
            self.steps += 1
            eta = self.steps**-self._power
            self._part.add_(self.x)
            self._step(i, w, b, slope, eta)
            if bounded:
                self._project(slope, square, norms, eta)
        self._total += self._part
        self.moments.add((slopes / self._rate).square_().mul_(squares), at(p.costs, indices))

    def _step(self, i: Tensor, w: Tensor, b: Tensor, slope: Tensor, eta: float) -> None:
        torch.index_select(self.problem.rows, 0, i, out=self._row)
        torch.mul(self._row, self.x, out=self._product)
        torch.mv(self._product, self._ones, out=self._z)  # row sums, faster than sum(1)
        self.problem.loss.slope(self._z, b, slope)
        slope.mul_(w)
        self.x.addcmul_(self._row, slope[:, None], value=-eta)

    def _project(self, slope: Tensor, square: Tensor, norms: Tensor, eta: float) -> None:
        """Keep |x|^2 up to date; where a trial has left the ball, measure exactly and project."""
        torch.addcmul(self._z, slope, square, value=-eta / 2, out=self._change)
        norms.addcmul_(slope, self._change, value=-2 * eta)
        limit = self.problem.radius**2
        if norms.max() > limit:
            torch.sum(torch.mul(self.x, self.x, out=self._product), 1, out=norms)
            self.x.mul_((self.problem.radius / norms.sqrt()).clamp_(max=1)[:, None])
            norms.clamp_(max=limit)
