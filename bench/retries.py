"""Which runs a batch system shall do again, and with how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench import journal
from bench.faults import KINDS
from bench.journal import Attempt
from bench.judge import Verdict
from bench.resources import Resources

GROWTH = 2.0  # of memory or time, each time that it was too little
MEM_GB = 4.0  # taken for what a cluster gives by default, where a run that needs more did not say how much


@dataclass(frozen=True)
class Policy:
    """When to try again.

    Args:
        retries: attempts beyond the first that may fail for the machine's reasons; preemptions don't count.
        failed: also try again what failed by its own error, could not run, or has no retries left.
        cancelled: also what somebody cancelled.
    """

    retries: int = 3
    failed: bool = False
    cancelled: bool = True

    def takes(self, verdict: Verdict, attempts: Sequence[Attempt]) -> bool:
        """Whether a run is to be submitted (again)."""
        if verdict.active or verdict.standing in ("ok", "running", "queued"):
            return False
        if verdict.standing == "missing" or verdict.status is None:
            return True
        fault = verdict.status.fault
        if fault == "cancelled":
            return self.cancelled
        if self.failed:
            return True
        if fault is None or not KINDS[fault].retried:
            return False
        return not self.exhausted(attempts)

    def exhausted(self, attempts: Sequence[Attempt]) -> bool:
        """Whether a run has failed more often than it may."""
        return journal.retries(attempts) > self.retries


def grown(resources: Resources, attempts: Sequence[Attempt]) -> Resources:
    """The resources of the next attempt: twice the memory for each that had too little of it, likewise the time."""
    starved = sum(attempt.fault == "out of memory" for attempt in attempts)
    late = sum(attempt.fault == "timeout" for attempt in attempts)
    if starved:
        resources = replace(resources, mem_gb=(resources.mem_gb or MEM_GB) * GROWTH**starved)
    if late and resources.timeout_min is not None:
        resources = replace(resources, timeout_min=resources.timeout_min * GROWTH**late)
    return resources
