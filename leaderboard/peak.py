"""The paper's own figures: tokens to the baseline's peak, and how much higher the method peaks.

A noisy peak as a target is missed by an identical method half of the time, and with one seed it puts an A/A repeat
anywhere between -28% and +32%; it is shown because the paper reports it, beside how often it was hit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from leaderboard.curves import Curve
from leaderboard.intervals import t_interval
from leaderboard.stats import Interval, saving


@dataclass(frozen=True)
class Peak:
    """`saving` over the hits alone (None without any); `hits` of `pairs` seeds."""

    saving: float | None
    hits: int
    pairs: int


def peak_saving(method: Mapping[int, Curve], baseline: Mapping[int, Curve], delta: float = 0.0) -> Peak:
    """1 - exp(mean over hits of ln(tokens_method / tokens_baseline)) to the baseline's peak of the same seed.

    Curves (seed -> curve) are taken as they are, linear between evaluations. A seed whose method never gets there is
    censored: it counts in `pairs`, not in the mean, and nothing is imputed.

    Args:
        delta: how far below the peak the target lies, on the metric's scale (0.01 is one point of accuracy; on a log
            scale it is a difference of logarithms).
    """
    seeds = [seed for seed in method if seed in baseline]
    ratios = []
    for seed in seeds:
        target = np.array([baseline[seed].y.max() - delta])
        needed, base = float(method[seed].reach_raw(target)[0]), float(baseline[seed].reach_raw(target)[0])
        if needed > 0 and base > 0:  # False for NaN, a miss
            ratios.append(np.log(needed / base))
    return Peak(saving(float(np.mean(ratios))) if ratios else None, len(ratios), len(seeds))


def peak_gain(method: Mapping[int, Curve], baseline: Mapping[int, Curve]) -> tuple[float, Interval | None] | None:
    """Mean over common seeds of the difference of isotonic maxima, in progress, with its t interval from two seeds."""
    seeds = [seed for seed in method if seed in baseline]
    if not seeds:
        return None
    gains = np.array([method[seed].fit[-1] - baseline[seed].fit[-1] for seed in seeds])
    return float(gains.mean()), t_interval(gains) if len(gains) > 1 else None
