"""How far a directory of runs is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from bench import journal, outlook, plan, plans
from bench.judge import Standing, Verdict, standing
from bench.outlook import Outlook
from bench.records import discover, runs_of
from bench.rundir import RunDir, Status, is_locked
from bench.scheduler import WAITING
from bench.spec import RunSpec
from strategies.errors import WrongUse

COUNTED: tuple[Standing, ...] = ("ok", "running", "queued", "failed", "missing", "not run")


@dataclass(frozen=True)
class Survey:
    """How far a directory of runs is.

    Attributes:
        runs: run id -> its spec, its directory, and its status as it is (None: no attempt yet).
        standings: run id -> one of COUNTED.
        active: whether a command on this machine works on it.
        outlooks: of the sweeps that were submitted to a batch system.
        verdicts: of their runs.
    """

    runs: Mapping[str, tuple[RunSpec, RunDir, Status | None]]
    standings: Mapping[str, Standing]
    active: bool
    outlooks: Mapping[Path, Outlook]
    verdicts: Mapping[str, Verdict]

    @property
    def silent(self) -> str:
        """Why the scheduler did not answer; empty where it did, or where there is none to ask."""
        return next((seen.silent for seen in self.outlooks.values() if seen.silent), "")

    @property
    def going_on(self) -> bool:
        """Whether anything works on these runs, here or on a batch system."""
        return self.active or self.counts["running"] > 0 or any(verdict.active for verdict in self.verdicts.values())

    @property
    def counts(self) -> dict[str, int]:
        """COUNTED -> number of runs."""
        found = list(self.standings.values())
        return {kind: found.count(kind) for kind in COUNTED}

    @property
    def waits_for(self) -> dict[str, int]:
        """Why jobs wait, in the scheduler's words -> number of jobs, most first."""
        tasks = [task for seen in self.outlooks.values() for task in (seen.tasks or {}).values()]
        reasons = Counter(task.reason for task in tasks if task.state in WAITING and task.reason not in ("", "None"))
        return dict(reasons.most_common())

    @property
    def failed(self) -> list[dict[str, str]]:
        """Runs that ended badly: run, task, method, state, why and log."""
        return [
            {"run": run, "task": spec.task, "method": spec.method, "state": status.state, "why": status.why}
            | {"log": str(self.log(run))}
            for run, (spec, _, status) in self.runs.items()
            if status is not None and self.standings[run] == "failed"
        ]

    def job(self, run: str) -> journal.Attempt | None:
        """The last job that was submitted for a run."""
        path = self.runs[run][1].path
        seen = self.outlooks.get(path.parent)
        attempts = seen.journal.get(path.name) if seen else None
        return attempts[-1] if attempts else None

    def log(self, run: str) -> Path:
        """The run's log; where it has none, because it never started, that of its job."""
        found, job = self.runs[run][1], self.job(run)
        if job is None or found.log_file.is_file():
            return found.log_file
        return found.path.parent / "jobs" / job.submission / plans.log_name(job.job)

    @property
    def per_hour(self) -> float | None:
        """Runs finished an hour, from the first start to the last end; None before there are two."""
        finished = [status for _, _, status in self.runs.values() if status and status.state == "ok" and status.started]
        if len(finished) < 2:
            return None
        first, last = min(s.started for s in finished), max(s.finished for s in finished)
        seconds = (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()
        return 3600 * len(finished) / seconds if seconds > 0 else None

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
        for run, (spec, _, status) in self.runs.items():
            expected = per_task.get(spec.task, overall)
            if self.standings[run] in ("queued", "missing"):
                left += expected
            elif status is not None and self.standings[run] == "running":
                left += max(0.0, expected - _since(status.started))
        return left / counts["running"]

    def to_json(self) -> dict[str, Any]:
        """What `costaware status --json` prints."""
        tree = {"runs": self.counts, "failed": self.failed, "eta_s": self.eta_s}
        asked = {"scheduler": self.silent or "answers", "waits_for": self.waits_for}
        return tree | (asked if self.outlooks else {})


def survey(directory: Path) -> Survey:
    """Look at a sweep directory, a run directory, or a directory of either; WrongUse where there is nothing.

    The scheduler is asked once for each sweep that was submitted to it, however many runs that has.
    """
    places = list(discover(directory))
    outlooks = {path: outlook.look(path) for path in places if plans.any_in(path)}
    found = {run: planned for path in places for run, planned in runs_of(path)[0].items()}
    active = any(is_locked(path) for path in places)
    return _assembled(found, active, outlooks)


def settle(found: Survey) -> None:
    """Write down what the scheduler said about ended attempts, where no other command works on the sweep."""
    for directory, seen in found.outlooks.items():
        news = [verdict for run, verdict in found.verdicts.items() if found.runs[run][1].path.parent == directory]
        if seen.adopted or any(verdict.news for verdict in news):
            with suppress(WrongUse, OSError), plan.claimed(directory, patience_s=0):
                outlook.settle(seen, news)


def _assembled(found: Mapping[str, tuple[RunSpec, RunDir]], active: bool, outlooks: Mapping[Path, Outlook]) -> Survey:
    runs: dict[str, tuple[RunSpec, RunDir, Status | None]] = {}
    standings: dict[str, Standing] = {}
    verdicts: dict[str, Verdict] = {}
    for run, (spec, at) in found.items():
        seen = outlooks.get(at.path.parent)
        if seen is None:
            status = at.status()
            standings[run] = standing(status)
        else:
            verdicts[run] = seen.verdict(at)
            status, standings[run] = verdicts[run].status, verdicts[run].standing
        runs[run] = (spec, at, status)
        if active and standings[run] == "missing":
            standings[run] = "queued"
    return Survey(runs, standings, active, outlooks, verdicts)


def _since(started: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(started)).total_seconds()
