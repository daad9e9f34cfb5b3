"""kill -9 in the middle of a sweep, then the same command: an uninterrupted sweep's records, nothing done twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from faults import SYNTHETIC, costaware, plugin, started, sweep_file, tables

from bench import records


def points_written(directory: Path) -> int:
    return sum(file.read_bytes().count(b"\n") for file in directory.glob("*/points.jsonl"))


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, "the sweep ended before it could be killed"
        assert time.monotonic() < until
        time.sleep(0.005)


def processes_on(directory: Path) -> list[int]:
    """Processes that have a file of `directory` open."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            links = [os.readlink(link) for link in (process / "fd").iterdir()]
        except OSError:
            continue
        if any(link.startswith(str(directory)) for link in links):
            found.append(int(process.name))
    return found


def wait_for_silence(directory: Path) -> None:
    until = time.monotonic() + 10
    while processes_on(directory):
        assert time.monotonic() < until, "workers outlived their parent"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str | Path]]:
    """Four runs of about a second, one of them by a strategy from a file."""
    folder = tmp_path_factory.mktemp("sweep")
    slow = plugin(folder, "slow", "time.sleep(0.2)")
    return sweep_file(folder, ["pstar", "slow"], task=SYNTHETIC), ["--plugin", slow, "--no-board"]


@pytest.fixture(scope="module")
def uninterrupted(
    sweep: tuple[Path, list[str | Path]], tmp_path_factory: pytest.TempPathFactory
) -> tuple[pd.DataFrame, pd.DataFrame]:
    out = tmp_path_factory.mktemp("uninterrupted")
    done = costaware("sweep", sweep[0], *sweep[1], "--out", out)
    assert done.returncode == 0, done.stderr
    return tables(out / "small")


@pytest.mark.parametrize(("after_points", "whole_group"), [(0, True), (1, False), (150, True)])
def test_killed_sweep_goes_on(
    sweep: tuple[Path, list[str | Path]],
    uninterrupted: tuple[pd.DataFrame, pd.DataFrame],
    after_points: int,
    whole_group: bool,
    tmp_path: Path,
) -> None:
    words = ["sweep", sweep[0], *sweep[1], "--out", tmp_path]
    process = started(*words)
    directory = tmp_path / "small"
    while not (directory / "sweep.json").exists():
        time.sleep(0.01)
    wait_until(lambda: points_written(directory) >= after_points, process)
    (os.killpg if whole_group else os.kill)(process.pid, signal.SIGKILL)
    process.wait()
    wait_for_silence(directory)
    finished = ok_runs(directory)

    done = costaware(*words)

    assert done.returncode == 0, done.stderr
    for mine, theirs in zip(tables(directory), uninterrupted, strict=True):
        pd.testing.assert_frame_equal(mine, theirs)
    attempts = ok_runs(directory)
    assert {run: attempts[run] for run in finished} == finished, "a finished run was done again"
    assert max(attempts.values()) <= 2


def ok_runs(directory: Path) -> dict[str, int]:
    """Finished run -> attempts."""
    statuses = {file.parent.name: json.loads(file.read_text()) for file in directory.glob("*/status.json")}
    return {run: status["attempts"] for run, status in statuses.items() if status["state"] == "ok"}


@pytest.fixture
def waiting(tmp_path: Path) -> tuple[Path, list[str | Path]]:
    """A sweep with a run that waits until the file `go` is there."""
    go = tmp_path / "go"
    file = plugin(tmp_path, "waits", f"while not os.path.exists({str(go)!r}): time.sleep(0.05)")
    return go, ["sweep", sweep_file(tmp_path, ["pstar", "waits"]), "--plugin", file, "--out", tmp_path, "--no-board"]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_leaves_a_resumable_directory_and_no_processes(
    waiting: tuple[Path, list[str | Path]], tmp_path: Path, end: signal.Signals
) -> None:
    go, words = waiting
    directory = tmp_path / "small"
    process = started(*words)
    wait_until(lambda: len(ok_runs(directory)) == 3, process)  # all but the one that waits
    os.killpg(process.pid, end)
    assert process.wait(timeout=60) == 130
    assert processes_on(directory) == []
    states = records.load([directory]).runs.set_index("method")["state"]
    assert (states["waits"], states["pstar"]) == ("cancelled", "ok")
    before = ok_runs(directory)
    go.touch()
    assert costaware(*words).returncode == 0
    after = ok_runs(directory)
    assert {run: after[run] for run in before} == before
    assert sorted(after.values()) == [1, 1, 1, 2]
    assert costaware(*words).returncode == 0
    assert ok_runs(directory) == after, "a finished sweep did something"


def test_one_command_at_a_time(waiting: tuple[Path, list[str | Path]], tmp_path: Path) -> None:
    go, words = waiting
    first = started(*words)
    wait_until(lambda: len(ok_runs(tmp_path / "small")) == 3, first)
    second = costaware(*words)
    assert second.returncode == 2
    assert "another command works on it" in second.stderr
    busy = json.loads(costaware("status", tmp_path / "small", "--json").stdout)
    assert (busy["runs"]["ok"], busy["runs"]["running"]) == (3, 1)
    assert busy["eta_s"] >= 0
    go.touch()
    assert first.wait(timeout=60) == 0
