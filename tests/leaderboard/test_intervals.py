"""Intervals and sample sizes: closed forms, and coverage by simulation with stated error rates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from leaderboard import intervals
from leaderboard.curves import Curve, levels_of
from leaderboard.stats import Arm, log_ratios

D = np.random.default_rng(3).normal(-0.2, 0.3, 24)


def test_t_interval_and_p_value_are_the_textbooks() -> None:
    test = stats.ttest_1samp(D, 0.0)
    assert intervals.t_interval(D) == pytest.approx(tuple(test.confidence_interval(0.95)))
    assert intervals.p_value(D) == pytest.approx(test.pvalue)


@pytest.mark.parametrize(("d", "p"), [([0.0, 0.0], 1.0), ([0.1, 0.1, 0.1], 0.0), ([0.5], 1.0)])
def test_p_value_without_spread(d: list[float], p: float) -> None:
    assert intervals.p_value(np.array(d)) == p


@pytest.mark.parametrize(
    ("n", "known"),
    [(1, []), (2, ["t"]), (9, ["t"]), (10, ["t", "bootstrap-t"]), (20, ["t", "bootstrap-t", "percentile", "BCa"])],
)
def test_which_intervals_a_sample_allows(n: int, known: list[str]) -> None:
    found = intervals.every(D[:n])
    assert list(found) == known
    assert all(low < -np.expm1(D[:n].mean()) < high for low, high in found.values())


def test_resampled_intervals_agree_with_t_on_a_large_normal_sample() -> None:
    d = np.random.default_rng(0).normal(0.1, 0.2, 2000)
    low, high = intervals.t_interval(d)
    for other in (intervals.bootstrap_t(d), *intervals.resampled(d).values()):
        # an end is a quantile of 1,999 resamples: its sd is 1.5% of the width, 10% is over 6 sd
        assert other == pytest.approx((low, high), abs=0.1 * (high - low))


@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_resampled_intervals_are_scipys(method: str) -> None:
    d = np.random.default_rng(5).exponential(0.3, 25)  # skewed, so that BCa has something to correct
    known = stats.bootstrap((d,), np.mean, n_resamples=100_000, method=method, rng=1).confidence_interval
    # an end is a quantile of 1,999 resamples: its sd is about 2.5% of the width here
    assert intervals.resampled(d)[method] == pytest.approx((known.low, known.high), abs=0.1 * (known.high - known.low))


def test_intervals_of_a_constant_are_the_constant() -> None:
    d = np.full(20, 0.1)
    assert all(interval == pytest.approx((-np.expm1(0.1),) * 2) for interval in intervals.every(d).values())


@pytest.mark.parametrize("points", [0.05, 0.10])
def test_seeds_needed_is_the_smallest_with_the_power(points: float) -> None:
    n = intervals.seeds_needed(D, points)
    assert n is not None
    shift = -np.log1p(-points) / D.std(ddof=1)

    def power(m: int) -> float:
        return float(stats.nct.sf(stats.t.ppf(0.975, m - 1), m - 1, shift * np.sqrt(m)))

    assert power(n - 1) < 0.8 <= power(n)
    assert intervals.seeds_needed(D[:1], points) is None
    assert intervals.seeds_needed(np.zeros(3), points) == 2


def test_t_interval_covers_the_truth_on_noisy_curves(racers: Callable[..., tuple[np.ndarray, np.ndarray]]) -> None:
    """A planted 20% saving, 5 seeds, evaluation noise of 1.8 points and run-to-run spread: 400 repeats.

    The number covered is binomial(400, 0.95): outside +-4 standard deviations (0.906 to 0.994) in 1 of 10^4 tests.
    """
    covered, repeats = 0, 400
    for repeat in range(repeats):
        rng = np.random.default_rng(repeat)

        def race(rate: float, rng: np.random.Generator = rng) -> list[Curve]:
            rates, seeds = rate * np.exp(rng.normal(0, 0.08, 5)), rng.integers(1 << 31, size=5)
            runs = [racers(r, noise=0.018, seed=int(s)) for r, s in zip(rates, seeds, strict=True)]
            return [curve for run in runs if (curve := Curve.of(*run))]

        base, fast = race(1.0), race(1.25)
        levels = levels_of(base)
        assert levels is not None
        arms = [Arm(np.arange(5), np.array([c.reach(levels) for c in x]), np.full(5, 1e6)) for x in (fast, base)]
        low, high = intervals.t_interval(log_ratios(*arms).per_replicate)
        covered += low <= np.log(0.8) <= high
    assert 0.906 <= covered / repeats <= 0.994
