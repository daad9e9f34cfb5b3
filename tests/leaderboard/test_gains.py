"""Gains at equal tokens and the rule of each method's own peak, against hand computation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from leaderboard import gains
from leaderboard.board import board
from leaderboard.curves import Curve, Scale
from leaderboard.peak import own_peak_saving
from leaderboard.row import Row

UP = Scale()
DOWN_LOG = {"error": {"direction": "down", "scale": "log"}}
Racers = Callable[..., tuple[np.ndarray, np.ndarray]]


def curve(x: Any, y: Any) -> Curve:
    made = Curve.of(x, y)
    assert made is not None
    return made


def test_equal_tokens_are_the_most_that_both_spent() -> None:
    short, long = curve([0, 10, 20], [0.0, 0.3, 0.5]), curve([0, 10, 40], [0.0, 0.2, 0.8])
    assert gains.at_equal_tokens(short, long) == pytest.approx(0.5 - 0.4)
    assert gains.at_equal_tokens(long, short) == pytest.approx(0.4 - 0.5)


def test_area_is_the_mean_difference_on_the_common_range() -> None:
    base, ours = curve([0, 10, 20], [0.0, 0.0, 0.0]), curve([10, 20, 90], [0.2, 0.4, 9.0])
    assert gains.area(ours, base) == pytest.approx(0.3)
    assert np.isnan(gains.area(curve([30, 40], [1, 1]), base))


def test_a_collapse_counts_in_the_area_and_not_in_the_peak() -> None:
    base, collapsing = curve([0, 10, 20], [0.0, 0.5, 0.5]), curve([0, 10, 20], [0.0, 0.5, -1.0])
    assert gains.area(collapsing, base) < 0
    assert gains.peak(curve([0, 10], [0.0, 0.7]), curve([0, 5], [0.0, 0.4])) == pytest.approx(0.3)


def test_mean_and_interval_are_over_common_seeds() -> None:
    base = {seed: curve([0, 10], [0.0, 0.5]) for seed in range(4)}
    ours = {seed: curve([0, 10], [0.0, 0.5 + 0.1 * seed]) for seed in (1, 2, 3, 9)}
    found = gains.gain(ours, base, gains.peak)
    assert found is not None
    assert found.mean == pytest.approx(0.2)
    assert found.interval is not None
    assert found.interval[1] - 0.2 == pytest.approx(4.302653 * 0.1 / np.sqrt(3), rel=1e-5)  # t of 2 degrees
    one = gains.gain({1: ours[1]}, base, gains.peak)
    assert one is not None
    assert one.interval is None
    assert gains.gain({9: ours[9]}, base, gains.peak) is None


@given(st.integers(1, 60), st.integers(0, 60))
def test_probability_of_improvement_has_wilsons_interval(n: int, better: int) -> None:
    better = min(better, n)
    p, interval = gains.probability_of_improvement(np.array([-1.0] * better + [1.0] * (n - better)))
    known = binomtest(better, n).proportion_ci(0.95, method="wilson")
    assert p == better / n
    assert interval == pytest.approx((known.low, known.high), abs=1e-9)


def test_ties_are_half_an_improvement() -> None:
    assert gains.probability_of_improvement(np.zeros(6))[0] == 0.5


def test_own_peak_by_hand() -> None:
    base = {0: curve([0, 100, 200], [0.0, 0.5, 1.0])}
    ours = {0: curve([0, 50, 200], [0.0, 1.0, 1.0])}
    found = own_peak_saving(ours, base, UP)
    assert found is not None
    assert found[0] == pytest.approx(1 - (50 * 0.99) / (100 + 100 * 0.98))  # 0.99 is 98% of the way from 0.5 to 1
    assert found[1] is None


def test_own_peak_of_an_error_is_one_per_cent_above_its_least() -> None:
    scale = Scale("down", "linear")
    base = {0: curve([0, 100], scale.progress([2.0, 1.0]))}
    ours = {0: curve([0, 50], scale.progress([2.0, 1.0]))}
    found = own_peak_saving(ours, base, scale)
    assert found is not None
    assert found[0] == pytest.approx(0.5)


def test_a_method_that_learns_little_is_not_praised_for_reaching_its_own_peak() -> None:
    base = {0: curve([0, 100, 200], [0.4, 0.5, 0.6])}
    assert own_peak_saving({0: curve([0, 10, 200], [0.4, 0.45, 0.45])}, base, UP) is None
    assert own_peak_saving({0: curve([0, 10, 200], [0.4, 0.6, 0.6])}, base, UP) is not None


def test_values_below_zero_have_no_share_of_a_peak() -> None:
    runs = {0: curve([0, 10], [-2.0, -1.0])}
    assert own_peak_saving(runs, runs, UP) is None


def rows_of(sweep: Any) -> dict[tuple[str, bool], Row]:
    return {(row.method, row.aa): row for row in board(sweep.records()).rows}


def test_every_figure_is_in_the_row(sweep: Any, racers: Racers) -> None:
    for seed in range(4):
        sweep.run("none", *racers(1.0, noise=0.01, seed=seed), seed=seed)
        sweep.run("none", *racers(1.0, noise=0.01, seed=50 + seed), seed=seed, repeat=1)
        sweep.run("fast", *racers(2.0, noise=0.01, seed=90 + seed), seed=seed)
    rows = rows_of(sweep)
    fast, again, base = rows["fast", False], rows["none", True], rows["none", False]
    for name in ("equal_tokens_gain", "area_gain", "probability_of_improvement", "own_peak_saving"):
        low, value, high = (getattr(fast, name + end) for end in ("_low", "", "_high"))
        assert low < value < high or (name.startswith("prob") and low < value == 1.0)
        assert getattr(base, name) is None
    assert fast.probability_of_improvement == 1.0
    # at the end the baseline has 0.25 (1 - e^-4) of the gain and the fast run 0.25 (1 - e^-8), noise of 0.01 a point
    assert fast.equal_tokens_gain == pytest.approx(0.25 * np.exp(-4), abs=0.03)
    # mean of 0.25 (e^-4t - e^-8t) over 0..1, noise of 0.01 averaged over 20 points, 4 seeds and 2 arms
    assert fast.area_gain == pytest.approx(0.25 * (1 / 4 - 1 / 8), abs=4 * 0.01 * np.sqrt(2 / 80) + 1e-3)
    assert [target.delta for target in fast.peak_targets] == [0.0, 0.005, 0.01, 0.02]
    assert fast.peak_targets[0].saving == fast.peak_saving
    hits = [target.hits for target in fast.peak_targets]
    assert hits == sorted(hits)
    assert fast.aa_peak_gain_pp == again.peak_gain_pp
    assert fast.aa_half_width is not None
    assert fast.aa_half_width > 0


def test_gains_of_errors_on_a_log_scale_are_gains_in_the_logarithm(sweep: Any, racers: Racers) -> None:
    for seed in range(2):
        for method, rate in {"none": 1.0, "fast": 2.0}.items():
            tokens, values = racers(rate, seed=seed)
            sweep.run(method, tokens, np.exp(-values), seed=seed, metrics=DOWN_LOG)
    fast = rows_of(sweep)["fast", False]
    assert fast.equal_tokens_gain == pytest.approx(0.25 * (np.exp(-4) - np.exp(-8)))
    assert fast.peak_gain_pp is None
