"""A sweep's directory as it stands on the batch system: journal, unfinished submissions, and the scheduler's answer."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import filelock

from bench import journal, plans, scheduler
from bench.journal import Attempt, Journal
from bench.judge import Verdict, judge
from bench.plans import Plan
from bench.rundir import RunDir
from bench.scheduler import Key, NoAnswer, Task


@dataclass(frozen=True)
class Outlook:
    """What journal and scheduler say.

    Attributes:
        journal: with the attempts that were adopted.
        adopted: attempts of submissions that got through although their submitter died before it could note so.
        lost: plans of which the scheduler knows nothing.
        tasks: the scheduler's jobs; None if it gave no answer.
        silent: why it gave none.
    """

    directory: Path
    journal: Journal
    adopted: list[Attempt] = field(default_factory=list)
    lost: list[Plan] = field(default_factory=list)
    tasks: Mapping[Key, Task] | None = None
    silent: str = ""

    def verdict(self, run: RunDir) -> Verdict:
        """Where a run of this sweep stands."""
        attempts = self.journal.get(run.path.name)
        if not attempts:
            return judge(run, None, self.tasks)
        last = attempts[-1]
        folder = self.directory / "jobs" / last.submission
        return judge(run, last, self.tasks, folder / plans.log_name(last.job))


def look(directory: Path) -> Outlook:
    """Read the journal and ask the scheduler about what has not ended, in one call."""
    attempts = journal.read(directory)
    known = {attempt.submission for those in attempts.values() for attempt in those}
    unrecorded = list(plans.unrecorded(directory, known))
    open_ = [those[-1] for run, those in attempts.items() if _is_open(directory, run, those[-1])]
    wanted = {attempt.key for attempt in open_} | {(p.name, i) for p in unrecorded for i in range(len(p.packs))}
    since = min([attempt.time for attempt in open_] + [plan.time for plan in unrecorded], default=0.0)
    try:
        tasks = scheduler.look(wanted, since)
    except NoAnswer as why:
        return Outlook(directory, attempts, silent=str(why))
    adopted, lost = [], []
    for plan in unrecorded:
        array = next((task.array for (name, _), task in tasks.items() if name == plan.name), None)
        if array is None:
            lost.append(plan)
        else:
            adopted += attempts_of(plan, array, attempts)
    for attempt in adopted:
        attempts.setdefault(attempt.run, []).append(attempt)
    return Outlook(directory, attempts, adopted, lost, tasks)


def _is_open(directory: Path, run: str, last: Attempt) -> bool:
    if last.fault is not None:
        return False
    status = RunDir(directory / run).recorded_status()
    return status is None or status.state != "ok"


def attempts_of(plan: Plan, array: str, earlier: Journal) -> list[Attempt]:
    """The attempts that a plan makes as array number `array`."""
    asked = plan.resources
    return [
        Attempt(
            run,
            plan.name,
            index,
            f"{array}_{index}",
            attempt=len(earlier.get(run, ())) + 1,
            time=plan.time,
            mem_gb=asked.mem_gb,
            timeout_min=asked.timeout_min,
        )
        for index, pack in enumerate(plan.packs)
        for run in pack
    ]


def settle(found: Outlook, verdicts: Iterable[Verdict]) -> None:
    """Write down what came out about ended attempts: into the runs' records, and into the journal.

    The scheduler forgets; so this is done at each look. A record that can't be written leaves the journal to tell.
    """
    on_record = journal.read(found.directory)  # another command may have got here since we looked
    known = {attempt.key for those in on_record.values() for attempt in those}
    adopted = [attempt for attempt in found.adopted if attempt.key not in known]
    journal.submitted(found.directory, adopted)
    now, news = time.time(), []
    for verdict in verdicts:
        if verdict.news is None or verdict.status is None:
            continue
        last = [*on_record.get(verdict.news.run, ()), *(a for a in adopted if a.run == verdict.news.run)][-1]
        if last.key == verdict.news.key and last.fault is None:
            news.append(replace(verdict.news, ended=now))
            run = RunDir(found.directory / verdict.news.run)
            with suppress(OSError, filelock.Timeout), run.lock().acquire(timeout=0):
                run.write_status(verdict.status)
    journal.ended(found.directory, news)
    for attempt in news:
        found.journal[attempt.run][-1] = attempt
