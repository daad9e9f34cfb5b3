"""What each synthetic task is made of: vectors, targets, costs, loss, step size. Light to import (no torch)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from suites.synthetic import worlds
from suites.synthetic.settings import Settings
from suites.synthetic.worlds import Costs, Rows, Targets, World

RADIUS = 2.0  # |x*| = 1 of the truth, so that the ball holds the optimum with room to spare
UP_TO_10 = worlds.sphere()
LossName = Literal["squared", "absolute", "logistic", "welsch"]
Schedule = Literal["convex", "strongly-convex", "smooth"]


@dataclass(frozen=True)
class Recipe:
    """One task. `doc` is its line in `costaware list tasks`.

    schedule: `convex` eta_t = R / sqrt(S t); `strongly-convex` 1 / (mu t); `smooth` sqrt(2 f(0) / (L S t)), for
    objectives that are not convex: they are not projected, and measured by |grad f|^2.
    """

    doc: str
    rows: Rows = UP_TO_10
    targets: Targets = worlds.linear
    costs: Costs = worlds.uniform_costs
    loss: LossName = "squared"
    schedule: Schedule = "convex"
    lower_bound: bool = False  # norms are all equal: the paper's lower bound applies

    @property
    def convex(self) -> bool:
        """Whether an optimum exists to compare with."""
        return self.schedule != "smooth"

    @property
    def radius(self) -> float:
        """Iterates are projected on |x| <= radius."""
        return RADIUS if self.convex else math.inf

    def world(self, settings: Settings, seed: np.random.SeedSequence) -> World:
        """The world of that seed: three streams, so that tasks that differ in costs only share their data."""
        for_rows, for_targets, for_costs = (np.random.default_rng(child) for child in children(seed, 3))
        rows = self.rows(for_rows, settings.n, settings.dim)
        lengths = np.asarray(np.linalg.norm(rows, axis=1))
        return World(rows, self.targets(for_targets, rows), self.costs(for_costs, lengths))


def children(seed: np.random.SeedSequence, count: int) -> list[np.random.SeedSequence]:
    """`seed.spawn(count)` without its memory: the same children each time it is asked."""
    fresh = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size)
    return fresh.spawn(count)


RECIPES: dict[str, Recipe] = {
    "least-squares": Recipe("Least squares of the paper's section 4.4: |a| ~ U(0, 10], costs ~ U(1, 1000)."),
    "least-squares-gaussian": Recipe(
        "Least squares with Gaussian vectors scaled to a longest of 10: nearly equal norms.", rows=worlds.gaussian
    ),
    "heavy-tailed-costs": Recipe(
        "Least squares with Pareto costs (index 1.2): a few components cost most.", costs=worlds.heavy_tailed_costs
    ),
    "correlated-costs": Recipe(
        "Least squares where long vectors cost more (copula correlation 0.8).", costs=worlds.correlated_costs
    ),
    "absolute-deviation": Recipe(
        "Least absolute deviations: every gradient norm is exactly G_i, so J can be measured.", loss="absolute"
    ),
    "logistic": Recipe("Logistic regression on labels of a linear truth.", targets=worlds.labels, loss="logistic"),
    "strongly-convex": Recipe(
        "Least squares with the step 1/(mu t) of section 4.1, case 2.", schedule="strongly-convex"
    ),
    "non-convex": Recipe(
        "Robust regression with Welsch's bounded loss; squared gradient norm (appendix F.2).",
        loss="welsch",
        schedule="smooth",
    ),
    "noisy-proxy": Recipe(
        "Least absolute deviations with |a| ~ U(1, 10]: J under noisy norms against Theorems 4.2 and D.5.",
        rows=worlds.sphere(shortest=1.0),
        loss="absolute",
    ),
    "subset": Recipe(
        "Least absolute deviations with equal norms, Pareto costs: subsets against the lower bound.",
        rows=worlds.sphere(shortest=worlds.LENGTH),
        costs=worlds.heavy_tailed_costs,
        loss="absolute",
        lower_bound=True,
    ),
}
