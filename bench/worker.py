"""`python -m bench.worker PLAN`: what a job of a plan does. Its runs one after the other, each in a child process.

The child may die of anything; this process stays, and records how the run ended. It stops on SIGUSR2 (the job's time
ends, or its place is wanted) and on SIGTERM (it was cancelled, or is being preempted): a run keeps what is on record.
Where it can go on from there, the job is queued again.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.faults import Fault
    from bench.plans import Plan
    from bench.pool import Job, Outcome

CAN_NOT_RECORD = 74  # exit code (EX_IOERR): tells the scheduler what a full disk keeps us from writing down
TOLD_TO_END = "its job was told to end (SIGTERM)"
FOR_GOOD = ("python error", "out of memory", "storage", "never started")
BEGUN = time.monotonic()


class Told(BaseException):
    """This process shall end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _tell(number: int, frame: FrameType | None) -> None:
    for other in (signal.SIGTERM, signal.SIGUSR2):
        signal.signal(other, signal.SIG_IGN)
    raise Told(number)


def main(file: Path) -> int:
    """Do the runs of this job; returns its exit code."""
    from bench import plans
    from bench.journal import job_name
    from bench.runner import JOB

    plan, index = plans.read(file), int(os.environ.get("SLURM_ARRAY_TASK_ID", "0"))
    if plan.withdrawn:
        print("this submission was given up: nothing to do", flush=True)
        return 0
    os.environ[JOB] = job_name(plan.name, index)
    return Pack(plan, index, os.environ[JOB]).work()


class Pack:
    """The runs of one job."""

    def __init__(self, plan: Plan, index: int, name: str) -> None:
        from bench.pool import Job

        self.plan, self.index, self.name = plan, index, name
        self.job = f"{os.environ.get('SLURM_ARRAY_JOB_ID', '')}_{index}"
        self.code, self.finished, self.again = 0, 0, False
        self.parent = os.getppid()
        self.running: list[Job] = []
        if int(os.environ.get("SLURM_RESTART_COUNT", "0")):
            self._note_the_last_end()
        limit = plan.resources.timeout_min
        paths = [plan.directory / run for run in plan.packs[index]]
        self.jobs = [Job(path, limit and 60 * limit) for path in paths if self._is_open(path)]
        self.points = {job: _points(job.path) for job in self.jobs}

    def work(self) -> int:
        """Do them; returns the exit code of the job."""
        from bench.pool import run_jobs

        try:
            with closing(run_jobs(self.jobs, 1, self._tick)) as outcomes:
                for outcome in outcomes:
                    self._end(outcome)
        except Told as told:
            self._stop(told.number)
        if self.again:
            self._requeue()
        return self.code

    def _tick(self, running: list[Job]) -> None:
        self.running = running
        if os.getppid() != self.parent:  # slurmstepd is gone, and this job with it: it may run elsewhere already
            os._exit(1)

    def _end(self, outcome: Outcome) -> None:
        self.finished += 1
        if outcome.fault == "timeout" and self._advanced(outcome.job):
            self.again = True
            self._mark(outcome.job, "timeout", f"{outcome.why}; goes on from what is on record")
        elif outcome.fault is not None:
            self._mark(outcome.job, outcome.fault, outcome.why)
        print(f"{outcome.job.path.name}: {outcome.why or 'done'}", flush=True)

    def _stop(self, number: int) -> None:
        """SIGTERM or SIGUSR2 has interrupted the run that was being done; its process is gone."""
        from bench.rundir import RunDir

        fault, why = self._reason(number)
        self.again = self.again or fault == "preempted"
        for job in self.running:
            status = RunDir(job.path).recorded_status()
            if status is not None and status.state == "running" and status.job == self.name:
                self.again = self.again or (fault == "timeout" and (self.finished > 0 or self._advanced(job)))
                self._mark(job, fault, why)
        if number == signal.SIGTERM:
            self.code = self.code or 128 + number

    def _reason(self, number: int) -> tuple[Fault, str]:
        """Why this job shall end."""
        from bench import scheduler

        if number == signal.SIGUSR2:
            if self._at_its_limit():
                return "timeout", f"its job ran into its limit of {self.plan.job_min} min"
            return "preempted", "its job's place was wanted (SIGUSR2)"
        try:
            state = scheduler.state_of(self.job)
        except scheduler.NoAnswer:
            state = ""
        if state == "RUNNING":  # it has some time left, as preempted jobs have
            return "preempted", f"its job {self.job} was preempted"
        return "killed", TOLD_TO_END  # the scheduler, asked later, says by what

    def _at_its_limit(self) -> bool:
        from bench.plans import SIGNAL_S

        limit = self.plan.job_min
        return limit is not None and time.monotonic() - BEGUN > 60 * limit - 2.5 * SIGNAL_S

    def _advanced(self, job: Job) -> bool:
        """Whether the run has got further in this job, in a task that can go on from there."""
        from bench.rundir import RunDir

        status = RunDir(job.path).recorded_status()
        return status is not None and status.resumes and _points(job.path) > self.points[job]

    def _mark(self, job: Job, fault: Fault, why: str) -> None:
        from bench.runner import mark

        try:
            mark(job.path, fault, why)
        except OSError as error:
            self.code = CAN_NOT_RECORD
            print(f"{job.path.name}: {why}; can't be recorded: {error}", flush=True)

    def _note_the_last_end(self) -> None:
        """Slurm has started this job again: what it was doing before had no time to say what ended it."""
        from bench.pool import Job
        from bench.rundir import RunDir

        for path in (self.plan.directory / run for run in self.plan.packs[self.index]):
            status = RunDir(path).status()
            if status is not None and status.job == self.name and status.fault == "killed":
                told = status.why == TOLD_TO_END
                why = "its job was queued again" if told else "its node failed, and Slurm started its job again"
                self._mark(Job(path), "preempted" if told else "node failure", why)

    def _is_open(self, path: Path) -> bool:
        """Whether a run is to be done: not what this job, started again, has brought to its end before."""
        from bench.rundir import RunDir

        status = RunDir(path).recorded_status()
        if status is None or status.job != self.name:
            return True
        return status.state not in ("ok", "not run") and status.fault not in FOR_GOOD

    def _requeue(self) -> None:
        from bench import scheduler

        try:
            scheduler.requeue(self.job)
        except scheduler.NoAnswer as why:
            print(f"job {self.job} can't be queued again: {why}; the next sweep will submit what is left", flush=True)


def _points(path: Path) -> int:
    file = path / "points.jsonl"
    return file.read_bytes().count(b"\n") if file.is_file() else 0


if __name__ == "__main__":  # a spawned child imports this module, and must not start the job again
    for number in (signal.SIGTERM, signal.SIGUSR2):  # before anything that takes time
        signal.signal(number, _tell)
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # as the command does
    try:
        code = main(Path(sys.argv[1]))
    except Told as told:
        code = 128 + told.number
    sys.exit(code)
