"""One run in one directory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from faults import plugin

from bench import runner
from bench.rundir import RunDir, Status
from bench.spec import specify
from strategies import parse, registry
from suites.task import Ledger, Metric, Point, Request, Task

TASK = "synthetic/least-squares"
SMALL = {"n": 100, "dim": 2, "trials": 8}
BUDGET = 1e5  # two passes


def prepared(folder: Path, method: str = "pstar") -> RunDir:
    spec = specify(TASK, parse(method), budget=BUDGET, settings=SMALL)
    run = RunDir(folder / spec.run_id)
    run.prepare(spec)
    return run


def state_of(run: RunDir) -> Status:
    status = runner.execute(run.path)
    assert status is not None
    assert status == run.status()
    return status


def without_time(run: RunDir) -> list[dict[str, object]]:
    return [{key: value for key, value in point.items() if key != "wall_s"} for point in run.points()]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    run = prepared(tmp_path_factory.mktemp("finished"))
    assert state_of(run).state == "ok"
    return run


def test_records_have_their_columns(finished: RunDir) -> None:
    columns = "run step phase metric value sd n generated forward backward backward_drawn draws diagnostics wall_s"
    for point in finished.points():
        assert set(point) == set(columns.split())
        assert point["run"] == finished.path.name


def test_status_says_what_ran_where(finished: RunDir) -> None:
    status = finished.status()
    assert status is not None
    assert next(iter(status.metrics)) == "excess_error"
    assert status.metrics["excess_error"] == {"direction": "down", "scale": "log"}
    assert status.budget is not None
    assert status.attempts == 1
    assert {"python", "numpy", "torch"} <= set(status.versions)
    assert status.git["root"] == str(Path(runner.__file__).resolve().parents[1])
    assert status.started <= status.finished


def test_finished_run_is_left_alone(finished: RunDir) -> None:
    before = {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in finished.path.iterdir()}
    assert state_of(finished).state == "ok"
    before.pop(".lock")
    after = {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in finished.path.iterdir()}
    assert {name: after[name] for name in before} == before


def test_equal_specs_give_equal_records(finished: RunDir, tmp_path: Path) -> None:
    again = prepared(tmp_path)
    state_of(again)
    assert without_time(again) == without_time(finished)


def test_leftovers_of_a_killed_attempt_are_cut_off(finished: RunDir, tmp_path: Path) -> None:
    run = prepared(tmp_path)
    run.write_status(Status("running"))
    run.points_file.write_bytes(finished.points_file.read_bytes()[:-40])  # ends in the middle of a line
    status = state_of(run)
    assert (status.state, status.attempts) == ("ok", 2)
    assert without_time(run) == without_time(finished)


def test_edited_plugin_is_refused(tmp_path: Path) -> None:
    file = plugin(tmp_path, "edited", "pass")
    registry.load_file(file)
    run = prepared(tmp_path, "edited")
    file.write_text(file.read_text() + "# another thought\n")
    status = state_of(run)
    assert status.state == "failed"
    assert "has changed since the run was specified" in status.why


def test_edited_log_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"prompt": "a", "response": "b", "reward": 1}\n')
    spec = specify("replay/log", parse("pstar"), settings={"rollouts": str(log)})
    run = RunDir(tmp_path / spec.run_id)
    run.prepare(spec)
    log.write_text("{}\n")
    status = state_of(run)
    assert status.state == "failed"
    assert "has changed since the run was specified" in status.why


def test_refused_method_is_not_run(tmp_path: Path) -> None:
    status = state_of(prepared(tmp_path, "pstar:proxy=surprise"))
    assert status.state == "not run"
    assert "surprise" in status.why


def test_run_is_done_by_one_process_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "LOCK_WAIT_S", 0.1)
    run = prepared(tmp_path)
    with run.lock():
        assert runner.execute(run.path) is None
    assert run.status() is None


def test_numbers_that_json_lacks_are_null() -> None:
    point = Point(np.int64(1), "eval", "m", float("nan"), Ledger(backward=np.float64(2)), sd=float("inf"),  # type: ignore[arg-type]
                  diagnostics={"J": float("-inf"), "S": None, "C": np.float32(0.5)})  # fmt: skip
    line = json.loads(json.dumps(runner.flat(point), allow_nan=False))
    assert (line["value"], line["sd"], line["step"], line["backward"]) == (None, None, 1, 2.0)
    assert line["diagnostics"] == {"J": None, "S": None, "C": 0.5}


class Counting(Task):
    """Keeps a checkpoint of how far it is."""

    name = "counting"
    metrics = {"m": Metric("up", "linear")}  # noqa: RUF012

    def recorded(self, workdir: Path) -> int:
        file = workdir / "checkpoint"
        return int(file.read_text()) if file.exists() else 0

    def run(self, request: Request) -> Iterator[Point]:
        yield from ()


@pytest.mark.parametrize(("checkpoint", "kept"), [(None, 0), (0, 0), (2, 2), (3, 3), (4, 0)])
def test_points_continue_from_the_checkpoint(tmp_path: Path, checkpoint: int | None, kept: int) -> None:
    """Three whole lines and half of a fourth are on record. A checkpoint beyond them is worth nothing."""
    run = RunDir(tmp_path)
    lines = [json.dumps({"step": step, "wall_s": step + 0.5}) + "\n" for step in range(4)]
    run.points_file.write_text("".join(lines)[:-5])
    if checkpoint is not None:
        (tmp_path / "checkpoint").write_text(str(checkpoint))
    seconds = runner.resume(run, Counting())
    assert [point["step"] for point in run.points()] == list(range(kept))
    assert seconds == (kept - 0.5 if kept else 0.0)
    assert (tmp_path / "checkpoint").exists() == (checkpoint is not None and checkpoint <= 3)


def test_status_of_a_vanished_process_is_killed(tmp_path: Path) -> None:
    run = prepared(tmp_path)
    run.write_status(Status("running"))
    with run.lock():
        assert run.status() == Status("running")
    status = run.status()
    assert status is not None
    assert status.state == "killed"
    assert asdict(status)["why"]
