"""Records -> rows: one for every (task, metric, method) that was planned, whatever became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from bench.records import Records
from leaderboard.cores import spread
from leaderboard.measured import measured
from leaderboard.race import Entry, Race, races
from leaderboard.row import Row

MANY = 2000  # runs from which on other processes are worth their start
PREDICTION_SUITE = "replay"  # its runs are predictions from logs: no curve, no saving measured


@dataclass(frozen=True, eq=False)
class Board:
    """All rows, the races that they come from (by task and metric), and the records behind both."""

    records: Records
    rows: list[Row]
    races: Mapping[tuple[str, str], Race]


def board(records: Records, delta: float = 0.0) -> Board:
    """The board of these records; `delta` is how far below the baseline's peak `peak_saving` aims."""
    found = {(race.task, race.metric): race for race in races(records)}
    jobs: list[Callable[[], list[Row]]] = []
    for task, runs in records.runs.groupby("task", sort=False):
        metrics = [metric for other, metric in found if other == task] or _declared(runs)
        for metric in metrics:
            planned = _planned(runs, str(task), metric, metric == metrics[0], records.baselines.get(str(task)))
            race = found.get((str(task), metric)) if metric else None
            jobs.append(partial(_rows, race, planned, delta))
    done = spread(jobs) if len(records.runs) >= MANY else (job() for job in jobs)
    return Board(records, [row for rows in done for row in rows], found)


def _rows(race: Race | None, planned: Mapping[Entry, Row], delta: float) -> list[Row]:
    return list((measured(race, planned, delta) if race else planned).values())


def _declared(runs: pd.DataFrame) -> list[Any]:
    """Metrics that unfinished runs declared; a nameless one where none got so far."""
    return list(dict.fromkeys(name for metrics in runs["metrics"] for name in metrics)) or [None]


def _planned(
    runs: pd.DataFrame, task: str, metric: str | None, headline: bool, baseline: str | None
) -> dict[Entry, Row]:
    """A row for each entry of the task: what it is, and what became of its runs."""
    kind = "predicted" if task.partition("/")[0] == PREDICTION_SUITE else "measured"
    readings = [metrics[metric] for metrics in runs["metrics"] if metric in metrics]
    reading = readings[0] if readings else {"direction": None, "scale": None}
    rows = {}
    entries = zip(runs["method"], runs["repeat"], strict=True)
    for method, repeat in dict.fromkeys((str(method), int(repeat)) for method, repeat in entries):
        group = runs[(runs["method"] == method) & (runs["repeat"] == repeat)]
        states = {str(state): int(count) for state, count in group["state"].value_counts(sort=False).items()}
        rows[method, repeat] = Row(
            task,
            metric,
            method,
            baseline,
            repeat > 0,
            states.get("ok", 0),
            _state(states),
            kind,
            headline,
            reading["direction"],
            reading["scale"],
            states,
            why=next(
                (f"{s}: {w}" if w else s for s, w in zip(group["state"], group["why"], strict=True) if s != "ok"), ""
            ),
            runs=tuple(group["run"]),
            note="" if "ok" in states else "no finished run",
        )
    return rows


def _state(states: Mapping[str, int]) -> str:
    if "ok" in states:
        return "ok" if len(states) == 1 else "partial"
    return max(states, key=lambda state: states[state])
