"""How far a long piece of work is: a bar on a terminal, else a line now and then. On stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.progress import LINE_EVERY_S, clock, si

SHOW_AFTER_S = 1.0  # what is done sooner needs no bar


@contextmanager
def meter(what: str, total: float, unit: str) -> Iterator[Callable[..., None]]:
    """Yields advance(amount=1), to be called as `unit`s of the `total` get done; rate and time left are shown."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    begun = spoken = time.monotonic()
    done = 0.0
    columns = (BarColumn(bar_width=24), TextColumn("{task.percentage:>3.0f}% {task.description}"))
    bar = Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    task = bar.add_task(what, total=total, visible=False)

    def advance(amount: float = 1) -> None:
        nonlocal done, spoken
        done += amount
        now = time.monotonic()
        if now - begun < SHOW_AFTER_S:
            return
        rate = done / (now - begun)
        left = f"{clock((total - done) / rate)} left" if rate else "time left unknown"
        line = f"{what}: {si(done)} of {si(total)} {unit}, {si(rate)}/s, {left}"
        bar.update(task, completed=done, description=line, visible=True)
        if bar.disable and now - spoken > LINE_EVERY_S:
            spoken = now
            print(line, file=sys.stderr, flush=True)

    with bar:
        yield advance
