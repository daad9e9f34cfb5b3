"""What goes wrong in one run is recorded for what it is, and stops no other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest
from faults import TASK, costaware, plugin, started, sweep_file

from bench import records

# strategy -> (what it does, recorded state, what the reason says)
FAULTS = {
    "raises": ("raise ValueError('no such luck')", "failed", "ValueError: no such luck"),
    "leaves": ("sys.exit(0)", "failed", "SystemExit: 0"),
    "grabs": ("np.empty(1 << 58)", "oom", "Unable to allocate"),
    "exits": ("os._exit(3)", "killed", "exit code 3"),
    "dies": ("os.kill(os.getpid(), signal.SIGKILL)", "killed", "ended by SIGKILL"),
    "crashes": ("os.kill(os.getpid(), signal.SIGSEGV)", "killed", "ended by SIGSEGV"),
    "sleeps": ("time.sleep(600)", "timeout", "ran past its limit of 9 s"),
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    """A sweep in which everything goes wrong that can."""
    folder = tmp_path_factory.mktemp("faulty")
    files = [plugin(folder, name, act) for name, (act, _, _) in FAULTS.items()]
    file = sweep_file(
        folder, ["sleeps", *FAULTS, "pstar"], task=f"name = {TASK!r}\nresources = {{ timeout_min = 0.15 }}"
    )
    words = [word for path in files for word in ("--plugin", path)]
    return costaware("sweep", file, *words, "--jobs", 2, "--out", folder, "--no-board"), folder / "small"


@pytest.fixture(scope="module")
def runs(faulty: tuple[subprocess.CompletedProcess[str], Path]) -> pd.DataFrame:
    return records.load([faulty[1]]).runs.set_index(["method", "repeat"])


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_recorded_with_its_reason(runs: pd.DataFrame, name: str) -> None:
    _, state, why = FAULTS[name]
    row = runs.loc[(name, 0)]
    assert row["state"] == state
    assert why in row["why"]
    assert "\n" not in row["why"]


@pytest.mark.parametrize("cell", [("uniform", 0), ("uniform", 1), ("pstar", 0)])
def test_others_go_on(runs: pd.DataFrame, cell: tuple[str, int]) -> None:
    assert runs.loc[cell, "state"] == "ok"


def test_command_says_what_failed(faulty: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    done, directory = faulty
    assert done.returncode == 1
    assert "Traceback" not in done.stdout + done.stderr
    for name, (_, state, why) in FAULTS.items():
        line = next(line for line in done.stdout.splitlines() if f"with {name}:" in line)
        assert f" {state}: " in line
        assert why in line
        assert str(directory) in line


def test_log_holds_the_traceback(faulty: tuple[subprocess.CompletedProcess[str], Path], runs: pd.DataFrame) -> None:
    log = (Path(runs.loc[("raises", 0), "dir"]) / "log.txt").read_text()
    assert "Traceback" in log
    assert "no such luck" in log


def test_status_names_the_failed(faulty: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    status = json.loads(costaware("status", faulty[1], "--json").stdout)
    assert status["runs"] == {"ok": 3, "running": 0, "queued": 0, "failed": len(FAULTS), "missing": 0, "not run": 0}
    assert {row["state"] for row in status["failed"]} == {state for _, state, _ in FAULTS.values()}
    assert all(Path(row["log"]).is_file() for row in status["failed"])


def test_output_of_a_run_goes_to_its_log(tmp_path: Path) -> None:
    noisy = plugin(tmp_path, "noisy-one", "print('from python'); os.system('echo from a subprocess')")
    words = ("--strategy", "noisy-one", "--plugin", noisy)
    done = costaware("run", TASK, *words, "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    log = (Path(json.loads(done.stdout)["dir"]) / "log.txt").read_text()
    assert "from python" in log
    assert "from a subprocess" in log


def test_killed_worker_costs_its_own_run_only(tmp_path: Path) -> None:
    """kill -9 from outside, as the kernel does when memory is short."""
    notes = tmp_path / "pids"  # one file a worker: two runs wait at the same time
    notes.mkdir()
    waits = plugin(tmp_path, "waits", f"open({str(notes)!r} + f'/{{os.getpid()}}', 'w').close(); time.sleep(600)")
    process = started("sweep", sweep_file(tmp_path, ["waits", "pstar"], seeds=2), "--plugin", waits, "--out", tmp_path,
                      "--no-board")  # fmt: skip
    killed: set[str] = set()
    while process.poll() is None:
        for worker in {path.name for path in notes.iterdir()} - killed:
            killed.add(worker)
            os.kill(int(worker), signal.SIGKILL)
        time.sleep(0.05)
    assert process.returncode == 1
    runs = records.load([tmp_path / "small"]).runs
    assert dict(runs.groupby("method")["state"].unique().map(list)) == {
        "pstar": ["ok"],
        "uniform": ["ok"],
        "waits": ["killed"],
    }
    assert len(killed) == 2


def test_death_shows_although_a_child_keeps_the_pipe_open(tmp_path: Path) -> None:
    """A forked child inherits all descriptors of the worker: the worker's end of the pipe does not close with it."""
    act = "os.fork() == 0 and time.sleep(600); os.kill(os.getpid(), signal.SIGKILL)"
    forks = plugin(tmp_path, "forks", act)
    words = ("--strategy", "forks", "--plugin", forks)
    done = costaware("run", TASK, *words, "--out", tmp_path, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["state"] == "killed"
