"""Sweeps on a real Slurm of two fake nodes: complete, nothing twice, few questions to the scheduler."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fake_cluster import FakeCluster, wait_until
from faults import ROOT, TASK, costaware, plugin, sweep_file
from submitting import (
    LONG_S,
    ON_SLURM,
    attempts,
    env_of,
    same_records,
    status,
    sweep,
    wait_for_rest,
)

pytestmark = [pytest.mark.slurm, pytest.mark.xdist_group("slurm")]
PACKED = f"name = {TASK!r}\nresources = {{ timeout_min = 2, pack = 20 }}"


def test_sweep_on_slurm_equals_a_local_one(cluster: FakeCluster, out: Path, tmp_path: Path) -> None:
    file = sweep_file(tmp_path, ["pstar", "variance"], seeds=2)
    done = sweep(cluster, file, out, "--resource", "pack=3", "--resource", "timeout_min=2", "--wait")
    assert done.returncode == 0, done.stderr
    assert costaware("sweep", file, "--out", tmp_path / "local", "--no-board").returncode == 0
    same_records(out / "small", tmp_path / "local" / "small")
    found = json.loads(next((out / "small").glob("*/status.json")).read_text())
    assert found["git"]["root"] == str(ROOT)
    assert found["job"].startswith("costaware-small-")
    lines = [json.loads(line) for line in (out / "small" / "jobs.jsonl").read_text().splitlines()]
    assert {"run", "job", "attempt"} <= set(lines[0])
    assert [line["attempt"] for line in lines] == [1] * 8
    assert len({line["job"] for line in lines}) == 3
    again = sweep(cluster, file, out, "--wait")
    assert again.returncode == 0, again.stderr
    assert "submitted" not in again.stdout + again.stderr
    assert set(attempts(out / "small").values()) == {1}


def test_200_short_runs_on_two_nodes(
    cluster: FakeCluster, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = sweep_file(tmp_path, ["pstar", "variance", "indicator"], seeds=40, task=PACKED)
    before, begun = cluster.counted(), time.monotonic()
    done = sweep(cluster, file, out, "--resource", "cpus=4", "--wait")
    took = time.monotonic() - begun
    assert done.returncode == 0, done.stderr
    calls = {name: number - before.get(name, 0) for name, number in cluster.counted().items()}
    found = status(cluster, out / "small")
    assert found["runs"]["ok"] == 200
    with capsys.disabled():
        print(f"\n200 runs in {took:.1f} s; calls: {calls}")
    assert calls["sbatch"] == 1
    assert calls.get("squeue", 0) + calls.get("sacct", 0) <= 2 + took / 5, "busy polling"
    nodes = cluster.output("squeue", "-h", "-t", "all", "-r", "-o", "%j %N")
    used = {line.split()[1] for line in nodes.splitlines() if line.startswith(f"{_name(out)} ")}
    assert used == {"n1", "n2"}


def _name(out: Path) -> str:
    (folder,) = (out / "small" / "jobs").iterdir()
    return folder.name


def test_submission_inside_another_job(cluster: FakeCluster, out: Path, tmp_path: Path) -> None:
    """What Slurm sets for that job must not reach the jobs that it submits."""
    seen = tmp_path / "seen"
    tells = plugin(tmp_path, "tells", f"open({str(seen)!r}, 'w').write(repr(dict(os.environ)))")
    file = sweep_file(tmp_path, ["tells"])
    words = ["sweep", file, *ON_SLURM, "--out", out, "--plugin", tells, "--wait"]
    outer = ["srun", "--cpus-per-task=3", "--mem=2000", "--job-name=outer", sys.executable, "-m", "bench.cli"]
    leaking = env_of(cluster) | {"SLURM_ARRAY_TASK_ID": "7", "MASTER_PORT": "1"}
    done = subprocess.run(
        [*outer, *map(str, words)], env=leaking, cwd=ROOT, capture_output=True, text=True, timeout=LONG_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    environment = eval(seen.read_text())
    assert environment["SLURM_JOB_NAME"].startswith("costaware-small-")
    assert environment["SLURM_MEM_PER_CPU"] == "1000"  # the cluster's default, not the outer job's
    assert "SLURM_MEM_PER_NODE" not in environment
    assert environment.get("SLURM_CPUS_PER_TASK", "1") == "1"
    assert "MASTER_PORT" not in environment


def test_two_submitters_at_the_same_time(cluster: FakeCluster, out: Path, tmp_path: Path) -> None:
    file = sweep_file(tmp_path, ["pstar"], seeds=3)
    command = [sys.executable, "-m", "bench.cli", "sweep", str(file), *ON_SLURM, "--out", str(out)]
    options = {"env": env_of(cluster), "cwd": ROOT, "stderr": subprocess.PIPE, "text": True}
    both = [subprocess.Popen([*command, "--resource", "pack=3"], **options) for _ in range(2)]
    for process in both:
        error = process.communicate(timeout=LONG_S)[1]
        assert process.returncode == 0 or "another command works on it" in error
    assert set(attempts(out / "small").values()) == {1}
    assert wait_for_rest(cluster, out / "small")["runs"]["ok"] == 9
    statuses = [json.loads(path.read_text()) for path in (out / "small").glob("*/status.json")]
    assert {tree["attempts"] for tree in statuses} == {1}


def test_second_sweep_while_one_waits(cluster: FakeCluster, out: Path, tmp_path: Path) -> None:
    go = tmp_path / "go"
    waits = plugin(tmp_path, "waits", f"while not os.path.exists({str(go)!r}): time.sleep(0.05)")
    file = sweep_file(tmp_path, ["waits"])
    command = [
        sys.executable,
        "-m",
        "bench.cli",
        "sweep",
        str(file),
        *ON_SLURM,
        "--out",
        str(out),
        "--plugin",
        str(waits),
    ]
    process = subprocess.Popen([*command, "--wait"], env=env_of(cluster), cwd=ROOT)
    wait_until((out / "small" / "jobs.jsonl").exists, "a submission")
    second = sweep(cluster, file, out, "--plugin", waits)
    assert second.returncode == 2
    assert "another command works on it" in second.stderr
    go.touch()
    assert process.wait(LONG_S) == 0
    assert set(attempts(out / "small").values()) == {1}
