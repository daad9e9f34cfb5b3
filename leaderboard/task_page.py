"""The page of one task: interactive charts over static figures, all its metrics as tables, its runs and their fate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from leaderboard.charts import entry_of, levels_axis, task_data
from leaderboard.claims import Claim
from leaderboard.pages import Pages
from leaderboard.race import AXES, Entry, Race
from leaderboard.row import Row
from leaderboard.sections import Section, drawn
from leaderboard.style import Look
from leaderboard.training import diagnostics

MOST_RUNS = 1000  # listed one by one on a task's page, those without a result first


def render_task(
    task: str,
    sections: Sequence[Section],
    races: Sequence[Race],
    runs: pd.DataFrame,
    points: pd.DataFrame,
    looks: Mapping[Entry, Look],
    claims: Sequence[Claim],
    pages: Pages,
) -> str:
    """The text of tasks/TASK.html.

    Args:
        sections, races: of this task, one a metric, the headline first; races are missing where nothing was measured.
        runs, points: the task's part of the records.
        looks: how its methods are drawn.
        claims: of the paper, that this task speaks to.
    """
    headline = next((section for section in sections if section.first.headline), sections[0])
    rows = [row for section in sections for row in section.rows]
    data: dict[str, Any] = {}
    if headline.first.kind == "measured" and any(race.series for race in races):
        data = task_data(races, rows, looks, drawn(headline.rows), diagnostics(points))
        data |= {"q": levels_axis(), "baseline": headline.first.baseline}
    axis = "backward" if "backward" in data.get("axes", ()) else "step"
    listed = runs.sort_values("state", key=lambda state: state == "ok", kind="stable").head(MOST_RUNS)
    return pages.text(
        "task.html.j2",
        depth=1,
        charts=bool(data),
        task=task,
        headline=headline,
        sections=sections,
        data=data,
        fronts=_fronts(data, headline, axis),
        front_axis=AXES[axis],
        has_theory=any(row.predicted is not None and row.saving is not None for row in headline.rows),
        last_diagnostics=_last(data),
        claims=claims,
        runs=listed[["run", "method", "repeat", "seed", "state", "why", "wall_s"]].to_dict("records"),
        left_out=len(runs) - len(listed),
    )


def _fronts(data: Mapping[str, Any], headline: Section, axis: str) -> list[tuple[Row, dict[str, Any], bool]]:
    """(row, where it ends, whether no other ends better for less) of each method of the headline metric."""
    metric = next((metric for metric in data.get("metrics", ()) if metric["name"] == headline.metric), None)
    if metric is None or axis not in metric["front"]:
        return []
    sign = 1 if metric["better"] == "higher" else -1
    of_entry = {entry_of(row): row for row in headline.rows}
    entries = [(method["name"], int(method["aa"])) for method in data["methods"]]
    ends = [
        (of_entry[entry], at)
        for entry, at in zip(entries, metric["front"][axis], strict=True)
        if at is not None and at["x"] is not None and entry in of_entry
    ]
    return [
        (
            row,
            at,
            not any(other["x"] <= at["x"] and sign * other["y"] >= sign * at["y"] and other != at for _, other in ends),
        )
        for row, at in ends
    ]


def _last(data: Mapping[str, Any]) -> list[tuple[dict[str, Any], list[float | None]]]:
    """(method, the last value of each diagnostic)."""
    found = []
    for i, method in enumerate(data.get("methods", ())):
        curves = [curves.get(str(i)) for curves in data["diagnostics"].values()]
        found.append((method, [curve["y"][-1] if curve else None for curve in curves]))
    return found
