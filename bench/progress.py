"""Progress of a launch, read from the records that the runs write: no channel of its own to any worker."""

from __future__ import annotations

import time

from bench.meter import Display, pace, si
from bench.pool import Job
from bench.rundir import RunDir


class Progress:
    """Counts what a launch has done, and shows it with tokens, rate and time left."""

    def __init__(self, display: Display, done: int, jobs: list[Job]) -> None:
        self.display, self.before, self.left = display, done, len(jobs)
        self.finished, self.tokens = 0, 0.0
        self.running: dict[Job, tuple[float, float]] = {}
        self.begun = time.monotonic()

    def tick(self, running: list[Job]) -> None:
        """Look at the runs that are being done."""
        self.running = {job: _seen(job) for job in running}
        self._show()

    def done(self, job: Job) -> None:
        """Count a run that has ended."""
        self.running.pop(job, None)
        self.finished += 1
        self.tokens += _seen(job)[0]
        self._show()

    def _show(self) -> None:
        share = self.finished + sum(share for _, share in self.running.values())
        self.display.show(self.before + share, self.line(share))

    def line(self, share: float) -> str:
        """E.g. `12/60 runs, 3.1M backward tokens, 220k/s, 1:20 left`; `share`: runs done, parts of runs included."""
        elapsed = time.monotonic() - self.begun
        tokens = self.tokens + sum(tokens for tokens, _ in self.running.values())
        runs = f"{self.before + self.finished}/{self.before + self.left} runs"
        return f"{runs}, {si(tokens)} backward tokens, {pace(tokens, elapsed, share, self.left)}"


def _seen(job: Job) -> tuple[float, float]:
    """Backward tokens that a run has on record, and their share of its budget (0 where it has none)."""
    run = RunDir(job.path)
    point, status = run.last_point(), run.recorded_status()
    tokens = float(point["backward"]) if point else 0.0
    budget = status.budget if status else None
    return tokens, min(tokens / budget, 1.0) if budget else 0.0
