"""The page: one HTML file with everything in it, from rows, figures and records."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
import numpy as np

from leaderboard.board import Board
from leaderboard.claims import claims
from leaderboard.row import Row
from leaderboard.svg import slug
from leaderboard.verdict import estimate, percent, verdict

OPEN = ("running", "missing")  # states that a later look may find finished
MOST_RUNS = 2000  # listed one by one on the page; runs.csv always has them all


@dataclass(frozen=True)
class Section:
    """One (task, metric) of the page."""

    task: str
    metric: str | None
    rows: list[Row]
    figures: Mapping[str, str]

    @property
    def anchor(self) -> str:
        return slug(self.task, self.metric)

    @property
    def verdict(self) -> str:
        return verdict(self.rows)

    @property
    def domain(self) -> tuple[float, float]:
        """What the table's interval bars span: all savings and intervals, cut at -100%."""
        ends = [end for row in self.rows for end in (row.saving, row.saving_low, row.saving_high) if end is not None]
        low, high = max(min([*ends, -0.1]), -1.0), min(max([*ends, 0.1]), 1.0)
        return low - 0.03 * (high - low), high + 0.03 * (high - low)

    @property
    def finished(self) -> bool:
        return any(row.seeds for row in self.rows)

    @property
    def drawn_differs(self) -> bool:
        """Whether the paper's count of tokens gives other savings; one draw a step leaves nothing to fold."""
        return any(row.saving_drawn not in (None, row.saving) for row in self.rows)

    def shown(self, field: str) -> bool:
        """Whether some row has a value there: columns without any are left out."""
        return any(getattr(row, field) is not None for row in self.rows)


def sections(rows: Sequence[Row], figures: Mapping[tuple[str, str | None], Mapping[str, str]]) -> list[Section]:
    """Rows by (task, metric), each table in order of tiers, then savings."""
    keys = dict.fromkeys((row.task, row.metric) for row in rows)
    found = []
    for task, metric in keys:
        own = [row for row in rows if (row.task, row.metric) == (task, metric)]
        own.sort(key=_rank)
        found.append(Section(task, metric, own, figures.get((task, metric), {})))
    return found


def _rank(row: Row) -> tuple[float, ...]:
    best = row.saving if row.saving is not None else row.predicted
    return (row.tier or 1000, row.bound, best is None, -(best or 0.0))


def render(board: Board, figures: Mapping[tuple[str, str | None], Mapping[str, str]], out: Path) -> str:
    """The text of index.html; `out` is the folder that it goes to (links to runs are relative to it)."""
    package = files("leaderboard") / "templates"
    parts = {name: (package / name).read_text() for name in ("style.css", "page.js")}
    every = sections(board.rows, figures)
    template = _environment().get_template("index.html.j2")
    return template.render(
        measured=[section for section in every if section.rows[0].kind == "measured"],
        replayed=[section for section in every if section.rows[0].kind == "predicted"],
        matrix=matrix(board.rows),
        grid=grid(board),
        claims=claims(board.rows, list(board.races.values())),
        runs=_runs(board, out) if len(board.records.runs) <= MOST_RUNS else {},
        states=board.records.runs["state"].value_counts().to_dict(),
        total=len(board.records.runs),
        css=parts["style.css"],
        js=parts["page.js"],
        js_hash=base64.b64encode(hashlib.sha256(parts["page.js"].encode()).digest()).decode(),
    )


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("leaderboard"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"percent": percent, "estimate": estimate, "figure": _figure, "tone": _tone}
    environment.globals["slug"] = slug
    return environment


def _tone(state: str) -> str:
    """Colour of a state: finished, still open, gone wrong."""
    return "ok" if state == "ok" else "open" if state in OPEN else "bad"


def _figure(value: Any) -> str:
    """A number as tables show it: three decimals, none from a thousand on."""
    return "–" if value is None else f"{value:,.{3 if abs(value) < 1000 else 0}f}".replace("-", "−")


def matrix(rows: Sequence[Row]) -> dict[str, Any]:
    """Methods x tasks of the measured headline metrics: {"tasks": [...], "methods": [(name, cells)]}, best mean first.

    The A/A repeats of all baselines are one line, the last, with the name None.
    """
    headline = [row for row in rows if row.kind == "measured" and row.headline and not row.is_baseline]
    tasks = list(dict.fromkeys((row.task, row.metric, row.baseline) for row in headline))
    cells = {(None if row.aa else row.method, row.task): row for row in headline}
    savings: dict[str | None, list[float]] = {}
    for (name, _), row in cells.items():
        savings.setdefault(name, []).extend([] if row.saving is None else [row.saving])
    names = sorted(savings, key=lambda name: (name is None, not savings[name], -float(np.mean(savings[name] or [0]))))
    return {"tasks": tasks, "methods": [(name, [cells.get((name, task)) for task, _, _ in tasks]) for name in names]}


def grid(board: Board) -> dict[str, Any]:
    """Every planned cell: {"tasks", "methods": [((method, aa), [row or None])], "unfinished": runs without result}."""
    first = [row for row in board.rows if row.headline]
    tasks = list(dict.fromkeys(row.task for row in first))
    names = list(dict.fromkeys((row.method, row.aa) for row in first))
    cells = {(row.method, row.aa, row.task): row for row in first}
    unfinished = board.records.runs[board.records.runs["state"] != "ok"]
    columns = ["run", "task", "method", "seed", "repeat", "state", "why", "command"]
    return {
        "tasks": tasks,
        "methods": [(name, [cells.get((*name, task)) for task in tasks]) for name in names],
        "unfinished": unfinished[columns].head(MOST_RUNS).to_dict("records"),
    }


def _runs(board: Board, out: Path) -> dict[str, list[dict[str, Any]]]:
    """task -> its runs, each with a link to its directory relative to the page."""
    found: dict[str, list[dict[str, Any]]] = {}
    columns = [str(column) for column in board.records.runs]
    for cells in board.records.runs.itertuples(index=False):
        run: dict[str, Any] = dict(zip(columns, cells, strict=True))
        found.setdefault(run["task"], []).append({**run, "href": _href(run["dir"], out)})
    return found


def _href(directory: Any, out: Path) -> str | None:
    if not isinstance(directory, str):
        return None
    return quote(Path(os.path.relpath(directory, out)).as_posix()) + "/"
