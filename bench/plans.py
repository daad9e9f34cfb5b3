"""A submission: one array of jobs of equal resources, each with its pack of runs. Written down before it is submitted.

DIR/jobs/NAME/plan.json is all that a job needs, and its path is all that crosses to it. A plan whose jobs are not in
the journal belongs to a submitter that died half-way: the scheduler, asked for the name, says whether it got through.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from typing import Any

from bench.resources import Resources
from bench.rundir import read_json, write_json
from bench.spec import RunSpec

SIGNAL_S = 60  # before its end a job gets SIGUSR2, and Slurm may be this much early
START_MIN = 2.0  # for a job's own beginning and end, beside its runs
WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class Plan:
    """One array.

    Args:
        directory: the sweep's, absolute.
        name: unique; the jobs' name in the batch system.
        packs: ids of the runs of each job, done one after the other.
        resources: of a job; `timeout_min` is that of each of its runs.
        root: where the jobs import the code from.
        parallel: jobs that run at the same time; None leaves it to the batch system.
    """

    directory: Path
    name: str
    packs: tuple[tuple[str, ...], ...]
    resources: Resources
    root: Path
    parallel: int | None = None
    time: float = 0.0

    @property
    def folder(self) -> Path:
        return self.directory / "jobs" / self.name

    @property
    def file(self) -> Path:
        return self.folder / "plan.json"

    @property
    def job_min(self) -> int | None:
        """Minutes of a job: its runs' limits, and room for the signal that may come a minute early."""
        limit = self.resources.timeout_min
        longest = max(map(len, self.packs))
        return None if limit is None else ceil(limit * longest + START_MIN + 2 * SIGNAL_S / 60)

    def write(self) -> None:
        """Write plan.json, before anything is submitted."""
        self.folder.mkdir(parents=True)
        write_json(self.file, asdict(self) | {"directory": None, "root": str(self.root)})

    def withdraw(self) -> None:
        """Give the plan up: its jobs, should they be in the batch system after all, do nothing."""
        (self.folder / WITHDRAWN).touch()

    @property
    def withdrawn(self) -> bool:
        return (self.folder / WITHDRAWN).exists()


def read(file: Path) -> Plan:
    """The plan of a plan.json; its directory is where the file lies."""
    tree: dict[str, Any] = read_json(file)
    resources = Resources(**tree["resources"])
    packs = tuple(map(tuple, tree["packs"]))
    found = {"directory": file.parents[2], "root": Path(tree["root"]), "packs": packs, "resources": resources}
    return Plan(**(tree | found))


def any_in(directory: Path) -> bool:
    """Whether anything of a sweep was ever on its way to a batch system."""
    return (directory / "jobs").is_dir()


def unrecorded(directory: Path, known: set[str]) -> Iterator[Plan]:
    """Plans of DIR whose name is not among `known` and that nobody has withdrawn."""
    for file in sorted((directory / "jobs").glob("*/plan.json")):
        if file.parent.name not in known:
            plan = read(file)
            if not plan.withdrawn:
                yield plan


def arrays(
    directory: Path,
    runs: Sequence[tuple[RunSpec, Resources]],
    root: Path,
    longest: int,
    parallel: int | None = None,
) -> list[Plan]:
    """Plans for the runs: an array per distinct resources, none with more than `longest` jobs."""
    groups: dict[str, tuple[Resources, list[str]]] = {}
    for spec, resources in runs:
        same = json.dumps(asdict(resources), sort_keys=True)
        groups.setdefault(same, (resources, []))[1].append(spec.run_id)
    plans = []
    for resources, ids in groups.values():
        packs = [tuple(ids[at : at + resources.pack]) for at in range(0, len(ids), resources.pack)]
        for at in range(0, len(packs), longest):
            chunk = tuple(packs[at : at + longest])
            plans.append(Plan(directory, new_name(directory), chunk, resources, root, parallel, time.time()))
    return plans


def new_name(directory: Path) -> str:
    """A name for a submission, unlike any other."""
    stem = re.sub(r"[^A-Za-z0-9.-]", "-", directory.name)[:24]
    return f"costaware-{stem}-{secrets.token_hex(6)}"


def log_name(job: str) -> str:
    """The file in a plan's folder with what job `54_3` itself printed; its runs' output is in their own logs."""
    return f"{job}_0_log.out"
