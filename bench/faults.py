"""How an attempt at a run can end badly, and what follows from that."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

State = Literal["running", "ok", "failed", "timeout", "oom", "killed", "preempted", "cancelled", "not run"]
Fault = Literal[
    "python error",
    "timeout",
    "out of memory",
    "killed",
    "node failure",
    "storage",
    "preempted",
    "cancelled",
    "never started",
]


@dataclass(frozen=True)
class Kind:
    """What a fault means.

    Args:
        state: what the run's record says.
        retried: whether the next attempt may end otherwise, with all that the run's spec fixes unchanged.
        counted: whether that attempt is one of the bounded retries; nobody's fault is not.
    """

    state: State
    retried: bool = True
    counted: bool = True


KINDS: Mapping[Fault, Kind] = {
    "python error": Kind("failed", retried=False),
    "timeout": Kind("timeout"),
    "out of memory": Kind("oom"),
    "killed": Kind("killed"),
    "node failure": Kind("killed"),
    "storage": Kind("failed"),
    "preempted": Kind("preempted", counted=False),
    "cancelled": Kind("cancelled", counted=False),
    "never started": Kind("failed"),
}
STORAGE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE, errno.ENOTCONN, errno.ENODEV})


def fault_of(error: BaseException) -> Fault:
    """The fault that an exception of a run stands for."""
    if isinstance(error, OSError) and error.errno in STORAGE:
        return "storage"
    named = "OutOfMemory" in type(error).__name__ or "can't allocate memory" in str(error)  # torch: CUDA, CPU
    return "out of memory" if isinstance(error, MemoryError) or named else "python error"
