"""How much better at equal tokens: at the end of what both spent, and on the average of the way there.

All gains are differences of progress (`curves.Scale`): points of the metric on a linear scale (0.01 is one point of
accuracy), differences of ln on a log scale; > 0 is better than the baseline, whatever the metric's direction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from leaderboard.curves import Curve, Floats
from leaderboard.intervals import ALPHA, t_interval
from leaderboard.stats import Interval


@dataclass(frozen=True)
class Gain:
    """Mean over paired seeds, with its Student t interval from two seeds on."""

    mean: float
    interval: Interval | None


def gain(
    method: Mapping[int, Curve], baseline: Mapping[int, Curve], of: Callable[[Curve, Curve], float]
) -> Gain | None:
    """`of(curve, baseline's curve)` over the common seeds; None without one that has a value."""
    every = np.array([of(method[seed], baseline[seed]) for seed in method if seed in baseline])
    known = every[np.isfinite(every)]
    if not len(known):
        return None
    return Gain(float(known.mean()), t_interval(known) if len(known) > 1 else None)


def peak(method: Curve, baseline: Curve) -> float:
    """Difference of isotonic maxima: max fit_method - max fit_baseline, each within its own budget."""
    return float(method.fit[-1] - baseline.fit[-1])


def at_equal_tokens(method: Curve, baseline: Curve) -> float:
    """fit_method(x) - fit_baseline(x) at x = min(end_method, end_baseline), the most that both have spent.

    On isotonic fits, linear in between: what a reader gets who stops both there and takes what was learnt so far.
    """
    x = min(method.x[-1], baseline.x[-1])
    return float(np.interp(x, method.x, method.fit) - np.interp(x, baseline.x, baseline.fit))


def area(method: Curve, baseline: Curve) -> float:
    """Difference of the areas under the curves over the costs that both cover, divided by the width of that range:

        1 / (b - a) * integral from a to b of (y_method(x) - y_baseline(x)) dx

    on the curves as they are, linear in between, so that a collapse counts; NaN where they share no range.
    """
    a, b = max(method.x[0], baseline.x[0]), min(method.x[-1], baseline.x[-1])
    if not b > a:
        return float("nan")
    grid = np.unique(np.concatenate([[a, b], method.x, baseline.x]).clip(a, b))
    difference = np.interp(grid, method.x, method.y) - np.interp(grid, baseline.x, baseline.y)
    return float(np.trapezoid(difference, grid) / (b - a))


def probability_of_improvement(d: Floats) -> tuple[float, Interval]:
    """How often the method takes less than the baseline in the same world: share of d (n,) < 0, ties half.

    After Agarwal et al. (NeurIPS 2021), on pairs instead of all combinations, as seeds share their world. The interval
    is Wilson's (1927) at 95%, with z its normal quantile:

        (p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)
    """
    n, p = len(d), float(np.mean((d < 0) + 0.5 * (d == 0)))
    z = float(norm.ppf(1 - ALPHA / 2))
    middle, half = p + z**2 / (2 * n), z * float(np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)))
    return p, ((middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n))
