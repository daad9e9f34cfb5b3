"""Crossing costs are those of the running best, found by brute force on whole trajectories."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from strategies.types import Floats
from suites.synthetic.crossings import LEVELS, Crossings, write

TRIALS, TIMES = 7, 30


@pytest.fixture
def trajectory() -> tuple[Floats, Floats, Floats]:
    """values (times, trials) that fall and bounce, cumulative costs (times, trials), iterations (times,)."""
    rng = np.random.default_rng(0)
    values = np.exp(-0.3 * np.arange(TIMES)[:, None] + rng.normal(0, 0.7, (TIMES, TRIALS)))
    costs = np.vstack([np.zeros(TRIALS), np.cumsum(rng.uniform(1, 5, (TIMES - 1, TRIALS)), axis=0)])
    return values, costs, np.concatenate([[0.0], np.cumsum(rng.integers(1, 9, TIMES - 1))])


def first_reach(best: Floats, axis: Floats, level: float) -> float:
    """Linear interpolation on one trial's running best."""
    if best[0] <= level:
        return float(axis[0])
    for k in range(1, len(best)):
        if best[k] <= level:
            share = (best[k - 1] - level) / (best[k - 1] - best[k])
            return float(axis[k - 1] + share * (axis[k] - axis[k - 1]))
    return np.nan


def test_equals_brute_force(trajectory: tuple[Floats, Floats, Floats]) -> None:
    values, costs, iterations = trajectory
    crossings = Crossings(TRIALS)
    for v, c, i in zip(values, costs, iterations, strict=True):
        crossings.update(v, c, int(i))
    best = np.minimum.accumulate(values, axis=0)
    for k, level in enumerate(LEVELS):
        for trial in range(TRIALS):
            cost = first_reach(best[:, trial], costs[:, trial], level)
            steps = first_reach(best[:, trial], iterations, level)
            np.testing.assert_allclose(crossings.cost[k, trial], cost, rtol=1e-12)
            np.testing.assert_allclose(crossings.iterations[k, trial], steps, rtol=1e-12)
    reached = np.isfinite(crossings.cost)
    assert reached.any()
    assert not reached.all()


def test_the_grid_is_fixed() -> None:
    np.testing.assert_allclose(np.diff(np.log10(LEVELS)), -1 / 20)
    assert (LEVELS.max(), LEVELS.min()) == (pytest.approx(10), pytest.approx(1e-8))


def test_the_file_holds_one_row_a_metric_level_and_trial(
    trajectory: tuple[Floats, Floats, Floats], tmp_path: Path
) -> None:
    values, costs, _ = trajectory
    crossings = {"excess_error": Crossings(TRIALS), "excess_error_last": Crossings(TRIALS)}
    crossings["excess_error"].update(values[0], costs[0], 0)
    crossings["excess_error"].update(values[-1], costs[-1], 100)
    write(tmp_path / "trials.parquet", crossings)
    frame = pd.read_parquet(tmp_path / "trials.parquet")
    assert frame.columns.to_list() == ["metric", "level", "trial", "cost", "iterations"]
    assert frame.dtypes.astype(str).to_list()[1:] == ["float64", "int32", "float64", "float64"]
    assert not frame.duplicated(["metric", "level", "trial"]).any()
    assert len(frame) == 2 * len(LEVELS) * TRIALS
    one = frame[(frame.metric == "excess_error") & (frame.trial == 3)].set_index("level")
    np.testing.assert_array_equal(one.cost, crossings["excess_error"].cost[:, 3])
    assert frame[frame.metric == "excess_error_last"].cost.isna().all()
    assert [path.name for path in tmp_path.iterdir()] == ["trials.parquet"]
