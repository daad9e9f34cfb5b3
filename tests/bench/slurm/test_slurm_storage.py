"""Full and read-only run directories: real file systems, mounted for the test (root writes through mode bits)."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fake_cluster import FakeCluster
from faults import costaware, plugin, sweep_file
from submitting import attempts, runs_of, same_records, status, sweep, wait_for_rest

pytestmark = [pytest.mark.slurm, pytest.mark.xdist_group("slurm")]


@contextmanager
def mounted(where: Path, *words: str) -> Iterator[None]:
    """`mount WORDS WHERE`, taken away at the end."""
    where.mkdir(parents=True, exist_ok=True)
    if subprocess.run(["mount", *words, str(where)], capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a file system")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(where)], check=True)


def complete(cluster: FakeCluster, file: Path, out: Path, tmp_path: Path, *words: str | Path) -> None:
    """The same command ends in the records of a local sweep."""
    done = sweep(cluster, file, out, *words, "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    assert costaware("sweep", file, *words, "--out", tmp_path / "local", "--no-board").returncode == 0
    same_records(out / "small", tmp_path / "local" / "small")


def test_full_disk(cluster: FakeCluster, out: Path, tmp_path: Path) -> None:
    """The first attempt fills the 4 MB of the sweep's directory; even the record of that can't be written."""
    junk, did = out / "small" / "junk", tmp_path / "did"
    act = f"os.path.exists({str(did)!r}) or (open({str(did)!r}, 'w').close(), os.system('cat /dev/zero >{junk}'))"
    fills = plugin(tmp_path, "fills", act)
    file = sweep_file(tmp_path, ["fills"])
    with mounted(out / "small", "-t", "tmpfs", "-o", "size=4m", "tmpfs"):
        assert sweep(cluster, file, out, "--plugin", fills, "--resource", "pack=3").returncode == 0
        found = wait_for_rest(cluster, out / "small")
        (row,) = [row for row in found["failed"] if row["method"] == "fills"]
        assert row["state"] == "failed"
        assert "disk is full" in row["why"] or "No space left" in row["why"]
        full = sweep(cluster, file, out, "--plugin", fills)
        assert full.returncode in (1, 2)
        assert "No space left" in full.stderr
        junk.unlink()
        complete(cluster, file, out, tmp_path, "--plugin", fills)


def test_read_only_sweep_directory(cluster: FakeCluster, out: Path, tmp_path: Path) -> None:
    """It turns read-only while the jobs wait: they can't even open their logs."""
    file = sweep_file(tmp_path, ["pstar"])
    assert sweep(cluster, file, out, "--resource", "sbatch.hold=true", "--resource", "pack=3").returncode == 0
    directory = out / "small"
    with mounted(directory, "--bind", str(directory)):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(directory)], check=True)
        cluster.output("scontrol", "release", "JobId=" + cluster.output("squeue", "-h", "-t", "PD", "-o", "%F"))
        found = wait_for_rest(cluster, directory)
        assert found["runs"]["failed"] == 3
        assert {row["state"] for row in found["failed"]} == {"failed"}
        assert all("never started" in row["why"] for row in found["failed"])
        refused = sweep(cluster, file, out)
        assert refused.returncode == 2
        assert "can't be written to" in refused.stderr
    complete(cluster, file, out, tmp_path)


def test_read_only_directory_of_one_run(cluster: FakeCluster, out: Path, tmp_path: Path) -> None:
    """It costs that run only, in the submission as in a job that is under way."""
    file = sweep_file(tmp_path, ["pstar", "variance"])
    assert sweep(cluster, file, out, "--resource", "sbatch.hold=true", "--resource", "pack=4").returncode == 0
    (run,) = runs_of(out / "small", "pstar")
    with mounted(run, "--bind", str(run)):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(run)], check=True)
        cluster.output("scontrol", "release", "JobId=" + cluster.output("squeue", "-h", "-t", "PD", "-o", "%F"))
        found = wait_for_rest(cluster, out / "small")
        assert found["runs"]["ok"] == 3
        (row,) = found["failed"]
        assert (row["run"], row["state"]) == (run.name, "failed")
        assert "full or read-only" in row["why"]
        again = sweep(cluster, file, out)
        assert again.returncode == 1
        assert "Read-only file system" in again.stderr
        assert status(cluster, out / "small")["runs"]["failed"] == 1
    complete(cluster, file, out, tmp_path)
    assert sorted(attempts(out / "small").values()) == [1, 1, 1, 2]
