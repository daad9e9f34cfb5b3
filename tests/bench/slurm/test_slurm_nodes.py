"""Jobs of several nodes: one worker, on the first; what a run starts on the others ends with the job."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_cluster import FakeCluster, wait_until
from faults import costaware, plugin, sweep_file
from submitting import env_of, status, sweep, wait_for_rest

pytestmark = [pytest.mark.slurm, pytest.mark.xdist_group("slurm")]
STEP = ["srun", "--overlap", "--mem=0", "--nodes=1", "--ntasks=1"]


def test_run_starts_steps_on_its_other_nodes(cluster: FakeCluster, out: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"
    tells = plugin(
        tmp_path,
        "tells",
        "import json, subprocess\n"
        f"        step = {STEP!r}\n"
        "        nodes = subprocess.check_output(['scontrol', 'show', 'hostnames'], text=True).split()\n"
        "        ask = lambda node: [*step, '--nodelist=' + node, 'printenv', 'SLURMD_NODENAME']\n"
        "        names = [subprocess.check_output(ask(node), text=True) for node in nodes]\n"
        f"        json.dump([nodes, names, dict(os.environ)], open({str(seen)!r}, 'w'))",
    )
    file = sweep_file(tmp_path, ["tells"])
    words = ("--plugin", tells, "--resource", "nodes=2", "--resource", "cpus=2", "--resource", "mem_gb=1")
    done = sweep(cluster, file, out, *words, "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    nodes, names, environment = json.loads(seen.read_text())
    assert nodes == ["n1", "n2"]
    assert [name.strip() for name in names] == nodes
    assert environment["SLURM_JOB_NODELIST"] == "n[1-2]"
    assert environment["SLURM_JOB_NUM_NODES"] == "2"
    assert environment["SLURM_PROCID"] == "0"
    assert environment["SLURMD_NODENAME"] == "n1"


def test_cancel_ends_the_steps_of_all_nodes(cluster: FakeCluster, out: Path, tmp_path: Path) -> None:
    marker = "3599.25"  # seconds of a sleep that nobody else sleeps
    sleeps = plugin(
        tmp_path,
        "sleeps",
        f"import subprocess; subprocess.run({[*STEP, '--nodelist=n2', 'sleep', marker]!r})",
    )
    file = sweep_file(tmp_path, ["sleeps"])
    words = ("--plugin", sleeps, "--resource", "nodes=2", "--resource", "mem_gb=1")
    assert sweep(cluster, file, out, *words).returncode == 0
    wait_until(lambda: "sleep" in _commands(cluster, "n2", marker), "the step on the second node")
    wait_until(lambda: _counts(cluster, out) == {"ok": 2, "running": 1}, "only the sleeper goes on")
    done = costaware("cancel", out / "small", env=env_of(cluster))
    assert done.returncode == 0, done.stderr
    wait_until(lambda: not _commands(cluster, "n2", marker), "the step ends")
    found = wait_for_rest(cluster, out / "small")
    assert [row["state"] for row in found["failed"] if row["method"] == "sleeps"] == ["cancelled"]


def _counts(cluster: FakeCluster, out: Path) -> dict[str, int]:
    return {state: number for state, number in status(cluster, out / "small")["runs"].items() if number}


def _commands(cluster: FakeCluster, node: str, word: str) -> list[str]:
    """First words of the commands on a node that have `word` among theirs."""
    found = []
    for pid in cluster.processes_of(node):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        except OSError:
            continue
        found += [Path(words[0]).name] if word in words else []
    return found
