"""How sure: intervals, p-values and sample sizes of the per-replicate log ratios d (n,) of `stats`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
from scipy import special
from scipy import stats as distributions

from leaderboard.curves import Floats
from leaderboard.stats import Interval, savings

ALPHA = 0.05
RESAMPLES, BLOCK = 1999, 500


@cache
def _quantile(alpha: float, degrees: int) -> float:
    """Student's t at 1 - alpha/2; a board asks for the same few thousands of times."""
    return float(special.stdtrit(degrees, 1 - alpha / 2))


def t_interval(d: Floats, alpha: float = ALPHA) -> Interval:
    """(low, high) of the mean of d (n,), Student t with n - 1 degrees of freedom; n >= 2."""
    half = _quantile(alpha, len(d) - 1) * standard_error(d)
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
    return float(2 * special.stdtr(len(d) - 1, -mean / error))


def _samples(d: Floats) -> Iterator[Floats]:
    """RESAMPLES samples of n with replacement from d (n,), in blocks (m, n)."""
    rng = np.random.default_rng(0)
    for block in range(0, RESAMPLES, BLOCK):
        yield d[rng.integers(0, len(d), (min(BLOCK, RESAMPLES - block), len(d)))]


def bootstrap_t(d: Floats, alpha: float = ALPHA) -> Interval:
    """Studentized bootstrap interval of the mean of d (n,) (Efron & Tibshirani 1993, ch. 12); needs n >= 10."""
    moments = [(sample.mean(axis=1), sample.std(axis=1, ddof=1)) for sample in _samples(d)]
    mean, spread = (np.concatenate(part) for part in zip(*moments, strict=True))
    error = spread / np.sqrt(len(d))
    pivot = (mean - d.mean())[error > 0] / error[error > 0]
    if not len(pivot):
        return float(d.mean()), float(d.mean())
    low, high = np.quantile(pivot, [alpha / 2, 1 - alpha / 2])
    return float(d.mean() - high * standard_error(d)), float(d.mean() - low * standard_error(d))


def resampled(d: Floats, alpha: float = ALPHA) -> dict[str, Interval]:
    """`percentile` and `BCa` bootstrap intervals of the mean of d (n,); with 5 replicates they cover 0.86, so n >= 20.

    BCa (Efron 1987) takes the quantiles Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z the normal quantiles at alpha/2 and
    1 - alpha/2, with z0 from the share of resampled means below the mean (ties half) and, u = d - mean d,
    a = sum u^3 / (6 (sum u^2)^1.5).
    """
    mean = float(d.mean())
    if np.ptp(d) == 0:
        return dict.fromkeys(("percentile", "BCa"), (mean, mean))
    means = np.concatenate([sample.mean(axis=1) for sample in _samples(d)])
    u = d - mean
    z0 = distributions.norm.ppf(np.mean((means < mean) + 0.5 * (means == mean)))
    a = np.sum(u**3) / (6 * np.sum(u**2) ** 1.5)
    tails = np.array([alpha / 2, 1 - alpha / 2])
    z = z0 + distributions.norm.ppf(tails)
    quantiles = {"percentile": tails, "BCa": distributions.norm.cdf(z0 + z / (1 - a * z))}
    ends = {name: np.quantile(means, q) for name, q in quantiles.items()}
    return {name: (float(low), float(high)) for name, (low, high) in ends.items()}


def every(d: Floats) -> dict[str, Interval]:
    """Savings (low, high) by every interval that n replicates allow: none for one, resampling ones from 10 and 20."""
    found: dict[str, Interval] = {}
    if len(d) >= 2:
        found["t"] = savings(*t_interval(d))
    if len(d) >= 10:
        found["bootstrap-t"] = savings(*bootstrap_t(d))
    if len(d) >= 20:
        found |= {name: savings(*interval) for name, interval in resampled(d).items()}
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
        shift = -np.log1p(-points) / spread * np.sqrt(n)
        return bool(1 - special.nctdtr(n - 1, shift, _quantile(alpha, n - 1)) >= power)

    normal = distributions.norm.ppf(1 - alpha / 2) + distributions.norm.ppf(power)
    low = max(1, int((normal * spread / np.log1p(-points)) ** 2) - 1)  # fewer than with a normal distribution never do
    high = low + 2
    while not found(high):
        low, high = high, 2 * high - low + 1
        if high > 1_000_000:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return max(high, 2)
