"""What a reviewer tries first: each case gives a right figure or a clearly refused one, and never a flattering one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import simulated

from bench.records import load
from leaderboard.board import board
from leaderboard.curves import Curve, levels_of
from leaderboard.row import Row
from leaderboard.stats import log_ratios
from leaderboard.verdict import estimate, verdict, winners

Racers = Callable[..., tuple[np.ndarray, np.ndarray]]


def rows_of(sweep: Any) -> dict[tuple[str, bool], Row]:
    return {(row.method, row.aa): row for row in board(sweep.records()).rows}


def raced(sweep: Any, racers: Racers, seeds: int = 5, noise: float = 0.008, **rates: float) -> None:
    for seed in range(seeds):
        for i, (method, rate) in enumerate({"none": 1.0, **rates}.items()):
            sweep.run(method, *racers(rate, noise=noise, seed=100 * i + seed), seed=seed)


def test_a_method_that_never_reaches_a_level(sweep: Any, racers: Racers) -> None:
    raced(sweep, racers, fast=1.5)
    for seed in range(5):
        tokens, _ = racers()
        sweep.run("flat", tokens, np.full(len(tokens), 0.4), seed=seed)
    row = rows_of(sweep)["flat", False]
    assert (row.levels_reached, row.hits, row.pairs) == (0, 0, 5)
    assert row.bound
    assert row.saving is not None
    assert row.saving < 0
    assert estimate(row).startswith("≤ −")
    assert (row.peak_saving, row.own_peak_saving, row.missed_share) == (None, None, 1.0)
    assert row.equal_tokens_gain is not None
    assert row.equal_tokens_gain < -0.2
    assert row.probability_of_improvement == 0.0


def test_a_method_stopped_after_a_twentieth_of_the_budget_wins_nothing(sweep: Any, racers: Racers) -> None:
    """It stands at its budget in every level: an upper limit near 90%, that proves no saving."""
    raced(sweep, racers)
    for seed in range(5):
        sweep.run("stopped", *racers(1.0, budget=5e4), seed=seed)
        sweep.run("slower", *racers(0.97, noise=0.008, seed=60 + seed, budget=2e6), seed=seed)
    rows = rows_of(sweep)
    row = rows["stopped", False]
    assert row.bound
    assert row.grey
    assert row.levels_reached == 0
    assert estimate(row).startswith("≤ ")
    assert winners(list(rows.values())) == []
    assert "stopped" not in verdict(list(rows.values()))


def test_a_baseline_that_peaks_early_and_collapses(sweep: Any, racers: Racers) -> None:
    tokens, _ = racers()
    rise = np.minimum(tokens / 3e5, 1.0)
    fall = np.maximum(tokens - 4e5, 0) / 6e5
    for seed in range(4):
        noise = np.random.default_rng(seed).normal(0, 0.005, (3, len(tokens)))
        sweep.run("none", tokens, 0.4 + 0.2 * rise - 0.3 * fall + noise[0], seed=seed)
        sweep.run("none", tokens, 0.4 + 0.2 * rise - 0.3 * fall + noise[1], seed=seed, repeat=1)
        sweep.run("steady", tokens, 0.4 + 0.2 * rise + noise[2], seed=seed)
    rows = rows_of(sweep)
    steady, again = rows["steady", False], rows["none", True]
    # levels end at the mean of the pooled collapse, not at the lucky peak: all within reach, at a price of their rise
    assert steady.levels_reached == steady.levels_compared == 15
    assert not steady.bound
    assert max(level.value for level in steady.by_level) < 0.6
    assert again.grey
    assert steady.grey  # it rises as fast: no tokens saved, whatever happens later
    assert steady.area_gain is not None
    assert again.area_gain is not None
    assert steady.area_gain > 0.05 > abs(again.area_gain)  # the collapse shows here


def test_a_run_given_twice_counts_once(sweep: Any, racers: Racers) -> None:
    raced(sweep, racers, fast=1.5)
    directory = sweep.write()
    once = board(load([directory])).rows
    with pytest.warns(UserWarning, match="10 runs are in"):
        twice = board(load([directory, copied(sweep)])).rows
    assert [row.to_json() for row in twice] == [row.to_json() for row in once]
    assert [row.to_json() for row in board(load([directory, directory])).rows] == [row.to_json() for row in once]


def copied(sweep: Any) -> Any:
    import shutil

    return shutil.copytree(sweep.path, sweep.path.with_name("copy"))


def test_the_same_curves_save_exactly_nothing(sweep: Any, racers: Racers) -> None:
    for seed in range(4):
        for method in ("none", "twin"):
            sweep.run(method, *racers(1.0, noise=0.02, seed=seed), seed=seed)
    twin = rows_of(sweep)["twin", False]
    assert (twin.saving, twin.saving_low, twin.saving_high) == (0.0, 0.0, 0.0)
    assert (twin.p_adjusted, twin.grey, twin.probability_of_improvement) == (1.0, True, 0.5)
    assert twin.hits == twin.pairs == 4


@pytest.mark.parametrize("spoilt", [slice(0, 1), slice(5, 9), slice(-1, None), slice(0, 21, 2)])
def test_points_without_a_value_change_little(sweep: Any, racers: Racers, spoilt: slice) -> None:
    for seed in range(3):
        sweep.run("none", *racers(1.0), seed=seed)
        tokens, values = racers(1.25)
        values[spoilt] = np.nan
        sweep.run("fast", tokens, values, seed=seed)
    row = rows_of(sweep)["fast", False]
    assert row.saving == pytest.approx(0.2, abs=0.03)
    assert row.replicates == 3


def test_one_seed_of_the_baseline_is_missing(sweep: Any, racers: Racers) -> None:
    raced(sweep, racers, seeds=4, fast=1.5)
    sweep.run("fast", *racers(1.5, seed=77), seed=9)
    sweep.run("none", seed=9, state="failed", why="RuntimeError: no")
    row = rows_of(sweep)["fast", False]
    assert (row.seeds, row.replicates, row.pairs) == (5, 4, 4)


def test_evaluating_five_times_as_often_saves_nothing() -> None:
    """300 races of an identical method with 101 evaluations against 21: isotonic fits give no luck to more looks."""
    rng = np.random.default_rng(0)
    d = []
    for _ in range(300):
        offset = rng.normal(0, simulated.OFFSET, 5)
        base = simulated.runs(rng, offset)
        levels = levels_of(base)
        assert levels is not None
        often = simulated.runs(rng, offset, points=101)
        d.append(log_ratios(simulated.arm(often, levels), simulated.arm(base, levels)).per_replicate.mean())
    assert np.mean(d) == pytest.approx(0.0, abs=0.02)


def test_no_tokens_at_all(sweep: Any, racers: Racers) -> None:
    raced(sweep, racers, seeds=2)
    tokens, values = racers(1.0)
    for seed in range(2):
        sweep.run("free", np.zeros(len(tokens)), values, seed=seed)
    row = rows_of(sweep)["free", False]
    assert (row.saving, row.tier) == (None, None)
    assert row.note


def test_a_curve_needs_two_points(sweep: Any, racers: Racers) -> None:
    raced(sweep, racers, seeds=2)
    for seed in range(2):
        sweep.run("short", [0.0], [0.4], seed=seed)
    row = rows_of(sweep)["short", False]
    assert row.saving is None
    assert row.note
    assert Curve.of([0.0], [0.4]) is None
