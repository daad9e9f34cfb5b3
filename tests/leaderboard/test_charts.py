"""What the interactive charts draw is what the statistics say."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from leaderboard.board import Board, board
from leaderboard.charts import entry_of, rounded, task_data
from leaderboard.style import HUES, Look

DOWN = {"excess_error": {"direction": "down", "scale": "log"}}
Racers = Callable[..., tuple[np.ndarray, np.ndarray]]


def data_of(made: Board) -> dict[str, Any]:
    rows = [row for row in made.rows if row.kind == "measured"]
    looks = {entry_of(row): Look(HUES[0]) for row in rows}
    tree = task_data(list(made.races.values()), rows, looks, {("fast", 0)}, {})
    json.dumps(tree, allow_nan=False)
    return tree


@pytest.fixture
def made(sweep: Any, racers: Racers) -> Board:
    for seed in range(4):
        for i, (method, rate) in enumerate({"none": 1.0, "fast": 2.0, "short": 0.2}.items()):
            sweep.run(method, *racers(rate, noise=0.01, seed=10 * i + seed), seed=seed)
    sweep.run("broken", state="failed")
    return board(sweep.records())


def test_savings_by_level_are_those_of_the_rows(made: Board) -> None:
    tree = data_of(made)
    (metric,) = tree["metrics"]
    rows = {row.method: row for row in made.rows}
    for method, levels in zip(tree["methods"], metric["levels"]["backward"], strict=True):
        row = rows[method["name"]]
        assert (levels is None) == (row.saving is None)
        if levels and not row.is_baseline:
            for name, field in (("y", "saving"), ("low", "low"), ("high", "high")):
                assert levels[name] == pytest.approx([getattr(level, field) for level in row.by_level], rel=1e-4)
            assert levels["missed"] == [2 * level.missed > level.compared for level in row.by_level]
    assert any(metric["levels"]["backward"][[m["name"] for m in tree["methods"]].index("short")]["missed"])


def test_curves_are_means_with_a_band_around_them(made: Board) -> None:
    tree = data_of(made)
    place = [method["name"] for method in tree["methods"]].index("fast")
    curve = tree["metrics"][0]["curves"]["backward"][place]
    runs = made.records.points[made.records.points["method"] == "fast"]
    assert curve["x"] == pytest.approx(sorted(runs["backward"].unique()), rel=1e-4)
    assert curve["y"] == pytest.approx(runs.groupby("step")["value"].mean().tolist(), rel=1e-4)
    assert np.subtract(curve["high"], curve["low"]) == pytest.approx(2 * runs.groupby("step")["value"].std(), rel=1e-2)
    assert [method["on"] for method in tree["methods"]] == [method["name"] == "fast" for method in tree["methods"]]


def test_the_front_asks_what_near_the_baselines_peak_takes(made: Board) -> None:
    tree = data_of(made)
    names = [method["name"] for method in tree["methods"]]
    ends = dict(zip(names, tree["metrics"][0]["front"]["backward"], strict=True))
    assert ends["broken"] is None
    assert ends["fast"]["x"] == pytest.approx(ends["none"]["x"] / 2, rel=0.2)
    assert (ends["short"]["missed"], ends["short"]["x"]) == (True, 1e6)
    assert not ends["fast"]["missed"]
    assert ends["fast"]["low"] < ends["fast"]["y"] < ends["fast"]["high"]


def test_one_run_of_many_trials_has_the_band_of_its_trials(sweep: Any) -> None:
    cost, error = np.arange(10.0), np.geomspace(1.0, 1e-3, 10)
    for method in ("none", "fast"):
        sweep.run(method, cost, error, metrics=DOWN, sd=0.5, n=100)
    curve = data_of(board(sweep.records()))["metrics"][0]["curves"]["backward"][0]
    assert curve["y"] == pytest.approx(error, rel=1e-4)
    assert curve["high"] == pytest.approx(error + 0.5, rel=1e-4)
    assert min(curve["low"]) > 0, "a logarithmic axis has no place for it"


def test_without_a_baseline_there_are_curves_and_no_savings(sweep: Any, racers: Racers) -> None:
    sweep.run("fast", *racers(2.0))
    metric = data_of(board(sweep.records({})))["metrics"][0]
    assert metric["curves"]["backward"][0]
    assert metric["levels"]["backward"] == metric["front"]["backward"] == [None]


def test_numbers_are_short_and_json() -> None:
    values = [123456.0, -0.000123456, 0.0, float("nan"), float("inf"), 1e300, 5e-324]
    assert rounded(values)[:6] == [123460.0, -0.00012346, 0.0, None, None, 1e300]
    assert len(json.dumps(rounded(np.random.default_rng(0).lognormal(0, 9, 1000)))) < 1000 * 12
