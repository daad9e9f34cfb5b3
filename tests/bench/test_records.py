"""One tidy view of any set of run directories."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from faults import TASK, sweep_file

from bench import plan, records, sweep
from bench.rundir import RunDir, Status
from bench.spec import RunSpec
from strategies import WrongUse

POINT = {
    "step": 1, "phase": "eval", "metric": "excess_error", "value": 0.5, "sd": None, "n": 20, "generated": 0.0,
    "forward": 0.0, "backward": 10.0, "backward_drawn": 10.0, "draws": 1.0, "diagnostics": {"J": 2.0}, "wall_s": 0.1,
}  # fmt: skip


def recorded(folder: Path, spec: RunSpec, points: int = 2, status: Status | None = None) -> RunDir:
    run = RunDir(folder / spec.run_id)
    run.prepare(spec)
    run.points_file.write_text("".join(json.dumps(POINT | {"step": step}) + "\n" for step in range(points)))
    run.write_status(
        status or Status("ok", metrics={"excess_error": {"direction": "down", "scale": "log"}}, budget=7.0)
    )
    return run


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    """Three planned cells: one done, one failed, one missing (the A/A repeat)."""
    found = sweep.load(str(sweep_file(tmp_path, ["pstar"])))
    directory = tmp_path / "small"
    directory.mkdir()
    specs = [spec for spec, _ in found.runs()]
    plan.write(directory, found, specs, "costaware sweep small")
    recorded(directory, specs[0])
    recorded(directory, specs[1], points=0, status=Status("failed", why="no luck", attempts=3))
    return directory


def test_planned_cells_are_complete(swept: Path) -> None:
    found = records.load([swept])
    states = found.runs.set_index(["method", "repeat"])["state"]
    assert states.to_dict() == {("uniform", 0): "ok", ("pstar", 0): "failed", ("uniform", 1): "missing"}
    row = found.runs.set_index(["method", "repeat"]).loc[("pstar", 0)]
    assert (row["why"], row["attempts"], row["seed"], row["task"]) == ("no luck", 3, 0, TASK)
    assert found.runs["dir"].isna().sum() == 1
    assert found.baselines == {TASK: "uniform"}
    assert found.runs["budget"].dropna().to_list() == [7.0]


def test_points_are_typed_and_keyed(swept: Path) -> None:
    points = records.load([swept]).points
    assert len(points) == 2
    assert points["sd"].isna().all()
    assert points["value"].dtype == "float64"
    assert points["diagnostics"].iloc[0] == {"J": 2.0}
    assert set(points["method"]) == {"uniform"}


def test_half_written_last_line_is_left_out(swept: Path) -> None:
    found = records.load([swept])
    run = RunDir(Path(found.runs.loc[found.runs["state"] == "ok", "dir"].iloc[0]))
    with run.points_file.open("a") as file:
        file.write('{"step": 2, "val')
    assert len(records.load([swept]).points) == 2
    assert run.last_point() == run.points()[-1]


def test_damaged_line_is_named(swept: Path) -> None:
    found = records.load([swept])
    run = RunDir(Path(found.runs.loc[found.runs["state"] == "ok", "dir"].iloc[0]))
    run.points_file.write_text('{"step": 0}\nrubbish\n{"step": 2}\n')
    with pytest.raises(WrongUse, match=r"points.jsonl, line 2"):
        records.load([swept])


def test_parquet_holds_the_same(swept: Path, tmp_path: Path) -> None:
    found = records.load([swept])
    found.to_parquet(tmp_path / "all.parquet")
    table = pd.read_parquet(tmp_path / "all.parquet")
    assert len(table) == len(found.points) + 2  # the failed and the missing run have a row each
    assert table["state"].value_counts().to_dict() == {"ok": 2, "failed": 1, "missing": 1}
    done = table[table["state"] == "ok"].reset_index(drop=True)
    for column in ("run", "step", "value", "backward", "draws", "wall_s"):
        assert done[column].tolist() == found.points[column].tolist()
    assert json.loads(done["diagnostics"].iloc[0]) == {"J": 2.0}


def test_trials_are_read_where_there_are_any(swept: Path) -> None:
    found = records.load([swept])
    done = found.runs[found.runs["state"] == "ok"].iloc[0]
    assert found.trials(done["run"]) is None
    pd.DataFrame({"metric": ["excess_error"], "level": [0.1], "cost": [5.0]}).to_parquet(
        Path(done["dir"]) / "trials.parquet"
    )
    trials = found.trials(done["run"])
    assert trials is not None
    assert trials["cost"].tolist() == [5.0]
    missing = found.runs[found.runs["state"] == "missing"].iloc[0]
    assert found.trials(missing["run"]) is None


def test_single_runs_and_folders_of_them_are_read(tmp_path: Path) -> None:
    one = recorded(tmp_path / "runs", RunSpec(TASK, "pstar"))
    recorded(tmp_path / "runs", RunSpec(TASK, "uniform"))
    assert len(records.load([one.path]).runs) == 1
    assert len(records.load([tmp_path / "runs"]).runs) == 2


def test_run_in_two_places_is_kept_once(tmp_path: Path) -> None:
    for place in ("a", "b"):
        recorded(tmp_path / place, RunSpec(TASK, "pstar"))
    with pytest.warns(UserWarning, match="kept once"):
        found = records.load([tmp_path / "a", tmp_path / "b"])
    assert len(found.runs) == 1
    assert len(found.points) == 2


def test_different_runs_of_one_cell_are_refused(tmp_path: Path) -> None:
    recorded(tmp_path / "a", RunSpec(TASK, "pstar"))
    recorded(tmp_path / "b", RunSpec(TASK, "pstar", budget=9))
    with pytest.raises(WrongUse, match="other settings"):
        records.load([tmp_path / "a", tmp_path / "b"])


@pytest.mark.parametrize("name", ["absent", "empty"])
def test_nothing_to_read_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(WrongUse, match=name):
        records.load([tmp_path / name])
