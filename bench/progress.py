"""Progress of a launch, read from the records that the runs write: no channel of its own to any worker."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from bench.pool import Job
from bench.rundir import RunDir

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

LINE_EVERY_S = 10.0  # off a terminal


class Progress:
    """A bar with tokens, rate and time left; off a terminal, a line now and then. All on stderr."""

    def __init__(self, done: int, jobs: list[Job]) -> None:
        self.before, self.left, self.finished = done, len(jobs), 0
        self.tokens, self.running_tokens, self.running_share = 0.0, 0.0, 0.0
        self.begun = self.spoken = time.monotonic()
        self.bar = _bar(done, done + len(jobs)) if sys.stderr.isatty() else None

    def __enter__(self) -> Self:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def tick(self, running: list[Job]) -> None:
        """Look at the runs that are being done."""
        seen = [_seen(job) for job in running]
        self.running_tokens = sum(tokens for tokens, _ in seen)
        self.running_share = sum(share for _, share in seen)
        self._show()

    def done(self, job: Job) -> None:
        """Count a run that has ended."""
        self.finished += 1
        self.tokens += _seen(job)[0]
        self._show()

    def line(self) -> str:
        """E.g. `12/60 runs, 3.1M backward tokens, 220k/s, 1:20 left`."""
        elapsed = time.monotonic() - self.begun
        tokens, share = self.tokens + self.running_tokens, self.finished + self.running_share
        left = f"{clock(elapsed * (self.left - share) / share)} left" if share else "time left unknown"
        total = self.before + self.left
        rate = tokens / elapsed if elapsed else 0.0
        return f"{self.before + self.finished}/{total} runs, {si(tokens)} backward tokens, {si(rate)}/s, {left}"

    def _show(self) -> None:
        if self.bar is not None:
            share = self.before + self.finished + self.running_share
            self.bar.update(self.bar.task_ids[0], completed=share, description=self.line())
        elif time.monotonic() - self.spoken > LINE_EVERY_S:
            self.spoken = time.monotonic()
            print(self.line(), file=sys.stderr, flush=True)


def _bar(done: int, total: int) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(bar_width=24), TextColumn("{task.percentage:>3.0f}% {task.description}"))
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    bar.add_task("", total=total, completed=done)
    return bar


def _seen(job: Job) -> tuple[float, float]:
    """Backward tokens that a run has on record, and their share of its budget (0 where it has none)."""
    run = RunDir(job.path)
    point, status = run.last_point(), run.recorded_status()
    tokens = float(point["backward"]) if point else 0.0
    budget = status.budget if status else None
    return tokens, min(tokens / budget, 1.0) if budget else 0.0


def clock(seconds: float) -> str:
    """Seconds as m:ss or h:mm:ss."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def si(number: float) -> str:
    """A count to three digits, with k, M, G, T."""
    for unit in ("", "k", "M", "G"):
        if number < 999.5:
            return f"{number:.3g}{unit}"
        number /= 1000
    return f"{number:.3g}T"
