"""verl's own trainer over two nodes of an allocation: ray spans them, and nothing of it outlives the job."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from fake_cluster import FakeCluster, wait_until
from submitting import record, runs_of, sweep

pytestmark = [pytest.mark.slurm, pytest.mark.verl, pytest.mark.xdist_group("slurm")]
SWEEP = """
methods = ["none"]
baseline = "none"
aa = false

[[tasks]]
name = "verl/grpo@cpu-smoke"
budget = 900
settings = { nodes = 2, gpus = 1 }
resources = { nodes = 2, cpus = 2, mem_gb = 7.5, timeout_min = 10 }
"""


def test_verls_trainer_spans_two_nodes(cluster: FakeCluster, out: Path, tmp_path: Path) -> None:
    file = tmp_path / "two-nodes.toml"
    file.write_text(SWEEP)
    done = sweep(cluster, file, out, "--wait")
    (run,) = runs_of(out / "two-nodes", "none")
    log = run / "verl" / "output.log"
    assert done.returncode == 0, (done.stdout, done.stderr, log.read_text()[-3000:] if log.exists() else "")
    assert record(out / "two-nodes", "none")["state"] == "ok"
    points = [json.loads(line) for line in (run / "points.jsonl").read_text().splitlines()]
    assert [point["phase"] for point in points].count("train") >= 2
    assert "nodes.log" in {file.name for file in (run / "verl").iterdir()}  # what the other node said
    wait_until(lambda: not _running(cluster), "both nodes are empty")


def _running(cluster: FakeCluster) -> list[str]:
    """What runs on the nodes, Slurm's own daemons aside."""
    found = []
    for pid in (*cluster.processes_of("n1"), *cluster.processes_of("n2")):
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            found += [] if words[0].startswith("slurm") else [" ".join(words)]
    return found
