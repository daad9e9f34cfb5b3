"""Projected SGD written plainly: one trial, one step at a time, in numpy. What the batched engine must equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from strategies.types import Floats, Ints
from suites.synthetic.worlds import World

SLOPES: dict[str, Callable[[float, float], float]] = {
    "squared": lambda z, b: z - b,
    "absolute": lambda z, b: np.sign(z - b),
    "logistic": lambda z, b: -b / (1 + np.exp(b * z)),
    "welsch": lambda z, b: (z - b) * np.exp(-((z - b) ** 2) / 2),
}


@dataclass(frozen=True)
class Outcome:
    """x and mean (trials, d); second and cost (trials,): sums over the steps of |w g|^2 and c."""

    x: Floats
    mean: Floats
    second: Floats
    cost: Floats


def plain_sgd(
    world: World, loss: str, radius: float, eta: Callable[[int, int], float], indices: Ints, weights: Floats
) -> Outcome:
    """Steps x <- P(x - eta(t, trial) w grad f_i(x)) for (steps, trials) draws; `mean` over where gradients are."""
    steps, trials = indices.shape
    outcome = Outcome(*(np.zeros((trials, world.rows.shape[1])) for _ in range(2)), *np.zeros((2, trials)))
    slope = SLOPES[loss]
    for trial in range(trials):
        x = np.zeros(world.rows.shape[1])
        for t in range(steps):
            i, w = indices[t, trial], weights[t, trial]
            a = world.rows[i]
            gradient = w * slope(a @ x, world.targets[i]) * a
            outcome.mean[trial] += x / steps
            outcome.second[trial] += gradient @ gradient
            outcome.cost[trial] += world.costs[i]
            x = x - eta(t + 1, trial) * gradient
            length = np.sqrt(x @ x)
            if length > radius:
                x = x * (radius / length)
        outcome.x[trial] = x
    return outcome
