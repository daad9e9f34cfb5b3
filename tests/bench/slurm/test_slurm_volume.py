"""More jobs than an array may have, or than the cluster has room for. The last file, as its jobs stay known."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from fake_cluster import FakeCluster
from faults import costaware, sweep_file
from submitting import attempts, env_of, status, sweep, wait_for_rest

pytestmark = [pytest.mark.slurm, pytest.mark.xdist_group("slurm")]


def test_ten_thousand_runs(cluster: FakeCluster, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """More than an array may have, by far; the jobs are held, so that only the bookkeeping works."""
    file = sweep_file(tmp_path, ["pstar", "variance", "indicator"], seeds=2000)
    before, took = cluster.counted(), {}

    def timed(name: str, begun: float) -> None:
        took[name] = f"{time.monotonic() - begun:.2f} s"

    begun = time.monotonic()
    dry = sweep(cluster, file, out, "--dry-run")
    timed("dry run", begun)
    assert dry.stdout.count("an array of ") == 10
    assert not out.exists()
    begun = time.monotonic()
    done = sweep(cluster, file, out, "--resource", "sbatch.hold=true", "--jobs", "4")
    timed("submission", begun)
    assert done.returncode == 0, done.stderr
    assert "10000 jobs in 10 arrays" in done.stdout
    begun = time.monotonic()
    assert status(cluster, out / "small")["runs"]["queued"] == 10000
    timed("status", begun)
    calls = {name: number - before.get(name, 0) for name, number in cluster.counted().items()}
    assert calls["sbatch"] == 10
    assert calls["squeue"] == 2  # one by the sweep's report, one by status
    assert calls.get("sacct", 0) == 0
    begun = time.monotonic()
    again = sweep(cluster, file, out)
    timed("the same sweep again", begun)
    assert "submitted" not in again.stdout
    cancelled = costaware("cancel", out / "small", env=env_of(cluster))
    assert "cancelled 10000 jobs" in cancelled.stdout, cancelled.stderr
    found = wait_for_rest(cluster, out / "small")
    assert found["runs"]["failed"] == 10000
    assert {row["state"] for row in found["failed"]} == {"cancelled"}
    with capsys.disabled():
        print(f"\n10,000 runs: {took}")


@pytest.mark.slow
def test_full_queue(small_cluster: FakeCluster, out: Path, tmp_path: Path) -> None:
    """MaxJobCount: what finds room is submitted; sbatch tries the next array for two minutes, and no other after it."""
    file = sweep_file(tmp_path, ["pstar"], seeds=8)
    held = sweep(small_cluster, file, out, "--resource", "sbatch.hold=true")
    assert held.returncode == 1
    assert held.stderr.count("sbatch refuses: ") == 1
    assert "temporarily" in held.stderr
    found_room = len(attempts(out / "small"))  # twenty at most: Slurm counts a job or two more than there are
    assert found_room >= 16
    assert f"{24 - found_room} runs were not submitted" in held.stderr
    small_cluster.clear()
    small_cluster.forget()
    done = sweep(small_cluster, file, out, "--resource", "pack=8", "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    assert status(small_cluster, out / "small")["runs"]["ok"] == 24
