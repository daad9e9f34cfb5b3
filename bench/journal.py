"""DIR/jobs.jsonl: which job of the batch system makes which run, and how each attempt ended.

Lines are only ever appended, of two kinds: {run, attempt, submission, index, job, mem_gb, timeout_min, time} when a run
is submitted, {run, submission, index, fault, why, time} when its attempt has ended badly.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.faults import KINDS, Fault
from bench.scheduler import Key

NAME = "jobs.jsonl"


@dataclass(frozen=True)
class Attempt:
    """A job that was submitted to do a run; `fault` and `why` once it is known to have ended badly.

    Args:
        job: Slurm's id of it, `54_3`.
        attempt: 1 for the first submission of the run.
        mem_gb, timeout_min: what it asked for.
        time: of the submission, POSIX.
    """

    run: str
    submission: str
    index: int
    job: str
    attempt: int
    time: float
    mem_gb: float | None = None
    timeout_min: float | None = None
    fault: Fault | None = None
    why: str = ""
    ended: float = 0.0

    @property
    def key(self) -> Key:
        """How the scheduler module names the job."""
        return self.submission, self.index

    @property
    def name(self) -> str:
        """What a run's record calls the job."""
        return job_name(self.submission, self.index)


def job_name(submission: str, index: int) -> str:
    """The name of a job that stays unique when the batch system gives its numbers out again."""
    return f"{submission}/{index}"


Journal = dict[str, list[Attempt]]  # run id -> its attempts, the newest last


def read(directory: Path) -> Journal:
    """All attempts; a half-written last line is left out."""
    journal: Journal = {}
    try:
        lines = (directory / NAME).read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return journal
    for tree in map(json.loads, lines):
        attempts = journal.setdefault(tree["run"], [])
        if "fault" in tree:
            _end(attempts, tree)
        else:
            attempts.append(Attempt(**tree))
    return journal


def _end(attempts: list[Attempt], tree: Mapping[str, Any]) -> None:
    for at, attempt in enumerate(attempts):
        if attempt.key == (tree["submission"], tree["index"]):
            attempts[at] = replace(attempt, fault=tree["fault"], why=tree["why"], ended=tree["time"])


def submitted(directory: Path, attempts: Iterable[Attempt]) -> None:
    """Append the lines of a submission."""
    keys = ("run", "attempt", "submission", "index", "job", "mem_gb", "timeout_min", "time")
    _append(directory, ({key: getattr(attempt, key) for key in keys} for attempt in attempts))


def ended(directory: Path, attempts: Iterable[Attempt]) -> None:
    """Append how attempts ended: their `fault`, `why` and `ended`."""
    keys = ("run", "submission", "index", "fault", "why")
    _append(directory, ({key: getattr(a, key) for key in keys} | {"time": a.ended} for a in attempts))


def _append(directory: Path, trees: Iterable[Mapping[str, Any]]) -> None:
    """Add lines in one write behind the last whole line: what a killed writer or a full disk left half goes."""
    data = "".join(json.dumps(tree) + "\n" for tree in trees).encode()
    if not data:
        return
    path = directory / NAME
    with path.open("r+b" if path.exists() else "w+b") as file:
        whole = file.read().rfind(b"\n") + 1
        file.seek(whole)
        file.truncate()
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            os.truncate(path, whole)
            raise


def retries(attempts: Iterable[Attempt]) -> int:
    """How many attempts failed for what a retry may mend."""
    return sum(1 for a in attempts if a.fault is not None and KINDS[a.fault].retried and KINDS[a.fault].counted)
