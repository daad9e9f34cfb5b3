"""The threshold mean: how many fewer tokens at equal quality, with an interval that says how sure.

For replicate s (a seed; a trial in synthetic tasks) and level l of the baseline's 15, T is the cost at which the
isotonic curve reaches the level:

    r[s, l] = ln(T_method[s, l] / T_baseline[s, l]),   d[s] = mean_l r[s, l],   saving = 1 - exp(mean_s d[s])

A level that the method misses enters at all that the run spent, so d is then a lower limit and the saving an upper one.
A level that the baseline's replicate misses, or that either holds at cost 0, has no ratio: dropped and counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leaderboard.curves import Floats

REACHED = 0.5  # share of the compared replicates that must reach a level for the method to have reached it
MISSED = 0.1  # share of all comparisons that may stand at the method's budget in what is printed as an estimate
Interval = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Arm:
    """What reaching each level cost a method's replicates: keys (n,), cost (n, L) with NaN = missed, end (n,)."""

    keys: NDArray[np.int64]
    cost: Floats
    end: Floats


@dataclass(frozen=True, eq=False)
class Ratios:
    """Log cost ratios of paired replicates: keys (n,), ratio (n, L) with NaN = dropped, missed (n, L) by the method."""

    keys: NDArray[np.int64]
    ratio: Floats
    missed: NDArray[np.bool_]

    @cached_property
    def compared(self) -> NDArray[np.bool_]:
        return np.isfinite(self.ratio)

    @cached_property
    def usable(self) -> NDArray[np.bool_]:
        """(n,) replicates with at least one level to compare."""
        return np.asarray(self.compared.any(axis=1))

    @property
    def per_replicate(self) -> Floats:
        """d (n',) of the usable replicates."""
        return np.asarray(np.nanmean(self.ratio[self.usable], axis=1))

    @property
    def usable_keys(self) -> NDArray[np.int64]:
        return self.keys[self.usable]

    @property
    def levels_reached(self) -> int:
        """Levels that the method reaches in at least half of the replicates that the baseline reaches them in."""
        compared = self.compared.sum(axis=0)
        reached = compared - self.missed.sum(axis=0)
        return int(((compared > 0) & (reached >= REACHED * compared)).sum())

    @property
    def levels_compared(self) -> int:
        """Levels with at least one replicate to compare."""
        return int(self.compared.any(axis=0).sum())

    @property
    def missed_share(self) -> float:
        """Share of the comparisons in which the method misses the level and stands at its budget."""
        return float(self.missed.sum() / self.compared.sum())

    @property
    def bound(self) -> bool:
        """Whether the saving is an upper limit: some level is not reached, or over 10% of the comparisons are misses.

        A single seed that misses the last level is no sign of a method that stops short: at the level of the
        baseline's own mean peak half of the baseline's seeds do, so with enough seeds every row would be a bound.
        """
        return self.levels_reached < self.levels_compared or self.missed_share > MISSED

    @property
    def dropped(self) -> int:
        """(replicate, level) pairs without a ratio."""
        return int((~self.compared).sum())


def log_ratios(method: Arm, baseline: Arm) -> Ratios:
    """Pair two arms by key and compare them at every level."""
    keys, i, j = np.intersect1d(method.keys, baseline.keys, return_indices=True)
    cost, base = method.cost[i], baseline.cost[j]
    missed = ~np.isfinite(cost)
    entered = np.where(missed, method.end[i, None], cost)
    fair = np.isfinite(base) & (base > 0) & (entered > 0)
    ratio = np.full(cost.shape, np.nan)
    ratio[fair] = np.log(entered[fair] / base[fair])
    return Ratios(keys, ratio, missed & fair)


def saving(log_ratio: float) -> float:
    """1 - exp(d): the share of tokens saved.

    >>> saving(0.0)
    0.0
    """
    return float(-np.expm1(log_ratio)) + 0.0  # no negative zero


def savings(low: float, high: float) -> Interval:
    """An interval of the mean log ratio as one of the saving."""
    return saving(high), saving(low)  # the more tokens, the less is saved
