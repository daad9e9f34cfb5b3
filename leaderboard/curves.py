"""Learning curves on one scale: isotonic fits, the levels to reach, and what reaching them costs.

Every metric is turned into *progress*, which always grows: the value itself, or its logarithm, with the sign of the
metric's direction. Accuracies that go up and errors that go down on a log scale are then one case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

Floats = NDArray[np.float64]

QUANTILES: Floats = np.linspace(0.30, 1.00, 15)  # the shares of the baseline's gain at which tokens are compared


@dataclass(frozen=True)
class Scale:
    """How a metric is read: `direction` up or down, `scale` linear or log."""

    direction: str = "up"
    scale: str = "linear"

    @classmethod
    def of(cls, declared: Mapping[str, str]) -> Scale:
        """From a record's `{"direction": ..., "scale": ...}`."""
        return cls(declared["direction"], declared["scale"])

    @property
    def sign(self) -> float:
        return 1.0 if self.direction == "up" else -1.0

    def progress(self, values: ArrayLike) -> Floats:
        """Values -> progress (more is better); NaN where the scale has none (<= 0 on a log scale)."""
        array = np.asarray(values, dtype=np.float64)
        if self.scale == "log":
            array = np.log(np.where(array > 0, array, np.nan))
        return np.asarray(self.sign * array)

    def values(self, progress: ArrayLike) -> Floats:
        """Progress -> values, the inverse of `progress`."""
        array = self.sign * np.asarray(progress, dtype=np.float64)
        return np.exp(array) if self.scale == "log" else array


@dataclass(frozen=True, eq=False)
class Curve:
    """One run: cost x (K,) non-decreasing, progress y (K,) finite; `end` is all that the run spent, >= x[-1]."""

    x: Floats
    y: Floats
    end: float

    @classmethod
    def of(cls, cost: ArrayLike, progress: ArrayLike) -> Curve | None:
        """Without the points that have no value; None where fewer than two are left (no curve)."""
        x, y = np.asarray(cost, dtype=np.float64), np.asarray(progress, dtype=np.float64)
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
        spent = x[np.isfinite(x)]
        keep = np.isfinite(x) & np.isfinite(y)
        return cls(x[keep], y[keep], float(spent[-1])) if keep.sum() >= 2 else None

    @cached_property
    def fit(self) -> Floats:
        """(K,) isotonic regression of progress: the monotone curve closest to the points, nothing to tune."""
        return np.asarray(isotonic_regression(self.y).x)

    def reach(self, levels: Floats) -> Floats:
        """(L,) cost at which the isotonic curve first reaches each level; NaN where it never does."""
        return crossings(self.x, self.fit, levels)

    def reach_raw(self, levels: Floats) -> Floats:
        """(L,) the same on the points as they are (running best), as the paper reads its curves."""
        return crossings(self.x, np.maximum.accumulate(self.y), levels)


def crossings(x: Floats, y: Floats, levels: Floats) -> Floats:
    """(L,) first x at which the non-decreasing y (K,) reaches each level, linear in between; NaN where it never does.

    >>> crossings(np.array([0.0, 10.0, 20.0]), np.array([0.0, 1.0, 1.0]), np.array([0.5, 1.0, 2.0])).tolist()
    [5.0, 10.0, nan]
    """
    right = np.searchsorted(y, levels, side="left")
    inside = np.minimum(right, len(y) - 1)
    left = np.maximum(inside - 1, 0)
    rise = y[inside] - y[left]
    share = np.where(rise > 0, (levels - y[left]) / np.where(rise > 0, rise, 1.0), 1.0)
    share = np.where(right == 0, 1.0, share)  # held from the first point on
    return np.where(right < len(y), x[left] + share * (x[inside] - x[left]), np.nan)


def on_grid(curves: Sequence[Curve], points: int = 100) -> tuple[Floats, Floats]:
    """Costs (K,) that every curve covers, and the progress of each there (n, K), linear in between.

    The grid is the union of the runs' own costs, thinned to at most `points`: runs that are evaluated at different
    steps, or have different budgets, still have a mean.
    """
    low, high = max(c.x[0] for c in curves), min(c.x[-1] for c in curves)
    grid = np.unique(np.concatenate([c.x for c in curves]))
    grid = grid[(grid >= low) & (grid <= high)]
    if len(grid) > points:
        grid = grid[np.linspace(0, len(grid) - 1, points).round().astype(int)]
    return grid, np.array([np.interp(grid, c.x, c.y) for c in curves])


def levels_of(baseline: Sequence[Curve]) -> Floats | None:
    """(15,) levels start + q gain of the baseline, equally spaced in progress; None where it gains nothing.

    start = mean first progress over seeds; gain = isotonic peak of the seed-mean curve minus start.
    """
    grid, progress = on_grid(baseline)
    if len(grid) < 2:
        return None
    start = float(np.mean([c.y[0] for c in baseline]))
    gain = float(isotonic_regression(progress.mean(axis=0)).x[-1]) - start
    return start + QUANTILES * gain if gain > 0 else None
