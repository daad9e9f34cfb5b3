"""Progress of long work on stderr: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

QUIET_SECONDS = 20.0


@contextmanager
def track(total: int, label: str) -> Iterator[Callable[[int], None]]:
    """Yields `advance(steps)`."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
        with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:
            bar = progress.add_task(label, total=total)
            yield lambda steps: progress.advance(bar, steps)
    else:
        yield _lines(total, label)


def _lines(total: int, label: str) -> Callable[[int], None]:
    done, told = 0, time.monotonic()

    def advance(steps: int) -> None:
        nonlocal done, told
        done += steps
        if time.monotonic() - told > QUIET_SECONDS or done == total:
            told = time.monotonic()
            print(f"{label}: {done}/{total}", file=sys.stderr, flush=True)

    return advance
