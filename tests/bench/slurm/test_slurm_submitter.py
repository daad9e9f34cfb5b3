"""The submitter dies, or its code changes, while the jobs wait: nothing is lost, nothing runs twice."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fake_cluster import FakeCluster, wait_until
from faults import ROOT, costaware, plugin, sweep_file
from submitting import ON_SLURM, attempts, env_of, record, same_records, status, sweep, wait_for_rest

pytestmark = [pytest.mark.slurm, pytest.mark.xdist_group("slurm")]


def submitter(
    cluster: FakeCluster, file: Path, out: Path, first_on_path: Path | None = None
) -> subprocess.Popen[bytes]:
    """A detached sweep in a process group of its own."""
    env = env_of(cluster)
    env |= {"PATH": f"{first_on_path}{os.pathsep}{env['PATH']}"} if first_on_path else {}
    words = [sys.executable, "-m", "bench.cli", "sweep", str(file), *ON_SLURM, "--out", str(out)]
    return subprocess.Popen(words, env=env, cwd=ROOT, start_new_session=True, stdout=subprocess.DEVNULL)


def complete(cluster: FakeCluster, file: Path, out: Path, tmp_path: Path) -> None:
    """The same command ends in a complete grid, each run done once, with a local sweep's records."""
    done = sweep(cluster, file, out, "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    assert costaware("sweep", file, "--out", tmp_path / "local", "--no-board").returncode == 0
    same_records(out / "small", tmp_path / "local" / "small")
    statuses = [json.loads(path.read_text()) for path in (out / "small").glob("*/status.json")]
    assert {tree["attempts"] for tree in statuses} == {1}
    assert set(attempts(out / "small").values()) == {1}


def test_submitter_killed_right_after_submission(cluster: FakeCluster, out: Path, tmp_path: Path) -> None:
    file = sweep_file(tmp_path, ["pstar", "variance"])
    process = submitter(cluster, file, out)
    wait_until((out / "small" / "jobs.jsonl").exists, "the submission is in the journal")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    complete(cluster, file, out, tmp_path)


@pytest.mark.parametrize("accepted", [True, False])
def test_submitter_killed_in_the_middle(cluster: FakeCluster, out: Path, tmp_path: Path, accepted: bool) -> None:
    """While its sbatch runs: Slurm has the array and the journal has not, or neither has it."""
    there, real = tmp_path / "there", shutil.which("sbatch", path=env_of(cluster)["PATH"])
    slow = tmp_path / "slow"
    slow.mkdir()
    submit = f'{real} "$@" || exit 1\n' if accepted else ""
    (slow / "sbatch").write_text(f"#!/bin/sh\n{submit}touch {there}\nexec sleep 600\n")
    (slow / "sbatch").chmod(0o755)
    file = sweep_file(tmp_path, ["pstar", "variance"])
    process = submitter(cluster, file, out, slow)
    wait_until(there.exists, "sbatch is half-way")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (out / "small" / "jobs.jsonl").exists()
    complete(cluster, file, out, tmp_path)
    assert len(list((out / "small" / "jobs").iterdir())) == (1 if accepted else 2)


def test_late_jobs_of_a_submission_that_was_given_up_do_nothing(
    cluster: FakeCluster, out: Path, tmp_path: Path
) -> None:
    file = sweep_file(tmp_path, ["pstar"])
    assert sweep(cluster, file, out, "--resource", "sbatch.hold=true").returncode == 0
    assert status(cluster, out / "small")["waits_for"] == {"JobHeldUser": 3}
    shown = costaware("status", out / "small", env=env_of(cluster)).stdout
    assert "jobs wait for: 3 JobHeldUser" in shown.splitlines()
    (folder,) = (out / "small" / "jobs").iterdir()
    (folder / "withdrawn").touch()
    cluster.output("scontrol", "release", next(iter(journal_jobs(out / "small"))).partition("_")[0])
    found = wait_for_rest(cluster, out / "small")
    assert found["runs"]["failed"] == 3
    assert all("never started" in row["why"] for row in found["failed"])
    assert sweep(cluster, file, out, "--wait").returncode == 0


def journal_jobs(directory: Path) -> list[str]:
    return [json.loads(line)["job"] for line in (directory / "jobs.jsonl").read_text().splitlines()]


def test_strategy_edited_after_submission(cluster: FakeCluster, out: Path, tmp_path: Path) -> None:
    mine = plugin(tmp_path, "mine", "pass")
    file, before = sweep_file(tmp_path, ["mine"]), mine.read_text()
    held = sweep(cluster, file, out, "--plugin", mine, "--resource", "sbatch.hold=true")
    assert held.returncode == 0, held.stderr
    mine.write_text(before + "# a better idea\n")
    cluster.output("scontrol", "release", journal_jobs(out / "small")[0].partition("_")[0])
    found = wait_for_rest(cluster, out / "small")
    (row,) = found["failed"]
    assert (row["method"], row["state"]) == ("mine", "failed")
    assert "has changed since the run was specified" in row["why"]
    done = sweep(cluster, file, out, "--plugin", mine, "--wait")  # the new content is another run
    assert done.returncode == 0, done.stdout + done.stderr
    assert status(cluster, out / "small")["runs"]["ok"] == 3
    mine.write_text(before)  # and the old content is the old run again
    assert sweep(cluster, file, out, "--plugin", mine, "--wait").returncode == 0
    assert costaware("sweep", file, "--plugin", mine, "--out", tmp_path / "local", "--no-board").returncode == 0
    same_records(out / "small", tmp_path / "local" / "small")


def test_snapshot_runs_the_code_as_it_was(cluster: FakeCluster, out: Path, tmp_path: Path) -> None:
    mine = plugin(tmp_path, "mine", "pass")
    file, words = sweep_file(tmp_path, ["mine"]), ("--plugin", mine, "--snapshot")
    assert sweep(cluster, file, out, *words, "--resource", "sbatch.hold=true").returncode == 0
    mine.write_text("raise RuntimeError('half an idea')\n")
    cluster.output("scontrol", "release", journal_jobs(out / "small")[0].partition("_")[0])
    assert wait_for_rest(cluster, out / "small")["runs"]["ok"] == 3
    git = record(out / "small", "mine")["git"]
    assert git["copy"].startswith(str(out / "small" / "code"))
    assert git["root"] == str(ROOT)
