"""A bounded pool of worker processes that outlives the death of any of them.

Each worker has a pipe of its own, so a killed one can neither keep a lock nor leave half a message to the others: pools
around one shared queue break or hang when a worker dies while it fetches a job, or while it idles. Workers are reused,
as importing torch takes seconds, and die with their parent, whatever ends that.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FrameType

from bench.faults import Fault, fault_of
from bench.rundir import RunDir
from bench.runner import execute, one_line
from suites.processes import die_with

TICK_S = 0.2


@dataclass(frozen=True)
class Job:
    """A run's directory, and the seconds after which the run is stopped (None: never)."""

    path: Path
    timeout_s: float | None = None


@dataclass(frozen=True)
class Outcome:
    """How a job ended; `fault` only where the worker itself could not record it."""

    job: Job
    fault: Fault | None = None
    why: str = ""


class Worker:
    """One process that executes runs one after the other."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy locks of torch's threads in any state
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, os.getpid()))
        self.process.start()
        theirs.close()
        self.job: Job | None = None
        self.deadline = float("inf")

    def give(self, job: Job) -> None:
        """Start a job."""
        self.job, self.deadline = job, time.monotonic() + (job.timeout_s or float("inf"))
        with suppress(BrokenPipeError):  # it died this instant: `outcome` finds out
            self.pipe.send(job.path)

    def outcome(self) -> Outcome | None:
        """How the job ended, None while it runs. After `killed` and `timeout` the worker is of no use any more."""
        assert self.job is not None
        if self.pipe.poll():
            try:
                return Outcome(self.job, *self.pipe.recv())
            except (EOFError, ConnectionResetError):
                return Outcome(self.job, "killed", self._last_words())
        if not self.process.is_alive():  # a child that it forked may keep the pipe open
            return Outcome(self.job, "killed", self._last_words())
        if time.monotonic() > self.deadline:
            return Outcome(self.job, "timeout", f"ran past its limit of {self.job.timeout_s:g} s")
        return None

    def _last_words(self) -> str:
        self.process.join()
        code = self.process.exitcode or 0
        if code >= 0:
            return f"its process ended with exit code {code} in the middle of the run"
        hint = "; the machine may have run out of memory" if code == -signal.SIGKILL else ""
        return f"its process was ended by {signal.Signals(-code).name}{hint}"

    def stop(self) -> None:
        """Kill the worker and whatever it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.pipe.close()


def run_jobs(jobs: Iterable[Job], size: int, tick: Callable[[list[Job]], None]) -> Generator[Outcome]:
    """Execute every job, at most `size` at a time; yields how each ended, as they end.

    Args:
        jobs: in the order in which they start.
        size: number of processes.
        tick: called a few times a second with the jobs that run.
    """
    waiting, idle, busy = deque(jobs), list[Worker](), list[Worker]()
    try:
        while waiting or busy:
            while waiting and len(busy) < size:
                busy.append(_living(idle))
                busy[-1].give(waiting.popleft())
            tick([worker.job for worker in busy if worker.job])
            wait([end for worker in busy for end in (worker.pipe, worker.process.sentinel)], timeout=TICK_S)
            for worker in list(busy):
                outcome = worker.outcome()
                if outcome is not None:
                    busy.remove(worker)
                    idle.append(worker)
                    if outcome.fault in ("killed", "timeout"):
                        worker.stop()
                    yield outcome
    finally:
        for worker in busy + idle:
            worker.stop()


def _living(idle: list[Worker]) -> Worker:
    while idle:
        worker = idle.pop()
        if worker.process.is_alive():
            return worker
        worker.stop()
    return Worker()


def _serve(pipe: Connection[tuple[Fault | None, str], Path], parent: int) -> None:
    """A process group of its own, which Ctrl-C does not reach (the parent decides), and death with the parent.

    So too with the signals that a batch system sends to all of a job's processes.
    """
    os.setpgid(0, 0)
    for number in (signal.SIGTERM, signal.SIGUSR2):
        signal.signal(number, _leave_it_to_the_parent)  # not SIG_IGN, which a run's own subprocesses would inherit
    die_with(parent)
    while True:
        try:
            path = pipe.recv()
        except EOFError:
            return
        pipe.send(_call(path))


def _leave_it_to_the_parent(number: int, frame: FrameType | None) -> None:
    pass


def _call(path: Path) -> tuple[Fault | None, str]:
    """Execute a run with its output in its log; returns what `execute` could not record itself: the fault and why."""
    try:
        with _output_to(RunDir(path).log_file):
            execute(path)
    except BaseException as error:
        return fault_of(error), one_line(error)
    return None, ""


@contextmanager
def _output_to(file: Path) -> Iterator[None]:
    """Send stdout and stderr to a file, by descriptor: what C code and subprocesses print lands there too."""
    kept = os.dup(1), os.dup(2)
    log = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.dup2(log, 1)
        os.dup2(log, 2)
        yield
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
        for descriptor in (log, *kept):
            os.close(descriptor)
