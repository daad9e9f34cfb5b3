"""The threshold mean against hand computation, planted savings and invariances."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from leaderboard.curves import Curve, Floats, Scale, levels_of
from leaderboard.stats import Arm, Ratios, log_ratios, saving

Racers = Callable[..., tuple[np.ndarray, np.ndarray]]


def arm(curves: list[Curve], levels: Floats) -> Arm:
    cost = np.array([curve.reach(levels) for curve in curves])
    return Arm(np.arange(len(curves)), cost, np.array([curve.end for curve in curves]))


def compare(method: list[tuple[np.ndarray, np.ndarray]], baseline: list[tuple[np.ndarray, np.ndarray]]) -> Ratios:
    made = [[Curve.of(*run) for run in runs] for runs in (method, baseline)]
    ours, theirs = ([curve for curve in curves if curve] for curves in made)
    levels = levels_of(theirs)
    assert levels is not None
    return log_ratios(arm(ours, levels), arm(theirs, levels))


def test_threshold_mean_by_hand() -> None:
    base = Arm(np.array([0, 1]), np.array([[10.0, 20.0], [10.0, np.nan]]), np.array([30.0, 30.0]))
    method = Arm(np.array([1, 0, 7]), np.array([[5.0, 9.0], [20.0, np.nan], [1.0, 1.0]]), np.array([40.0, 40.0, 40.0]))
    ratios = log_ratios(method, base)
    # seed 0: ln 2 and, missed at its budget of 40, ln 2; seed 1: ln 1/2, the other level dropped; seed 7: no pair
    assert ratios.per_replicate == pytest.approx([np.log(2), -np.log(2)])
    assert saving(float(ratios.per_replicate.mean())) == pytest.approx(0.0)
    assert ratios.dropped == 1
    assert ratios.missed.sum() == 1
    assert ratios.missed_share == pytest.approx(1 / 3)
    assert ratios.bound


def test_an_identical_method_saves_nothing(racers: Racers) -> None:
    runs = [racers(noise=0.02, seed=s) for s in range(5)]
    ratios = compare(runs, runs)
    assert (ratios.per_replicate == 0).all()
    assert not ratios.bound


@pytest.mark.parametrize("planted", [0.2, 0.5, -0.25])
def test_a_planted_saving_is_recovered(racers: Racers, planted: float) -> None:
    # Noise-free exponential curves: every level costs the fast run exactly (1 - planted) as much; what is left is the
    # linear interpolation between evaluations. The slow run has the budget to reach the baseline's peak.
    base = [racers(1.0, points=401)]
    fast = [racers(1 / (1 - planted), points=401, budget=2e6)]
    assert saving(float(compare(fast, base).per_replicate.mean())) == pytest.approx(planted, abs=2e-3)


def test_a_method_that_stops_short_is_a_bound_and_never_better_than_one_that_arrives(racers: Racers) -> None:
    base = [racers(1.0, points=201) for _ in range(3)]
    short = compare([racers(1.25, top=0.6, points=201) for _ in range(3)], base)
    full = compare([racers(1.25, points=201) for _ in range(3)], base)
    assert short.bound
    assert not full.bound
    assert short.levels_reached == sum(q < 0.8 / (1 - np.exp(-4)) for q in np.arange(30, 101, 5) / 100)
    assert full.levels_reached == full.levels_compared == 15
    assert short.per_replicate.mean() > full.per_replicate.mean()


def test_a_smaller_budget_is_a_bound(racers: Racers) -> None:
    assert compare([racers(1.0, budget=4e5)], [racers(1.0)]).bound


def test_one_late_seed_of_many_is_no_bound(racers: Racers) -> None:
    base = [racers(1.0) for _ in range(20)]
    ours = [racers(1.25) for _ in range(19)] + [racers(1.25, top=0.64)]
    ratios = compare(ours, base)
    assert ratios.missed.any()
    assert not ratios.bound


def test_down_on_a_log_scale_is_the_same_as_up_on_a_linear_one(racers: Racers) -> None:
    reading = Scale("down", "log")
    up = [[racers(rate, noise=0.02, seed=s) for s in range(4)] for rate in (1.3, 1.0)]
    errors = [[(tokens, np.exp(-values)) for tokens, values in runs] for runs in up]
    down = [[(tokens, reading.progress(error)) for tokens, error in runs] for runs in errors]
    assert np.allclose(compare(*up).per_replicate, compare(*down).per_replicate)


def test_the_order_of_replicates_does_not_matter(racers: Racers) -> None:
    rng = np.random.default_rng(0)
    cost = rng.uniform(1, 2, (6, 15))
    method, base = Arm(np.arange(6), cost, np.full(6, 3.0)), Arm(np.arange(6), cost[::-1], np.full(6, 3.0))
    order = rng.permutation(6)
    shuffled = Arm(method.keys[order], method.cost[order], method.end[order])
    assert np.array_equal(log_ratios(method, base).ratio, log_ratios(shuffled, base).ratio)


def test_a_level_held_at_cost_zero_has_no_ratio() -> None:
    base = Arm(np.array([0]), np.array([[0.0, 10.0]]), np.array([20.0]))
    ratios = log_ratios(Arm(np.array([0]), np.array([[0.0, 5.0]]), np.array([20.0])), base)
    assert ratios.per_replicate == pytest.approx([-np.log(2)])
    assert ratios.dropped == 1
