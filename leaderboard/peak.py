"""The paper's own figures: tokens to the baseline's peak, and of each method to its own.

A noisy peak as a target is missed by an identical method half of the time, and with one seed it puts an A/A repeat
anywhere between -28% and +32%; it is shown because the paper reports it, beside how often it was hit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from leaderboard.curves import Curve, Scale
from leaderboard.intervals import t_interval
from leaderboard.stats import Interval, saving, savings


@dataclass(frozen=True)
class Peak:
    """`saving` over the hits alone (None without any); `hits` of `pairs` seeds."""

    saving: float | None
    hits: int
    pairs: int


def peak_savings(method: Mapping[int, Curve], baseline: Mapping[int, Curve], deltas: Sequence[float]) -> list[Peak]:
    """For each delta, 1 - exp(mean over hits of ln(tokens_method / tokens_baseline)) to the baseline's peak - delta.

    The peak is that of the same seed. Curves (seed -> curve) are taken as they are, linear between evaluations. A seed
    whose method never gets there is censored: it counts in `pairs`, not in the mean, and nothing is imputed.

    Args:
        deltas: how far below the peak the targets lie, on the metric's scale (0.01 is one point of accuracy; on a log
            scale it is a difference of logarithms).
    """
    seeds = [seed for seed in method if seed in baseline]
    targets = {seed: baseline[seed].y.max() - np.array(deltas) for seed in seeds}
    needed, base = (
        np.array([curves[seed].reach_raw(targets[seed]) for seed in seeds]).reshape(-1, len(deltas))
        for curves in (method, baseline)
    )
    hit = (needed > 0) & (base > 0)  # False for NaN, a miss
    ratio = np.log(np.where(hit, needed, 1.0) / np.where(hit, base, 1.0))
    means = [saving(float(r[h].mean())) if h.any() else None for r, h in zip(ratio.T, hit.T, strict=True)]
    return [Peak(mean, int(h.sum()), len(seeds)) for mean, h in zip(means, hit.T, strict=True)]


def own_peak_saving(
    method: Mapping[int, Curve], baseline: Mapping[int, Curve], scale: Scale, share: float = 0.99
) -> tuple[float, Interval | None] | None:
    """1 - exp(mean_s ln(tokens_method / tokens_baseline)), each to 99% of its own peak (the paper's 8B row).

    Curves are taken as they are. The target is value * 0.99 of a metric that goes up and value / 0.99 of one that goes
    down. A method that learns little is soon at its own peak: None where the method's mean target is worse than the
    baseline's by more than that same 1%, without a seed in which both targets cost something, and for values <= 0.
    """
    seeds = [seed for seed in method if seed in baseline]
    if any(scale.values(curves[seed].y.max()) <= 0 for seed in seeds for curves in (method, baseline)):
        return None
    ours, theirs = ([own_target(curves[seed], scale, share) for seed in seeds] for curves in (method, baseline))
    if not seeds or float(np.mean(ours)) < slack(float(np.mean(theirs)), scale, share):
        return None
    ratios = []
    for seed, own, other in zip(seeds, ours, theirs, strict=True):
        needed, base = (
            float(curve.reach_raw(np.array([target]))[0])
            for curve, target in ((method[seed], own), (baseline[seed], other))
        )
        if needed > 0 and base > 0:
            ratios.append(np.log(needed / base))
    if not ratios:
        return None
    d = np.array(ratios)
    return saving(float(d.mean())), savings(*t_interval(d)) if len(d) > 1 else None


def own_target(curve: Curve, scale: Scale, share: float) -> float:
    """What is `share` as good as the curve's peak, in progress."""
    return slack(float(curve.y.max()), scale, share)


def slack(progress: float, scale: Scale, share: float) -> float:
    """Progress of a value that is worse by the factor `share`: value * share, or value / share where less is better."""
    value = float(scale.values(progress))
    return float(scale.progress(value * share if scale.direction == "up" else value / share))
