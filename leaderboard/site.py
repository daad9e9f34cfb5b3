"""Everything that `costaware leaderboard` writes: pages, rows as JSON and CSV, raw points, figures as SVG and PDF."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from bench.records import load
from leaderboard.board import Board, board
from leaderboard.cell_page import cell_pages
from leaderboard.charts import entry_of
from leaderboard.claims import claims
from leaderboard.cores import spread, without_collections
from leaderboard.figures import Figures, forest
from leaderboard.page import render
from leaderboard.pages import Pages, cell_file, clear, install_library, seal, task_file
from leaderboard.race import Race
from leaderboard.row import Row
from leaderboard.sections import Section, drawn, sections
from leaderboard.style import looks
from leaderboard.svg import save, slug
from leaderboard.task_page import render_task

CELL_JOBS, CELLS_A_JOB = 16, 20  # at most so many jobs; with fewer cells one is enough
MOST_PDFS = 10  # tasks that get their figures as PDF too: half of the time that drawing takes
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
    with without_collections():
        progress(0.0, "reading records")
        records = load(dirs)
        progress(0.3, "comparing")
        made = board(records)
        write(made, out, progress)
    return made


def write(made: Board, out: Path, progress: Progress = _silent) -> None:
    """Write everything that shows a board into `out`."""
    out.mkdir(parents=True, exist_ok=True)
    tree = {"rows": [row.to_json() for row in made.rows]}
    (out / "leaderboard.json").write_text(json.dumps(tree, indent=1, allow_nan=False, ensure_ascii=False) + "\n")
    write_csv(out / "leaderboard.csv", tree["rows"])
    made.records.runs[RUN_COLUMNS].to_csv(out / "runs.csv", index=False)
    races = _pictured(made)
    pdf = len(races) <= MOST_PDFS
    pages = Pages(seal(*((out / name).read_text() for name in ("leaderboard.json", "runs.csv"))), _cells(made), pdf)
    install_library(out)
    clear(out, {*pages.cells.values(), *map(task_file, made.records.runs["task"].unique())})
    points = partial(write_points, out / "points.parquet", made.records.points)  # the longest job goes first
    _finish([points, *cell_jobs(made, pages, out)], 0.4, 0.55, "writing points and the pages of runs", progress)
    figures = draw(made, races, out / "figures", pdf, progress)
    progress(0.85, "writing the pages")
    _finish(page_jobs(made, sections(made.rows, figures), pages, out), 0.85, 1.0, "writing the pages", progress)


def _finish(jobs: Sequence[Callable[[], None]], start: float, end: float, what: str, progress: Progress) -> None:
    for i, _ in enumerate(spread(jobs)):
        progress(start + (end - start) * i / len(jobs), what)


def _cells(made: Board) -> dict[str, str]:
    columns = (made.records.runs[name] for name in ("run", "task", "method", "repeat"))
    return {run: cell_file(task, method, int(repeat)) for run, task, method, repeat in zip(*columns, strict=True)}


def page_jobs(made: Board, every: Sequence[Section], pages: Pages, out: Path) -> list[Callable[[], None]]:
    """What writes index.html and tasks/."""
    runs, points = made.records.runs, made.records.points
    said = claims(made.rows, list(made.races.values()))
    figures = Figures(looks(row.method for row in made.rows))
    of_task = dict(iter(points.groupby("task", sort=False)))

    def overview() -> None:
        _write(out / "index.html", render(made, every, said, pages))

    def page(task: str, group: pd.DataFrame) -> None:
        races = [race for (name, _), race in made.races.items() if name == task]
        own = [section for section in every if section.task == task]
        drawn_as = {entry_of(row): figures.look(row.baseline, entry_of(row)) for part in own for row in part.rows}
        about = [claim for claim in said if claim.task.startswith(f"{task},")]
        text = render_task(task, own, races, group, of_task.get(task, points[:0]), drawn_as, about, pages)
        _write(out / task_file(task), text)

    return [overview, *(partial(page, str(task), group) for task, group in runs.groupby("task", sort=False))]


def cell_jobs(made: Board, pages: Pages, out: Path) -> list[Callable[[], None]]:
    """What writes cells/, a few jobs of many pages each."""
    cells = cell_pages(made, pages, out / "cells")
    jobs = min(CELL_JOBS, len(cells) // CELLS_A_JOB + 1)

    def some(first: int) -> None:
        for file, text in cells[first::jobs]:
            _write(out / file, text())

    return [partial(some, first) for first in range(jobs)]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_points(path: Path, points: pd.DataFrame) -> None:
    """Every measurement as a row, diagnostics as a column of named parts; runs.csv has the rest by `run`."""
    if not any(points["diagnostics"]):
        points = points.assign(diagnostics=None)  # parquet knows no table without columns
    points.to_parquet(path, index=False)


def _pictured(made: Board) -> dict[tuple[str, str | None], Race]:
    """The races of the tasks' headline metrics, by (task, metric)."""
    headline = {(row.task, row.metric) for row in made.rows if row.headline and row.kind == "measured"}
    return {key: race for key, race in made.races.items() if key in headline and race.series}


def draw(
    made: Board,
    races: Mapping[tuple[str, str | None], Race],
    folder: Path,
    pdf: bool = True,
    progress: Progress = _silent,
) -> dict[tuple[str, str | None], dict[str, str]]:
    """Draw these races as SVG and, with `pdf`, as PDF; (task, metric) -> figure's name -> markup."""
    figures = Figures(looks(row.method for row in made.rows))
    rows = {key: [row for row in made.rows if (row.task, row.metric) == key] for key in races}
    jobs = [partial(_drawn, figures, race, rows[key], folder, pdf) for key, race in races.items()]
    found: dict[tuple[str, str | None], dict[str, str]] = {}
    for i, (key, markup) in enumerate(zip(races, spread(jobs), strict=True)):
        progress(0.55 + 0.3 * i / len(races), f"drawing {key[0]}")
        found[key] = markup
    return found


def _drawn(figures: Figures, race: Race, rows: Sequence[Row], folder: Path, pdf: bool) -> dict[str, str]:
    name = slug(race.task, race.metric)
    return {kind: save(figure, folder, f"{name}-{kind}", pdf) for kind, figure in _figures(figures, race, rows).items()}


def _figures(figures: Figures, race: Race, rows: Sequence[Row]) -> dict[str, Figure]:
    tokens = "backward" if "backward" in race.axes else "step"
    shown = drawn(rows)
    made = {"curves": figures.curves(race, list(dict.fromkeys((tokens, "step"))), shown)}
    if any(row.saving is not None and not row.is_baseline for row in rows):
        few = [row for row in rows if (row.method, int(row.aa)) in shown]
        made |= {"forest": forest(few), "levels": figures.levels(race, few)}
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
