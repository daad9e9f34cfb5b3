"""What Slurm knows of a sweep's jobs: one squeue call, and one sacct call for what squeue has forgotten.

Jobs are found by their name, which is unique to a submission: a controller that was killed may give an id out again.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

Key = tuple[str, int]  # submission, index in its array

PATIENCE_S = 90  # a busy controller takes its time; clients give up after less by themselves
FIELDS = {"Name": 64, "ArrayJobID": 16, "ArrayTaskID": 16, "State": 24, "exit_code": 16, "NodeList": 64, "Reason": 64}
ACTIVE = frozenset(
    {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"}
    | {"REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT"}
)
WAITING = frozenset({"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "CONFIGURING"})
KEPT = ("SLURM_CONF", "SLURM_CLUSTERS")  # where the cluster is; all else of SLURM_* speaks of the job that we are in
OF_A_JOB = ("SLURM", "SRUN_", "SUBMITIT_", "SQUEUE_", "SACCT_", "PMI")
OF_A_RANK = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
MAX_ARRAY_SIZE = 1001  # Slurm's default
SHARE_OF_QUEUE = 10  # no array takes more than this part of MaxJobCount: it would not find room beside other jobs
OWN_CODES, LAST_SIGNAL = 2, 64  # a worker's Python ends with 0, 1, 2, or beyond the signals' numbers
AT_ONCE = 500  # ids in one scancel


class NoAnswer(OSError):
    """The scheduler can't be asked now; the message says why."""


@dataclass(frozen=True)
class Task:
    """An element of an array: a job.

    Attributes:
        array: Slurm's id of the array; `{array}_{index}` is the job's.
        exit_code: of its last attempt; 128 + n where signal n ended it.
        reason: why it waits, or why it ended.
    """

    submission: str
    index: int
    array: str
    state: str
    exit_code: int = 0
    node: str = ""
    reason: str = ""

    @property
    def job(self) -> str:
        """Slurm's id of this job."""
        return f"{self.array}_{self.index}"

    @property
    def active(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ACTIVE


def environment() -> dict[str, str]:
    """Our environment without what belongs to the job that we may be in; a submission would inherit it."""
    return {
        key: value
        for key, value in os.environ.items()
        if key in KEPT or not (key.startswith(OF_A_JOB) or key in OF_A_RANK)
    }


def look(wanted: Collection[Key], since: float) -> dict[Key, Task]:
    """What became of these jobs. One that is missing in the answer is unknown to the scheduler: it was lost.

    Args:
        wanted: the jobs.
        since: POSIX time of the first submission among them.

    Raises:
        NoAnswer: the controller does not answer.
    """
    if not wanted:
        return {}
    wide = ",".join(f"{name}:{width}" for name, width in FIELDS.items())
    names = sorted({name for name, _ in wanted})
    text = _ask("squeue", "--noheader", "--array", "--states=all", f"--name={','.join(names)}", f"--Format={wide}")
    found = {(task.submission, task.index): task for task in map(_from_squeue, text.splitlines())}
    forgotten = sorted({name for name, index in wanted if (name, index) not in found})
    if forgotten:
        ended = {(task.submission, task.index): task for task in _accounted(forgotten, since) if not task.active}
        found = ended | found
    return found


def _from_squeue(line: str) -> Task:
    cells, at = [], 0
    for width in FIELDS.values():
        cells.append(line[at : at + width].strip())
        at += width
    name, array, index, state, code, node, reason = cells
    return Task(name, int(index) if index.isdigit() else 0, array, state, _exit_code(code), node, reason)


def _accounted(names: Sequence[str], since: float) -> Iterator[Task]:
    """Jobs by sacct; none where the cluster keeps no accounts."""
    begin = datetime.fromtimestamp(since - 3600).strftime("%Y-%m-%dT%H:%M:%S")
    columns = "JobName,JobID,State,ExitCode,NodeList,Reason"
    words = ("--noheader", "--parsable2", "--allocations", f"--name={','.join(names)}", f"--starttime={begin}")
    try:
        text = _ask("sacct", *words, f"--format={columns}")
    except NoAnswer:
        return
    for line in text.splitlines():
        name, job, state, code, node, reason = line.split("|", 5)
        array, _, index = job.partition("_")
        for number in _indices(index):
            yield Task(name, number, array, state.split(" ")[0], _exit_code(code), node, reason)


def _indices(text: str) -> Iterator[int]:
    """`3`, or what a job that never started shows: `[4-9,12%2]`."""
    for part in text.strip("[]").partition("%")[0].split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            yield from range(int(first), int(last or first) + 1)


def _exit_code(text: str) -> int:
    """squeue's wait status `35072`, or sacct's `9:0` and `0:9`, as a shell's exit code.

    sacct takes 128 off what the batch script's shell made of a signal; a worker itself ends with none of these numbers.
    """
    code, colon, signal = text.partition(":")
    if colon:
        number = int(signal) or (int(code) if OWN_CODES < int(code) <= LAST_SIGNAL else 0)
        return 128 + number if number else int(code)
    status = int(code) if code.isdigit() else 0
    return 128 + (status & 0x7F) if status & 0x7F else status >> 8


def longest_array() -> int:
    """Jobs of one array: MaxArraySize at most, since indices stay below it, and a tenth of MaxJobCount."""
    shown = dict(re.findall(r"^(\w+)\s*=\s*(\d+)", _ask("scontrol", "show", "config"), flags=re.MULTILINE))
    longest = int(shown.get("MaxArraySize", MAX_ARRAY_SIZE))
    return max(1, min(longest, int(shown.get("MaxJobCount", SHARE_OF_QUEUE * longest)) // SHARE_OF_QUEUE))


def cancel(ids: Sequence[str]) -> None:
    """End jobs or whole arrays; one that has ended already is passed over."""
    for first in range(0, len(ids), AT_ONCE):
        _ask("scancel", "--quiet", *ids[first : first + AT_ONCE])


def state_of(job: str) -> str:
    """Slurm's state of one job, `RUNNING` say."""
    return _ask("squeue", "--noheader", "--states=all", f"--jobs={job}", "--format=%T").strip()


def requeue(job: str) -> None:
    """Let Slurm start this job again, later."""
    _ask("scontrol", "requeue", job)


def _ask(*words: str) -> str:
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=PATIENCE_S, env=environment() | {"LC_ALL": "C"}
        )
    except FileNotFoundError:
        raise NoAnswer(f"{words[0]} is not on this machine's PATH") from None
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"{words[0]} gave no answer within {PATIENCE_S} s") from None
    if done.returncode:
        raise NoAnswer(" ".join(done.stderr.split()) or f"{words[0]} ended with exit code {done.returncode}")
    return done.stdout
