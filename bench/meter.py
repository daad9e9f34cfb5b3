"""How far a long piece of work is: a bar on a terminal, else a line every so often. On stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

LINE_EVERY_S = 10.0  # off a terminal
SHOW_AFTER_S = 1.0  # what is done sooner needs no bar


@contextmanager
def meter(what: str, total: float, unit: str) -> Iterator[Callable[..., None]]:
    """Yields advance(amount=1), to be called as `unit`s of the `total` get done; rate and time left are shown."""
    begun, done = time.monotonic(), 0.0
    with Display(total) as display:

        def advance(amount: float = 1) -> None:
            nonlocal done
            done += amount
            elapsed = time.monotonic() - begun
            if elapsed > SHOW_AFTER_S:
                line = f"{what}: {si(done)} of {si(total)} {unit}, {pace(done, elapsed, done, total)}"
                display.show(done, line)

        yield advance


class Display:
    """A bar on a terminal; elsewhere a line every so often. On stderr."""

    def __init__(self, total: float) -> None:
        self.spoken = time.monotonic()
        self.bar = _bar(total) if sys.stderr.isatty() else None

    def __enter__(self) -> Self:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def show(self, done: float, line: str) -> None:
        """How much of the total is done, and the line that says so."""
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=done, description=line, visible=True)
        elif time.monotonic() - self.spoken > LINE_EVERY_S:
            self.spoken = time.monotonic()
            print(line, file=sys.stderr, flush=True)


def _bar(total: float) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(bar_width=24), TextColumn("{task.percentage:>3.0f}% {task.description}"))
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    bar.add_task("", total=total, visible=False)
    return bar


def pace(amount: float, elapsed: float, done: float, total: float) -> str:
    """E.g. `220k/s, 1:20 left`: amount a second so far, and the time that the rest of `total` takes at this pace."""
    rate = amount / elapsed if elapsed else 0.0
    left = f"{clock(elapsed * (total - done) / done)} left" if done else "time left unknown"
    return f"{si(rate)}/s, {left}"


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
