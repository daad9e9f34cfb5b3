"""The page of one (task, method): the curve of each of its runs, what made them, how they ended, their last words."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd

from leaderboard.board import Board
from leaderboard.charts import listed, short
from leaderboard.curves import Floats
from leaderboard.pages import Pages
from leaderboard.race import AXES
from leaderboard.row import Row
from leaderboard.sketch import sketch

LOG_BYTES = 3000  # of a run's log: its end
Columns = Mapping[str, Floats]  # value and every axis of the evaluations of one run in one metric, in order of steps
Evals = Mapping[str, Mapping[str, Columns]]  # run -> metric -> columns


def cell_pages(board: Board, pages: Pages, folder: Path) -> list[tuple[str, Callable[[], str]]]:
    """(file, what makes its text) of every cell; `folder` is where they go (run directories are linked from there)."""
    rows: dict[str, Row] = {}
    for each in board.rows:
        rows.setdefault(each.runs[0], each)  # the headline metric comes first
    evals = _evaluations(board.records.points)
    cells: dict[Any, list[dict[str, Any]]] = {}
    for run in board.records.runs.sort_values("seed", kind="stable").to_dict("records"):
        cells.setdefault((run["task"], run["method"], run["repeat"]), []).append(run)  # type: ignore[arg-type]
    return [
        (
            pages.cells[runs[0]["run"]],
            partial(_cell, key, runs, _first(rows, runs), evals, pages, folder),
        )
        for key, runs in cells.items()
    ]


def _first(rows: Mapping[str, Row], runs: Sequence[Mapping[str, Any]]) -> Row | None:
    return next((rows[run["run"]] for run in runs if run["run"] in rows), None)


def _evaluations(points: pd.DataFrame) -> Evals:
    """Cut from one sorted table, so that there is no loop over points."""
    columns = ["value", *AXES]
    table = points.loc[points["phase"] == "eval", ["run", "metric", "step", *(c for c in columns if c != "step")]]
    table = table.sort_values(["run", "metric", "step"], kind="stable")
    found: dict[str, dict[str, Columns]] = {}
    if table.empty:
        return found
    run, metric = table["run"].to_numpy(dtype=object), table["metric"].to_numpy(dtype=object)
    cuts = np.flatnonzero((run[1:] != run[:-1]) | (metric[1:] != metric[:-1])) + 1
    numbers = {name: short(table[name].to_numpy(dtype=np.float64)) for name in columns}
    for i, j in zip([0, *cuts], [*cuts, len(table)], strict=True):
        found.setdefault(run[i], {})[metric[i]] = {name: array[i:j] for name, array in numbers.items()}
    return found


def _cell(key: Any, runs: list[dict[str, Any]], row: Row | None, evals: Evals, pages: Pages, folder: Path) -> str:
    task, method, repeat = key
    metrics: dict[str, Mapping[str, str]] = {}
    for run in runs:
        metrics |= {name: reading for name, reading in run["metrics"].items() if name not in metrics}
    own = {run["run"]: evals.get(run["run"], {}) for run in runs}
    drawn = [name for name in metrics if any(len(e.get(name, {}).get("value", ())) > 1 for e in own.values())]
    axes = [a for a in AXES if any(np.nanmax(c[a], initial=0) > 0 for e in own.values() for c in e.values())]
    first = drawn[0] if drawn else None
    return pages.text(
        "cell.html.j2",
        depth=1,
        charts=bool(drawn and axes),
        task=task,
        method=method,
        repeat=repeat,
        row=row,
        last_metric=first,
        runs=[run | _words(run, folder) | {"last": _last(own[run["run"]], first)} for run in runs],
        sketches=[_sketch(name, metrics[name], own.values(), axes[0]) for name in drawn if axes],
        data=_data(drawn, metrics, axes, runs, own) if drawn and axes else None,
    )


def _last(evals: Mapping[str, Columns], metric: str | None) -> float | None:
    values = evals.get(metric or "", {}).get("value", np.array([]))
    known = values[np.isfinite(values)]
    return float(known[-1]) if len(known) else None


def _sketch(name: str, reading: Mapping[str, str], own: Iterable[Mapping[str, Columns]], axis: str) -> dict[str, Any]:
    curves = [(evals[name][axis], evals[name]["value"]) for evals in own if name in evals]
    better = "higher" if reading["direction"] == "up" else "lower"
    return {"metric": name, "better": better, "x_label": AXES[axis], **sketch(curves, reading["scale"] == "log")}


def _data(
    drawn: Sequence[str], metrics: Mapping[str, Mapping[str, str]], axes: Sequence[str], runs: Sequence[Any], own: Evals
) -> dict[str, Any]:
    return {
        "axes": {axis: AXES[axis] for axis in axes},
        "metrics": [
            {
                "name": name,
                "better": "higher" if metrics[name]["direction"] == "up" else "lower",
                "log": metrics[name]["scale"] == "log",
                "runs": [
                    {
                        "seed": run["seed"],
                        "y": listed(own[run["run"]][name]["value"]),
                        "x": {axis: listed(own[run["run"]][name][axis]) for axis in axes},
                    }
                    for run in runs
                    if name in own[run["run"]]
                ],
            }
            for name in drawn
        ],
    }


def _words(run: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What the page says of a run beside its curve; what its directory alone knows is left out where there is none."""
    directory = Path(run["dir"]) if isinstance(run["dir"], str) else None
    status = _json(directory / "status.json") if directory else {}
    log, cut = _tail(directory / "log.txt") if directory else ("", 0)
    budget = None if run["budget"] != run["budget"] else run["budget"]
    spec = {name: run[name] for name in ("task", "method", "seed", "repeat")} | {"budget": budget}
    spec |= {"settings": run["settings"]}
    git = run["git"]
    commit = f"{git['commit']}{' with changes' if git.get('dirty') else ''}" if git.get("commit") else ""
    facts = {
        "attempts": run["attempts"],
        "started": status.get("started"),
        "finished": status.get("finished"),
        "host": status.get("host"),
        "commit": commit,
        "versions": ", ".join(f"{name} {version}" for name, version in run["versions"].items()),
    }
    href = f"{quote(Path(os.path.relpath(directory, folder)).as_posix())}/" if directory else None
    return {
        "spec": json.dumps(spec, ensure_ascii=False, default=str),
        "facts": [(name, value) for name, value in facts.items() if value],
        "href": href,
        "log": log,
        "log_cut": cut,
    }


def _json(path: Path) -> dict[str, Any]:
    try:
        tree = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return tree if isinstance(tree, dict) else {}


def _tail(path: Path) -> tuple[str, int]:
    """The end of a text file and how many bytes come before it; nothing of a file that isn't there."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - LOG_BYTES))
            return file.read().decode(errors="replace"), max(0, size - LOG_BYTES)
    except OSError:
        return "", 0
