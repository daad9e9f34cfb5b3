"""Do the runs of a directory that are not done yet, on this machine."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.meter import Display
from bench.pool import Job, Outcome, run_jobs
from bench.progress import Progress
from bench.resources import Resources
from bench.rundir import GONE, RunDir
from bench.runner import execute, mark
from bench.spec import RunSpec
from suites import task as suites


@dataclass(frozen=True)
class Local:
    """A bounded pool of processes; `jobs` at a time."""

    jobs: int

    def outcomes(self, jobs: list[Job], progress: Progress) -> Generator[Outcome]:
        """Execute the jobs, and yield how each ended."""
        return run_jobs(jobs, self.jobs, progress.tick)


@dataclass(frozen=True)
class Debug:
    """In this process, one after the other: print and breakpoint() work. Without limits of time."""

    def outcomes(self, jobs: list[Job], progress: Progress) -> Generator[Outcome]:
        """Execute the jobs, and yield how each ended."""
        for job in jobs:
            progress.tick([job])
            execute(job.path)
            yield Outcome(job)


def launch(directory: Path, runs: Iterable[tuple[RunSpec, Resources]], backend: Local | Debug) -> list[str]:
    """Do what is not `ok` yet. Whatever happens to one run, the others go on; the records say how each ended.

    A run that failed is tried again by each launch, and `attempts` counts: what was mended outside the spec (an
    installation, a full disk, a node) can't be told from what was not.

    Returns:
        a line for each run whose directory can't be written to: no record of it can say so.
    """
    jobs, done, unwritable = [], 0, []
    worlds: dict[str, RunSpec] = {}
    for spec, limits in runs:
        run = RunDir(directory / spec.run_id)
        status = run.recorded_status()
        if status is not None and status.state == "ok":
            done += 1
            continue
        try:
            run.prepare(spec)
        except OSError as error:
            unwritable.append(f"{spec.run_id}: {run.path} can't be written to ({error.strerror})")
            continue
        worlds[json.dumps([spec.task, dict(spec.settings)])] = spec
        jobs.append(Job(run.path, limits.timeout_min and 60 * limits.timeout_min))
    for spec in worlds.values():
        with suppress(Exception):  # what can't be made here is recorded, with its cause, by the runs that need it
            suites.make(spec.task, spec.settings).prepare()
    with _terminable(), Display(done + len(jobs)) as display:
        progress = Progress(display, done, jobs)
        try:
            with closing(backend.outcomes(jobs, progress)) as outcomes:
                for outcome in outcomes:
                    if outcome.fault is not None:
                        with suppress(OSError):  # a full disk: the record stays at `running`, which reads `killed`
                            mark(outcome.job.path, outcome.fault, outcome.why)
                    progress.done(outcome.job)
        except KeyboardInterrupt:
            for job in jobs:
                status = RunDir(job.path).status()
                if status is not None and status.why == GONE:
                    mark(job.path, "cancelled", "interrupted")
            raise
    return unwritable


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM ends a launch as Ctrl-C does: workers are stopped and their runs are marked."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
