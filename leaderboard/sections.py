"""What the pages show, cut from the board: sections by task and metric, the matrix, the grid of planned cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leaderboard.board import Board
from leaderboard.race import Entry
from leaderboard.row import Row
from leaderboard.svg import slug
from leaderboard.verdict import verdict

MOST_DRAWN = 12  # methods a figure
MOST_REASONS = 200  # runs without a result listed one by one on the overview; runs.csv always has them all

Figures = Mapping[tuple[str, str | None], Mapping[str, str]]  # (task, metric) -> figure's name -> markup


@dataclass(frozen=True)
class Section:
    """One (task, metric) of the board."""

    task: str
    metric: str | None
    rows: list[Row]
    figures: Mapping[str, str] = field(default_factory=dict)

    @property
    def anchor(self) -> str:
        return slug(self.task, self.metric)

    @property
    def first(self) -> Row:
        return self.rows[0]

    @property
    def verdict(self) -> str:
        return verdict(self.rows)

    @property
    def domain(self) -> tuple[float, float]:
        return domain(self.rows)

    @property
    def finished(self) -> bool:
        return any(row.seeds for row in self.rows)

    @property
    def trials(self) -> bool:
        """Whether trials, not seeds, are the replicates."""
        return any(row.replicate == "trial" for row in self.rows)

    @property
    def drawn_differs(self) -> bool:
        """Whether the paper's count of tokens gives other savings; one draw a step leaves nothing to fold."""
        return any(row.saving_drawn not in (None, row.saving) for row in self.rows)

    @property
    def left_out(self) -> bool:
        """Whether the figures leave methods out."""
        return len(drawn(self.rows)) < sum(row.saving is not None for row in self.rows)

    def shown(self, field: str) -> bool:
        """Whether some row has a value there: columns without any are left out."""
        return any(getattr(row, field) is not None for row in self.rows)


def drawn(rows: Sequence[Row]) -> set[Entry]:
    """The entries that figures show: baseline, A/A, and the methods that save most; more curves than that are fog."""
    methods = sorted((row for row in rows if not row.is_baseline and not row.aa), key=_rank)
    controls = [row for row in rows if row.is_baseline or row.aa]
    return {(row.method, int(row.aa)) for row in (*controls, *methods[:MOST_DRAWN])}


def domain(rows: Sequence[Row]) -> tuple[float, float]:
    """What interval bars span: all savings and intervals, cut at the worst saving from -50% to -100%."""
    ends = [end for row in rows for end in (row.saving, row.saving_low, row.saving_high) if end is not None]
    worst = min([-0.5, *(row.saving for row in rows if row.saving is not None)])
    low, high = max(min([*ends, -0.1]), worst, -1.0), min(max([*ends, 0.1]), 1.0)
    return low - 0.03 * (high - low), high + 0.03 * (high - low)


def sections(rows: Sequence[Row], figures: Figures) -> list[Section]:
    """Rows by (task, metric), each table in order of tiers, then savings."""
    own: dict[tuple[str, str | None], list[Row]] = {}
    for row in rows:
        own.setdefault((row.task, row.metric), []).append(row)
    return [Section(*key, sorted(found, key=_rank), figures.get(key, {})) for key, found in own.items()]


def _rank(row: Row) -> tuple[float, ...]:
    best = row.saving if row.saving is not None else row.predicted
    return (row.tier or 1000, row.bound, best is None, -(best or 0.0))


def matrix(rows: Sequence[Row]) -> dict[str, Any]:
    """Methods x tasks of the measured headline metrics: {"tasks", "methods": [(name, cells)], "domain"}.

    Best mean first. The A/A repeats of all baselines are one line, the last, with the name None.
    """
    headline = [row for row in rows if row.kind == "measured" and row.headline and not row.is_baseline]
    tasks = list(dict.fromkeys((row.task, row.metric, row.baseline) for row in headline))
    cells = {(None if row.aa else row.method, row.task): row for row in headline}
    savings: dict[str | None, list[float]] = {}
    for (name, _), row in cells.items():
        savings.setdefault(name, []).extend([] if row.saving is None else [row.saving])
    names = sorted(savings, key=lambda name: (name is None, not savings[name], -float(np.mean(savings[name] or [0]))))
    table = [(name, [cells.get((name, task)) for task, _, _ in tasks]) for name in names]
    return {"tasks": tasks, "methods": table, "domain": domain(headline)}


def grid(board: Board) -> dict[str, Any]:
    """Every planned cell: {"tasks", "methods": [((method, aa), [row or None])], "unfinished", "left_out"}."""
    first = [row for row in board.rows if row.headline]
    tasks = list(dict.fromkeys(row.task for row in first))
    names = list(dict.fromkeys((row.method, row.aa) for row in first))
    cells = {(row.method, row.aa, row.task): row for row in first}
    unfinished = board.records.runs[board.records.runs["state"] != "ok"]
    columns = ["run", "task", "method", "seed", "repeat", "state", "why", "command"]
    return {
        "tasks": tasks,
        "methods": [(name, [cells.get((*name, task)) for task in tasks]) for name in names],
        "unfinished": unfinished[columns].head(MOST_REASONS).to_dict("records"),
        "left_out": max(0, len(unfinished) - MOST_REASONS),
    }
