"""How far a directory of runs is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.records import discover, runs_of
from bench.rundir import RunDir, Status, is_locked
from bench.spec import RunSpec

COUNTED = ("ok", "running", "queued", "failed", "missing", "not run")


@dataclass(frozen=True)
class Survey:
    """Every run of a directory with its status (None: no attempt yet), and whether a command works on it."""

    runs: Mapping[str, tuple[RunSpec, RunDir, Status | None]]
    active: bool

    def kind(self, status: Status | None) -> str:
        """One of COUNTED: what is not done counts as queued while a command works on the directory."""
        if status is None:
            return "queued" if self.active else "missing"
        return status.state if status.state in COUNTED else "failed"

    @property
    def counts(self) -> dict[str, int]:
        """COUNTED -> number of runs."""
        kinds = [self.kind(status) for _, _, status in self.runs.values()]
        return {kind: kinds.count(kind) for kind in COUNTED}

    @property
    def failed(self) -> list[dict[str, str]]:
        """Runs that ended badly: run, task, method, state, why and log."""
        return [
            {"run": run, "task": spec.task, "method": spec.method, "state": status.state, "why": status.why}
            | {"log": str(found.log_file)}
            for run, (spec, found, status) in self.runs.items()
            if status is not None and self.kind(status) == "failed"
        ]

    @property
    def eta_s(self) -> float | None:
        """Seconds left: mean time of the task's finished runs (of all, for a task that has none), over what runs at a
        time. 0 when all is done, None while nothing runs or nothing has finished."""
        counts = self.counts
        if counts["ok"] + counts["not run"] == len(self.runs):
            return 0.0
        finished = [
            (spec.task, status.wall_s) for spec, _, status in self.runs.values() if status and status.state == "ok"
        ]
        if not counts["running"] or not finished:
            return None
        overall = fmean(seconds for _, seconds in finished)
        per_task = {task: fmean(s for name, s in finished if name == task) for task, _ in finished}
        left = 0.0
        for spec, _, status in self.runs.values():
            expected = per_task.get(spec.task, overall)
            if status is None:
                left += expected
            elif status.state == "running":
                left += max(0.0, expected - _since(status.started))
        return left / counts["running"]

    def to_json(self) -> dict[str, Any]:
        """What `costaware status --json` prints."""
        return {"runs": self.counts, "failed": self.failed, "eta_s": self.eta_s}


def survey(directory: Path) -> Survey:
    """Look at a sweep directory, a run directory, or a directory of either; WrongUse where there is nothing."""
    places = list(discover(directory))
    found = {run: planned for path in places for run, planned in runs_of(path)[0].items()}
    active = any(is_locked(path) for path in places)
    return Survey({run: (spec, at, at.status()) for run, (spec, at) in found.items()}, active)


def _since(started: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(started)).total_seconds()
