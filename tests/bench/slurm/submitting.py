"""Commands of the tests on a fake cluster."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fake_cluster import FakeCluster, wait_until
from faults import ENVIRONMENT, costaware, tables

from bench import journal

ON_SLURM = ("--cluster", "slurm", "--no-board")
LONG_S = 600  # for a command that waits for jobs


def env_of(cluster: FakeCluster) -> dict[str, str]:
    """The environment of commands on a cluster."""
    return ENVIRONMENT | {key: cluster.env[key] for key in ("SLURM_CONF", "PATH")}


def sweep(cluster: FakeCluster, file: Path, out: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """`costaware sweep` on Slurm, detached unless `--wait` is among the words."""
    return costaware("sweep", file, *ON_SLURM, "--out", out, *words, env=env_of(cluster), timeout=LONG_S)


def status(cluster: FakeCluster, directory: Path) -> dict[str, Any]:
    """`costaware status --json`."""
    done = costaware("status", directory, "--json", env=env_of(cluster))
    assert done.returncode == 0, done.stderr
    tree: dict[str, Any] = json.loads(done.stdout)
    return tree


def wait_for_rest(cluster: FakeCluster, directory: Path) -> dict[str, Any]:
    """The status once nothing is queued or running any more."""
    found: list[dict[str, Any]] = []

    def rests() -> bool:
        found[:] = [status(cluster, directory)]
        return not (found[0]["runs"]["queued"] or found[0]["runs"]["running"])

    wait_until(rests, "no run is queued or running")
    return found[0]


def runs_of(directory: Path, method: str) -> Iterator[Path]:
    """Directories of a method's runs."""
    for file in directory.glob("*/spec.json"):
        if json.loads(file.read_text())["method"] == method:
            yield file.parent


def record(directory: Path, method: str) -> dict[str, Any]:
    """status.json of a method's only run."""
    (run,) = runs_of(directory, method)
    tree: dict[str, Any] = json.loads((run / "status.json").read_text())
    return tree


def job_of(directory: Path, method: str) -> str:
    """Slurm's id of the last job of a method's only run."""
    (run,) = runs_of(directory, method)
    return journal.read(directory)[run.name][-1].job


def attempts(directory: Path) -> dict[str, int]:
    """Run -> submissions in the journal."""
    return {run: len(those) for run, those in journal.read(directory).items()}


def same_records(one: Path, other: Path) -> None:
    """Both sweeps are complete, with the same points and statuses."""
    import pandas as pd

    mine, theirs = tables(one), tables(other)
    assert set(mine[1]["state"]) == {"ok"}
    for a, b in zip(mine, theirs, strict=True):
        pd.testing.assert_frame_equal(a, b)
