"""What state a run is in, by three witnesses: its own record, the journal of submissions, and the scheduler."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from bench.faults import KINDS, Fault
from bench.journal import Attempt
from bench.rundir import RunDir, Status, is_locked
from bench.scheduler import WAITING, Key, Task
from bench.worker import CAN_NOT_RECORD

Standing = Literal["ok", "running", "queued", "failed", "missing", "not run"]

ENDS: Mapping[str, tuple[Fault, str]] = {
    "TIMEOUT": ("timeout", "its job {job} ran into its time limit"),
    "DEADLINE": ("timeout", "its job {job} ran into its deadline"),
    "OUT_OF_MEMORY": ("out of memory", "its job {job} took more memory than it had asked for"),
    "NODE_FAIL": ("node failure", "node {node} failed under its job {job}"),
    "BOOT_FAIL": ("node failure", "node {node} did not start for its job {job}"),
    "PREEMPTED": ("preempted", "its job {job} was preempted"),
    "CANCELLED": ("cancelled", "its job {job} was cancelled"),
    "REVOKED": ("cancelled", "its job {job} was revoked"),
}
OUT_OF_MEMORY = re.compile(  # in what Slurm itself writes into a job's output
    r"^(slurmstepd|srun|slurmd)\b.*(exceeded (job |step )?memory limit|oom[-_ ]kill|out[-_ ]of[-_ ]memory)",
    re.IGNORECASE | re.MULTILINE,
)
TAIL_BYTES = 8192
DECIDED_ELSEWHERE = ("cancelled", "preempted", "node failure")  # what ends a job whether or not a run has begun


@dataclass(frozen=True)
class Verdict:
    """Where a run stands.

    Attributes:
        status: its record as it is or should be; None where there was no attempt.
        active: a job of the batch system has it, or will.
        news: the attempt with its end, where the journal does not have it yet.
    """

    standing: Standing
    status: Status | None
    active: bool = False
    news: Attempt | None = None


def standing(status: Status | None) -> Standing:
    """What a record alone says."""
    if status is None:
        return "missing"
    if status.state in ("ok", "running", "not run"):
        return status.state
    return "failed"


def judge(run: RunDir, attempt: Attempt | None, tasks: Mapping[Key, Task] | None, log: Path | None = None) -> Verdict:
    """Weigh them.

    Args:
        run: its record is read after the scheduler was asked, so that it is the newer of the two.
        attempt: the last one that was submitted, None for a run of this machine only.
        tasks: the scheduler's answer, None if it gave none.
        log: what the job printed, where the reason may stand.
    """
    recorded = run.recorded_status()
    if attempt is None or (recorded is not None and recorded.state == "ok"):
        status = run.status()
        return Verdict(standing(status), status)
    own = recorded if recorded is not None and recorded.job == attempt.name else None
    if attempt.fault is not None:
        return _settled(run, recorded, own, attempt)
    if tasks is None:
        status = run.status()
        return Verdict("queued" if own is None else standing(status), status, active=True)
    task = tasks.get(attempt.key)
    if task is not None and task.active:
        return _active(own, recorded, task)
    return _ended(run, recorded, own, attempt, task, log)


def _settled(run: RunDir, recorded: Status | None, own: Status | None, attempt: Attempt) -> Verdict:
    """The journal knows how the attempt ended; a later run on this machine may have written a newer record."""
    assert attempt.fault is not None
    newer = recorded is not None and own is None and _time(recorded.started) > attempt.ended
    if newer or (own is not None and own.state != "running" and own.fault == attempt.fault):
        status = run.status()
        return Verdict(standing(status), status)
    return Verdict("failed", _with_end(recorded, attempt.fault, attempt.why))


def _active(own: Status | None, recorded: Status | None, task: Task) -> Verdict:
    if own is None or task.state in WAITING:
        return Verdict("queued", own or recorded, active=True)
    if own.state == "running":
        return Verdict("running", own, active=True)
    ended = own.state == "not run" or (own.fault is not None and not KINDS[own.fault].retried)
    return Verdict(standing(own) if ended else "queued", own, active=True)


def _ended(
    run: RunDir, recorded: Status | None, own: Status | None, attempt: Attempt, task: Task | None, log: Path | None
) -> Verdict:
    if is_locked(run.path):  # by a process that the scheduler has lost, or a command on this machine
        return Verdict("running", recorded)
    if own is not None and own.state == "not run":
        return Verdict("not run", own)
    fault, why = explained(attempt.job, task, log)
    if own is None:
        fault, why = (fault, why) if fault in DECIDED_ELSEWHERE else ("never started", f"it never started: {why}")
    elif own.state != "running" and (own.fault != "killed" or fault == "killed"):
        fault, why = own.fault or "python error", own.why
    news = replace(attempt, fault=fault, why=why)
    return Verdict("failed", _with_end(own or recorded, fault, why), news=news)


def explained(job: str, task: Task | None, log: Path | None) -> tuple[Fault, str]:
    """The fault and the reason of a job that has ended without its runs."""
    if task is None:
        return "killed", f"the scheduler has lost its job {job}"
    if task.state in ENDS:
        fault, why = ENDS[task.state]
        return fault, why.format(job=job, node=task.node or "?")
    if task.exit_code == CAN_NOT_RECORD:
        return "storage", f"its job {job} could not write its records: the disk is full or read-only"
    if log is not None and OUT_OF_MEMORY.search(_tail(log)):
        return "out of memory", f"its job {job} took more memory than it had asked for"
    if task.exit_code > 128:
        return "killed", f"its job {job} was ended by signal {task.exit_code - 128}"
    if task.exit_code:
        return "killed", f"its job {job} ended with exit code {task.exit_code}"
    return "killed", f"its job {job} ended without a word ({task.state}{f', {task.reason}' if task.reason else ''})"


def _with_end(status: Status | None, fault: Fault, why: str) -> Status:
    before = status or Status("running", attempts=0)
    return replace(before, state=KINDS[fault].state, fault=fault, why=why)


def _tail(file: Path) -> str:
    try:
        with file.open("rb") as handle:
            handle.seek(max(0, file.stat().st_size - TAIL_BYTES))
            return handle.read().decode(errors="replace")
    except OSError:
        return ""


def _time(started: str) -> float:
    return datetime.fromisoformat(started).timestamp() if started else 0.0
