"""With slurmdbd: what the controller has forgotten, and a limit on submitted jobs."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_cluster import FakeCluster, wait_until
from faults import plugin, sweep_file
from submitting import attempts, job_of, record, runs_of, status, sweep

from bench import journal

pytestmark = [pytest.mark.slurm, pytest.mark.slurm_accounts, pytest.mark.xdist_group("slurm")]


def test_accounts_know_what_the_controller_forgot(accounting_cluster: FakeCluster, out: Path, tmp_path: Path) -> None:
    """And job numbers that are given out again mislead nobody."""
    cluster, go = accounting_cluster, tmp_path / "go"
    unless = f"os.path.exists({str(go)!r}) or"
    dies = plugin(tmp_path, "dies", f"{unless} (os.kill(os.getppid(), signal.SIGKILL), time.sleep(600))")
    sleeps = plugin(tmp_path, "sleeps", f"{unless} time.sleep(600)")
    file, words = sweep_file(tmp_path, ["dies", "sleeps"]), ("--plugin", dies, "--plugin", sleeps)
    assert sweep(cluster, file, out, *words).returncode == 0
    directory = out / "small"
    wait_until(lambda: [(run / "status.json").exists() for run in runs_of(directory, "sleeps")] == [True], "it runs")
    cluster.output("scancel", job_of(directory, "sleeps"))
    wait_until(lambda: not cluster.output("squeue", "-h"), "all jobs end")
    wait_until(lambda: "CANCELLED" in cluster.output("sacct", "-n", "-X", "-o", "State%20"), "the accounts have it")
    cluster.forget()
    cluster.output("sbatch", "--array=0-9", "-o", "/dev/null", "--wrap", "exit 0")  # takes the numbers
    found = status(cluster, directory)
    whys = {row["method"]: (row["state"], row["why"]) for row in found["failed"]}
    assert whys.keys() == {"dies", "sleeps"}
    assert whys["dies"][0] == "killed"
    assert "was ended by signal 9" in whys["dies"][1]
    assert whys["sleeps"][0] == "cancelled"
    go.touch()
    done = sweep(cluster, file, out, *words, "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(attempts(directory).values()) == [1, 1, 2, 2]
    assert record(directory, "dies")["attempts"] == 2


def test_submit_limit(accounting_cluster: FakeCluster, out: Path, tmp_path: Path) -> None:
    """Six jobs where four are allowed: what has no room is said, and comes later."""
    file = sweep_file(tmp_path, ["pstar"], seeds=2)
    done = sweep(accounting_cluster, file, out, "--resource", "qos=small", "--resource", "sbatch.hold=true")
    assert done.returncode == 1
    assert "sbatch refuses" in done.stderr
    assert "2 runs were not submitted" in done.stderr
    assert len(attempts(out / "small")) == 4
    assert len(list((out / "small" / "jobs").iterdir())) == len(set(accounts_jobs(out / "small")))
    accounting_cluster.output("scontrol", "release", *sorted(set(accounts_jobs(out / "small"))))
    done = sweep(accounting_cluster, file, out, "--resource", "qos=small", "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    assert status(accounting_cluster, out / "small")["runs"]["ok"] == 6
    assert set(attempts(out / "small").values()) == {1}


def accounts_jobs(directory: Path) -> list[str]:
    """Slurm's ids of the arrays."""
    return [those[0].job.partition("_")[0] for those in journal.read(directory).values()]
