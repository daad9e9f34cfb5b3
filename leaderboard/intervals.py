"""How sure: intervals, p-values and sample sizes of the per-replicate log ratios d (n,) of `stats`."""

from __future__ import annotations

import numpy as np
from scipy import stats as distributions

from leaderboard.curves import Floats
from leaderboard.stats import Interval, savings

ALPHA = 0.05
RESAMPLES = 1999


def t_interval(d: Floats, alpha: float = ALPHA) -> Interval:
    """(low, high) of the mean of d (n,), Student t with n - 1 degrees of freedom; n >= 2."""
    half = float(distributions.t.ppf(1 - alpha / 2, len(d) - 1)) * standard_error(d)
    return float(d.mean()) - half, float(d.mean()) + half


def standard_error(d: Floats) -> float:
    """Of the mean of d (n,), n >= 2."""
    return float(d.std(ddof=1)) / float(np.sqrt(len(d)))


def p_value(d: Floats) -> float:
    """Two-sided p of mean d = 0 (paired t test); 1 with fewer than two replicates, 0 or 1 where d has no spread."""
    if len(d) < 2:
        return 1.0
    error, mean = standard_error(d), abs(float(d.mean()))
    if error <= 1e-12 * mean or error == 0:  # identical differences, up to rounding
        return 1.0 if mean < 1e-12 else 0.0
    return float(2 * distributions.t.sf(mean / error, len(d) - 1))


def bootstrap_t(d: Floats, alpha: float = ALPHA) -> Interval:
    """Studentized bootstrap interval of the mean of d (n,) (Efron & Tibshirani 1993, ch. 12); needs n >= 10."""
    rng = np.random.default_rng(0)
    sample = d[rng.integers(0, len(d), (RESAMPLES, len(d)))]
    error = sample.std(axis=1, ddof=1) / np.sqrt(len(d))
    pivot = (sample.mean(axis=1) - d.mean())[error > 0] / error[error > 0]
    if not len(pivot):
        return float(d.mean()), float(d.mean())
    low, high = np.quantile(pivot, [alpha / 2, 1 - alpha / 2])
    return float(d.mean() - high * standard_error(d)), float(d.mean() - low * standard_error(d))


def resampled(d: Floats, method: str, alpha: float = ALPHA) -> Interval:
    """`percentile` or `BCa` bootstrap interval of the mean of d (n,); with 5 replicates it covers 0.86, so n >= 20."""
    if np.ptp(d) == 0:
        return float(d.mean()), float(d.mean())
    found = distributions.bootstrap(
        (d,), np.mean, confidence_level=1 - alpha, n_resamples=RESAMPLES, batch=500, method=method, rng=0
    ).confidence_interval
    return float(found.low), float(found.high)


def every(d: Floats) -> dict[str, Interval]:
    """Savings (low, high) by every interval that n replicates allow: none for one, resampling ones from 10 and 20."""
    found: dict[str, Interval] = {}
    if len(d) >= 2:
        found["t"] = savings(*t_interval(d))
    if len(d) >= 10:
        found["bootstrap-t"] = savings(*bootstrap_t(d))
    if len(d) >= 20:
        found |= {name: savings(*resampled(d, name)) for name in ("percentile", "BCa")}
    return found


def seeds_needed(d: Floats, points: float, power: float = 0.8, alpha: float = ALPHA) -> int | None:
    """Smallest n at which a paired t test finds a saving of `points` (0.05 = 5 points) with this power.

    From the sample variance of d (n,): the effect is -ln(1 - points) and the power that of the noncentral t with n - 1
    degrees of freedom. None with fewer than two replicates, or above a million.
    """
    if len(d) < 2:
        return None
    spread = float(d.std(ddof=1))
    if spread == 0:
        return 2

    def found(n: int) -> bool:
        reject = distributions.t.ppf(1 - alpha / 2, n - 1)
        shift = -np.log1p(-points) / spread * np.sqrt(n)
        return bool(distributions.nct.sf(reject, n - 1, shift) >= power)

    high = 2
    while not found(high):
        high *= 2
        if high > 1_000_000:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return max(high, 2)
