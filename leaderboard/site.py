"""Everything that `costaware leaderboard` writes: the page, the rows as JSON and CSV, the figures as SVG and PDF."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from bench.records import load
from leaderboard.board import Board, board
from leaderboard.figures import Figures, forest
from leaderboard.page import render
from leaderboard.race import Race
from leaderboard.row import Row
from leaderboard.style import looks
from leaderboard.svg import save, slug

RUN_COLUMNS = [
    "run",
    "task",
    "method",
    "seed",
    "repeat",
    "state",
    "why",
    "attempts",
    "budget",
    "wall_s",
    "dir",
    "command",
]


Progress = Callable[[float, str], None]  # the share that is done, and what is being done


def _silent(share: float, line: str) -> None: ...


def build(dirs: Iterable[str | Path], out: Path, progress: Progress = _silent) -> Board:
    """Read the records in `dirs`, write the site into `out`, and return its board.

    Args:
        progress: told how far it is.

    Raises:
        WrongUse: a directory without records.
    """
    progress(0.0, "reading records")
    records = load(dirs)
    progress(0.3, "comparing")
    made = board(records)
    out.mkdir(parents=True, exist_ok=True)
    tree = {"rows": [row.to_json() for row in made.rows]}
    (out / "leaderboard.json").write_text(json.dumps(tree, indent=1, allow_nan=False, ensure_ascii=False) + "\n")
    write_csv(out / "leaderboard.csv", tree["rows"])
    made.records.runs[RUN_COLUMNS].to_csv(out / "runs.csv", index=False)
    figures = draw(made, out / "figures", progress)
    progress(0.95, "writing the page")
    (out / "index.html").write_text(render(made, figures, out))
    return made


def draw(made: Board, folder: Path, progress: Progress = _silent) -> dict[tuple[str, str | None], dict[str, str]]:
    """Draw each measured task's headline metric; (task, metric) -> figure's name -> markup."""
    figures = Figures(looks(row.method for row in made.rows))
    headline = {(row.task, row.metric) for row in made.rows if row.headline and row.kind == "measured"}
    races = {key: race for key, race in made.races.items() if key in headline and race.series}
    found: dict[tuple[str, str | None], dict[str, str]] = {}
    for i, ((task, metric), race) in enumerate(races.items()):
        progress(0.4 + 0.5 * i / len(races), f"drawing {task}")
        rows = [row for row in made.rows if (row.task, row.metric) == (task, metric)]
        found[task, metric] = {
            name: save(figure, folder, f"{slug(task, metric)}-{name}")
            for name, figure in _figures(figures, race, rows).items()
        }
    return found


def _figures(figures: Figures, race: Race, rows: Sequence[Row]) -> dict[str, Figure]:
    tokens = "backward" if "backward" in race.axes else "step"
    made = {"curves": figures.curves(race, list(dict.fromkeys((tokens, "step"))))}
    if any(row.saving is not None and not row.is_baseline for row in rows):
        made |= {"forest": forest(rows), "levels": figures.levels(race, rows)}
    return made


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """One line a row; a cell that is a list or an object holds JSON, None is empty."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if rows:
            writer.writerow(rows[0])
        for row in rows:
            cells = [json.dumps(v, ensure_ascii=False) if isinstance(v, dict | list) else v for v in row.values()]
            writer.writerow(cells)
