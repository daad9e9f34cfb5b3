"""A run that keeps a checkpoint goes on where its job was stopped, in the same job, queued again."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_cluster import FakeCluster, wait_until
from faults import costaware, plugin, sweep_file
from submitting import attempts, job_of, record, runs_of, same_records, sweep

pytestmark = [pytest.mark.slurm, pytest.mark.verl, pytest.mark.xdist_group("slurm")]
TASK = """
name = "verl/grpo@tiny"
baseline = "lingers"
aa = false
budget = 3e4
resources = {{ mem_gb = 2, timeout_min = {minutes} }}
"""
STEP = 10  # of about twenty: some evaluations are on record by then


def lines(run: Path) -> list[bytes]:
    file = run / "points.jsonl"
    return file.read_bytes().splitlines() if file.exists() else []


@pytest.mark.parametrize(("end", "minutes"), [("preempted", 20), pytest.param("timeout", 1.0, marks=pytest.mark.slow)])
def test_run_goes_on_from_its_checkpoint(
    cluster: FakeCluster, out: Path, tmp_path: Path, end: str, minutes: float
) -> None:
    from suites.verl import checkpoint

    go, there = str(tmp_path / "go"), tmp_path / "there"
    act = (
        "Misbehaved.calls = getattr(Misbehaved, 'calls', 0) + 1\n"
        f"        while Misbehaved.calls == {STEP} and not os.path.exists({go!r}):\n"
        f"            open({str(there)!r}, 'w').close(); time.sleep(0.05)"
    )
    lingers = plugin(tmp_path, "lingers", act)
    file = sweep_file(tmp_path, [], task=TASK.format(minutes=minutes) + 'methods = ["lingers"]\n')
    done = sweep(cluster, file, out, "--plugin", lingers)
    assert done.returncode == 0, done.stderr
    wait_until(there.exists, "the run lingers")
    (run,) = runs_of(out / "small", "lingers")
    kept = checkpoint.recorded(run)  # what comes after the last checkpoint is done again
    before = lines(run)[:kept]
    assert kept >= 2
    if end == "preempted":
        cluster.output("scancel", "--signal=USR2", job_of(out / "small", "lingers"))
    wait_until(lambda: record(out / "small", "lingers")["state"] == end, "the job was stopped")
    Path(go).touch()
    done = sweep(cluster, file, out, "--plugin", lingers, "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    assert lines(run)[:kept] == before, "what was on record has been done again"
    found = record(out / "small", "lingers")
    assert (found["attempts"], len(found["earlier"])) == (2, 1)
    assert found["earlier"][0].startswith(f"{end}: ")
    assert set(attempts(out / "small").values()) == {1}
    local = tmp_path / "local"
    assert costaware("sweep", file, "--plugin", lingers, "--out", local, "--no-board").returncode == 0
    same_records(out / "small", local / "small")
