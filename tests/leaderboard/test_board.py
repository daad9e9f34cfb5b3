"""Records -> rows: every planned cell has one, and each figure is right or clearly refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leaderboard.board import board
from leaderboard.curves import Scale
from leaderboard.race import trial_costs
from leaderboard.row import Row

KEYS = [
    *("task", "metric", "method", "baseline", "aa", "seeds", "state", "saving", "saving_low", "saving_high"),
    *("levels_reached", "peak_saving", "hits", "peak_gain_pp", "tier", "predicted"),
]
UP = {"acc": {"direction": "up", "scale": "linear"}}
DOWN = {"excess_error": {"direction": "down", "scale": "log"}}
SHARE = {"tokens_share": {"direction": "down", "scale": "linear"}}
Racers = Callable[..., tuple[np.ndarray, np.ndarray]]


def rows_of(sweep: Any, baselines: dict[str, str] | None = None) -> dict[tuple[str, bool], Row]:
    return {(row.method, row.aa): row for row in board(sweep.records(baselines)).rows}


def race(sweep: Any, racers: Racers, seeds: int = 4, **rates: float) -> None:
    """Every method at its rate, the A/A repeat included, with a little noise."""
    for seed in range(seeds):
        for i, (method, rate) in enumerate({"none": 1.0, **rates}.items()):
            sweep.run(method, *racers(rate, noise=0.01, seed=100 * i + seed), seed=seed)
        sweep.run("none", *racers(1.0, noise=0.01, seed=900 + seed), seed=seed, repeat=1)


def test_a_race_with_a_planted_winner(sweep: Any, racers: Racers) -> None:
    race(sweep, racers, fast=2.0, slow=0.6)
    rows = rows_of(sweep)
    fast, slow, base, again = rows["fast", False], rows["slow", False], rows["none", False], rows["none", True]
    assert fast.saving == pytest.approx(0.5, abs=0.08)
    assert fast.saving_low is not None
    assert fast.saving_high is not None
    assert fast.saving_low < fast.saving < fast.saving_high
    assert (fast.tier, fast.grey, fast.seeds, fast.replicate) == (1, False, 4, "seed")
    assert (base.saving, base.saving_low, base.grey, base.is_baseline) == (0.0, None, None, True)
    assert again.aa
    assert again.saving_low is not None
    assert slow.bound
    assert slow.grey is False
    assert slow.tier is not None
    assert base.tier is not None
    assert fast.tier < base.tier < slow.tier
    assert fast.saving_drawn == pytest.approx(fast.saving)  # in these records the paper's count is 1.5 times ours
    assert set(fast.saving_by_axis) == {"backward", "backward_drawn", "generated", "wall_s", "step"}
    assert [level.q for level in fast.by_level] == pytest.approx(np.linspace(0.3, 1, 15))
    assert fast.n_seeds_10pp is not None
    assert fast.n_seeds_5pp is not None
    assert fast.n_seeds_10pp <= fast.n_seeds_5pp


def test_rows_are_the_same_from_several_processes(sweep: Any, racers: Racers, monkeypatch: pytest.MonkeyPatch) -> None:
    race(sweep, racers, fast=2.0, slow=0.6)
    sweep.planned("late", task="verl/cispo@tiny")
    records = sweep.records()
    rows = board(records).rows
    monkeypatch.setattr("leaderboard.board.MANY", 0)
    assert [row.to_json() for row in board(records).rows] == [row.to_json() for row in rows]


def test_json_keys_of_every_row(sweep: Any, racers: Racers) -> None:
    race(sweep, racers, fast=1.5)
    sweep.planned("pstar")
    for row in board(sweep.records()).rows:
        assert set(KEYS) <= set(row.to_json())


def test_every_planned_cell_has_a_row_with_its_state_and_reason(sweep: Any, racers: Racers) -> None:
    race(sweep, racers, seeds=2)
    sweep.run("broken", state="failed", why="RuntimeError: no", metrics=UP)
    sweep.planned("late")
    sweep.planned("elsewhere", task="verl/cispo@tiny")
    sweep.run("half", *racers(1.5), seed=0)
    sweep.run("half", *racers(1.5), seed=1, state="timeout", why="60 s were not enough")
    rows = rows_of(sweep)
    assert (rows["broken", False].state, rows["broken", False].why) == ("failed", "failed: RuntimeError: no")
    assert (rows["late", False].state, rows["late", False].seeds) == ("missing", 0)
    assert (rows["elsewhere", False].metric, rows["elsewhere", False].saving) == (None, None)
    assert rows["half", False].state == "partial"
    assert rows["half", False].states == {"ok": 1, "timeout": 1}
    assert rows["half", False].saving is not None
    assert "one seed" in rows["half", False].note


def test_one_seed_has_no_interval_no_tier_no_colour(sweep: Any, racers: Racers) -> None:
    race(sweep, racers, seeds=1, fast=2.0)
    fast = rows_of(sweep)["fast", False]
    assert fast.saving is not None
    assert (fast.saving_low, fast.saving_high, fast.tier, fast.grey, fast.n_seeds_5pp) == (None,) * 5


@pytest.mark.parametrize("baselines", [{}, {"verl/grpo@tiny": "absent"}])
def test_without_a_baseline_nothing_is_claimed(sweep: Any, racers: Racers, baselines: dict[str, str]) -> None:
    race(sweep, racers, seeds=2, fast=2.0)
    fast = rows_of(sweep, baselines)["fast", False]
    assert (fast.saving, fast.peak_saving, fast.tier) == (None, None, None)
    assert "baseline" in fast.note


def test_a_baseline_that_learns_nothing_is_refused(sweep: Any, racers: Racers) -> None:
    for seed in range(2):
        sweep.run("none", [0, 1, 2], [0.5, 0.4, 0.3], seed=seed)
        sweep.run("fast", *racers(2.0), seed=seed)
    assert "gains nothing" in rows_of(sweep)["fast", False].note


def test_points_without_a_value_and_different_budgets_and_steps(sweep: Any, racers: Racers) -> None:
    for seed in range(3):
        sweep.run("none", *racers(1.0), seed=seed)
        tokens, values = racers(1.25, budget=2e6, points=33)
        values[5] = np.nan
        sweep.run("fast", tokens, values, seed=seed)
        sweep.run("void", [0, 1e6], [np.nan, np.nan], seed=seed)
    rows = rows_of(sweep)
    assert rows["fast", False].saving == pytest.approx(0.2, abs=0.02)
    assert rows["void", False].saving is None
    assert rows["void", False].note


def test_zero_finished_runs(sweep: Any) -> None:
    sweep.planned("none")
    sweep.planned("pstar")
    assert [row.state for row in board(sweep.records()).rows] == ["missing", "missing"]


def test_the_papers_rule_counts_misses_and_imputes_nothing(sweep: Any) -> None:
    tokens = [0, 100, 200]
    for seed, top in enumerate((0.6, 0.5)):
        sweep.run("none", tokens, [0.4, 0.5, 0.6], seed=seed)
        sweep.run("pstar", tokens, [0.4, top, top], seed=seed)
    row = rows_of(sweep)["pstar", False]
    assert (row.hits, row.pairs) == (1, 2)
    assert row.peak_saving == pytest.approx(0.5)  # the one hit: 100 tokens against 200
    assert row.peak_gain_pp == pytest.approx(100 * np.mean([0.0, -0.1]))
    near = {r.method: r for r in board(sweep.records(), delta=0.1).rows}["pstar"]
    assert (near.hits, near.peak_saving) == (2, pytest.approx(1 - np.sqrt(0.5)))


def test_a_methods_seeds_pair_with_the_baselines(sweep: Any, racers: Racers) -> None:
    for seed in range(3):
        sweep.run("none", *racers(1.0, seed=seed), seed=seed)
    for seed in (1, 2, 7):
        sweep.run("fast", *racers(1.25, seed=seed), seed=seed)
    assert rows_of(sweep)["fast", False].replicates == 2


def test_predicted_is_one_minus_the_ratio_of_j(sweep: Any, racers: Racers) -> None:
    sweep.run("none", *racers(1.0), diagnostics={"J": 8.0})
    sweep.run("pstar", *racers(1.0), diagnostics={"J": 6.0})
    sweep.run("other", *racers(1.0), diagnostics={"J": None})
    rows = rows_of(sweep)
    assert rows["pstar", False].predicted == pytest.approx(0.25)
    assert rows["other", False].predicted is None


def test_replay_rows_are_predictions(sweep: Any) -> None:
    for method, share in {"none": 0.0, "pstar": 0.3}.items():
        sweep.run(method, [5], [0.5], task="replay/log", metrics=SHARE, diagnostics={"saving": share, "chi2": None})
    row = rows_of(sweep)["pstar", False]
    assert (row.kind, row.saving, row.predicted) == ("predicted", None, 0.3)
    assert row.diagnostics == {"saving": 0.3, "chi2": None}


def trials(rate: float, seed: int, n: int = 400) -> pd.DataFrame:
    """Errors that fall as a / cost: reaching a level costs a / level; a third of the levels is out of reach."""
    rng = np.random.default_rng(seed)
    level = 10 ** (np.arange(-40, 1) / 20.0)
    cost = np.exp(rng.normal(0, 0.1, n))[:, None] / rate / level
    cost[:, :13] = np.nan
    columns = {"level": np.tile(level, n), "trial": np.repeat(np.arange(n, dtype=np.int32), len(level))}
    return pd.DataFrame({"metric": "excess_error", **columns, "cost": cost.ravel(), "iterations": cost.ravel() / 10})


def test_trials_are_the_replicates_of_synthetic_tasks(sweep: Any) -> None:
    tokens = np.geomspace(1, 20, 30)
    for i, (method, rate) in enumerate({"uniform": 1.0, "pstar": 1.25}.items()):
        where = {"task": "synthetic/x", "metrics": DOWN, "n": 400, "sd": 0.1, "trials": trials(rate, i)}
        sweep.run(method, tokens, 1 / rate / tokens, **where)
    row = rows_of(sweep, {"synthetic/x": "uniform"})["pstar", False]
    # ln cost has sd 0.1 a trial: the mean of 400 differences is within 4 sd / sqrt(400) of the planted 20%
    assert row.saving == pytest.approx(0.2, abs=4 * 0.1 * np.sqrt(2 / 400) * 0.8)
    assert (row.replicate, row.replicates, row.seeds) == ("trial", 400, 1)
    assert set(row.saving_by_axis) == {"backward", "backward_drawn", "step"}
    assert row.peak_gain_pp is None  # points of a logarithm mean nothing


def test_levels_that_only_lucky_trials_of_the_baseline_reach_are_dropped_for_all(sweep: Any) -> None:
    tokens = np.geomspace(1, 20, 30)
    for i, method in enumerate(("uniform", "pstar")):
        table = trials(1.0, i)
        table.loc[(table["trial"] < 40) & (table["level"] < 0.2), ["cost", "iterations"]] = (
            np.nan
        )  # a tenth stops short
        where = {"task": "synthetic/x", "metrics": DOWN, "n": 400, "sd": 0.1, "trials": table}
        sweep.run(method, tokens, 1 / tokens, **where)
    row = rows_of(sweep, {"synthetic/x": "uniform"})["pstar", False]
    beyond = [level for level in row.by_level if level.value < 10 ** (-13 / 20)]  # the last one that all have
    assert beyond
    assert {level.compared for level in beyond} == {0}
    assert row.levels_reached == row.levels_compared == 15 - len(beyond)
    assert not row.bound


def test_costs_of_trials_are_linear_between_recorded_levels() -> None:
    table = pd.DataFrame({"level": [1.0, 0.1, 0.01], "trial": 0, "cost": [2.0, 4.0, np.nan]})
    reading = Scale("down", "log")
    _, cost = trial_costs(table, "cost", reading, reading.progress([2.0, 1.0, 10**-0.5, 0.1, 0.05]))
    assert cost[0, :4].tolist() == pytest.approx([2.0, 2.0, 3.0, 4.0])
    assert np.isnan(cost[0, 4])
