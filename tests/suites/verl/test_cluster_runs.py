"""verl's own trainer, for real: ray, FSDP2, a rollout server, weight sync and validation on two cores."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from suites.verl.cluster import state
from suites.verl.cluster.node import VARIABLE

pytestmark = [pytest.mark.verl, pytest.mark.xdist_group("ray")]
slow = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]
BENCHMARK = "acc/chain-sum"


def command(setting: str, method: str, out: Path, *more: str) -> list[str]:
    words = [sys.executable, "-m", "bench.cli", "run", f"verl/{setting}@cpu-smoke", "--strategy", method]
    return [*words, "--out", str(out), "--json", *more]


def run(words: list[str]) -> dict[str, Any]:
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def points(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "points.jsonl").read_text().splitlines()]


def verls_metrics(directory: Path) -> dict[int, dict[str, float]]:
    files = sorted((directory / "verl").glob("metrics-*.jsonl"))
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return {line["step"]: line["data"] for line in lines}


def left_behind(directory: Path) -> list[str]:
    """Living processes of a run: ray's and verl's inherit from the driver where its metrics go."""
    import psutil

    found = []
    for process in psutil.process_iter():
        try:
            if str(directory) in process.environ().get("VERL_FILE_LOGGER_PATH", ""):
                found.append(f"{process.pid} {process.name()}")
        except psutil.Error:
            continue
    return found


def wait(for_: Callable[[], Any], seconds: float = 300) -> Any:
    end = time.monotonic() + seconds
    while not (found := for_()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)
    return found


@pytest.mark.parametrize(
    ("setting", "method", "ranks"),
    [
        ("grpo+zvf", "pstar", 1),
        ("cispo", "pps:draws=0.5", 2),
        pytest.param("grpo", "pstar", 1, marks=slow),
        pytest.param("grpo", "none", 2, marks=slow),
        pytest.param("grpo", "knapsack", 1, marks=slow),
        pytest.param("grpo", "nonzero", 2, marks=slow),
        pytest.param("cispo+zvf", "smoothed", 1, marks=slow),
    ],
)
def test_verls_trainer_runs_and_is_accounted_for(setting: str, method: str, ranks: int, tmp_path: Path) -> None:
    outcome = run(command(setting, method, tmp_path, "--set", f"gpus={ranks}"))
    directory = Path(outcome["dir"])
    assert outcome["state"] == "ok", (outcome["why"], (directory / "verl" / "output.log").read_text()[-3000:])
    assert left_behind(directory) == []
    assert not (directory / "checkpoints").exists()
    found = points(directory)
    steps = [point for point in found if point["phase"] == "train"]
    evaluations = [point for point in found if point["phase"] == "eval"]
    assert len(steps) >= 3
    assert [point["step"] for point in steps] == list(range(1, len(steps) + 1))

    # The ledger is what the actor was fed.
    spent = [0.0] + [point["backward"] for point in steps]
    for (before, after), point in zip(pairwise(spent), steps, strict=True):
        shown = point["diagnostics"]
        fed = shown["actor/tokens"] * ranks * (2 - shown["empty_updates"])
        assert after - before == pytest.approx(fed)
        assert shown["training/rollout_probs_diff_max"] < 1e-3  # the server samples from the trainer's weights
        assert point["draws"] % 1 == 0
    if setting.endswith("zvf"):
        assert all(point["diagnostics"]["zero_advantage"] == 0 for point in steps)
    assert steps[-1]["forward"] > 0
    assert steps[-1]["generated"] > 0

    # Evaluations stand at the marks, and are verl's own.
    assert [point["step"] for point in evaluations] == sorted({point["step"] for point in evaluations})
    assert evaluations[0]["step"] == 0
    assert evaluations[-1]["backward"] >= 2000 > spent[-2]
    metrics = verls_metrics(directory)
    for point in evaluations:
        assert point["metric"] == BENCHMARK
        assert point["value"] == pytest.approx(metrics[point["step"]]["val-core/chain-sum/acc/mean@4"])
    assert metrics[1]["sampling/ledger/backward"] == steps[0]["backward"]


@slow
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_stopped_and_run_again_loses_and_doubles_nothing(stop: signal.Signals, tmp_path: Path) -> None:
    words = command("grpo", "pstar", tmp_path, "--budget", "6000", "--set", "evaluations=6")
    first = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    checkpoint = wait(lambda: sorted(tmp_path.glob("*/checkpoints/*/costaware.json")))[0]
    directory = checkpoint.parents[2]
    seen = len(points(directory))
    wait(lambda: len(points(directory)) > seen + 1)
    first.send_signal(stop)
    first.wait()
    wait(lambda: not left_behind(directory), seconds=60)
    before, stood = points(directory), state.recorded(directory)
    assert 0 < stood < len(before)
    outcome = run(words)
    assert outcome["state"] == "ok", outcome["why"]
    after = points(directory)
    trained = [point["step"] for point in after if point["phase"] == "train"]
    assert trained == list(range(1, len(trained) + 1))
    evaluated = [point["step"] for point in after if point["phase"] == "eval"]
    assert evaluated == sorted(set(evaluated))
    assert after[:stood] == before[:stood]  # what the checkpoint stands behind was not done again
    assert after[stood]["phase"] == "eval"  # its evaluation comes next
    assert after[stood] != before[stood]
    assert left_behind(directory) == []
    assert json.loads((directory / "status.json").read_text())["attempts"] == 2


@slow
def test_a_run_joins_the_ray_of_its_allocation(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    head = [sys.executable, "-m", "suites.verl.cluster.node", "--head", "--port", str(port)]
    quiet = {"RAY_TMPDIR": tempfile.mkdtemp(prefix="car-"), "RAY_AUTH_MODE": "disabled", "PYTHONPATH": str(ROOT)}
    node = subprocess.Popen([*head, "--num-cpus", "32", "--num-gpus", "1"], env=os.environ | quiet)
    try:
        wait(lambda: answers(port), seconds=120)
        words = command("grpo", "pstar", tmp_path)
        done = subprocess.run(words, env=os.environ | {VARIABLE: f"127.0.0.1:{port}"}, capture_output=True, text=True)
        outcome = json.loads(done.stdout)
        assert outcome["state"] == "ok", outcome["why"]
        wait(lambda: not left_behind(Path(outcome["dir"])), seconds=60)  # ray itself stays, the run's processes go
        assert node.poll() is None
    finally:
        node.terminate()
        node.wait()
        shutil.rmtree(quiet["RAY_TMPDIR"], ignore_errors=True)


def answers(port: int) -> bool:
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


def test_a_cause_is_one_line_and_nothing_is_left(tmp_path: Path) -> None:
    words = command("grpo", "pstar", tmp_path, "--set", f"model={tmp_path}")
    outcome = run(words)
    assert outcome["state"] == "failed"
    assert "TrainerFailed" in outcome["why"]
    assert "output.log" in outcome["why"]
    assert left_behind(Path(outcome["dir"])) == []
    assert os.path.exists(Path(outcome["dir"]) / "verl" / "output.log")
