"""Time for large boards: jobs in forked processes, which see the board without copying it, and no idle collections."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
_jobs: list[Callable[[], Any]] = []  # what the forked processes find; jobs hold the board, too large to send


@contextmanager
def without_collections() -> Iterator[None]:
    """Within, nothing looks for cycles: records are a million small objects, and have none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def spread(jobs: Sequence[Callable[[], T]]) -> Iterator[T]:
    """The results of independent jobs, in order; results travel between processes, so they should be small.

    In this process where there is one core or one job, or where the system can't fork.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    workers = min(cores, len(jobs))
    if workers < 2 or "fork" not in multiprocessing.get_all_start_methods():
        yield from (job() for job in jobs)
        return
    _jobs[:] = jobs
    gc.freeze()  # what is there stays: collecting it in every process would copy it into every process
    try:
        with multiprocessing.get_context("fork").Pool(workers) as pool:
            yield from pool.imap(_do, range(len(jobs)))
    finally:
        gc.unfreeze()
        _jobs.clear()


def _do(number: int) -> Any:
    return _jobs[number]()
