"""The overview: one HTML file with everything in it, from rows, figures and records."""

from __future__ import annotations

from collections.abc import Sequence

from leaderboard.board import Board
from leaderboard.claims import Claim
from leaderboard.pages import Pages
from leaderboard.sections import Section, grid, matrix

FIGURES = 1_500_000  # bytes of them on the overview; the rest are on their tasks' pages


def _pictured(sections: Sequence[Section]) -> list[Section]:
    """The first sections whose curves fit into the overview."""
    found, size = [], 0
    for section in sections:
        size += len(section.figures.get("curves", ""))
        if section.figures and size <= FIGURES:
            found.append(section)
    return found


def render(board: Board, every: Sequence[Section], claims: Sequence[Claim], pages: Pages) -> str:
    """The text of index.html. `every`: the sections of the board; `claims`: of the paper, that it speaks to."""
    first = [section for section in every if section.first.headline]
    measured = [section for section in first if section.first.kind == "measured"]
    rows = [row for section in measured for row in section.rows]
    return pages.text(
        "index.html.j2",
        measured=measured,
        pictured=_pictured(measured),
        replayed=[section for section in first if section.first.kind == "predicted"],
        matrix=matrix(board.rows),
        rows=rows,
        shown=lambda name: any(getattr(row, name) is not None for row in rows),
        grid=grid(board),
        claims=claims,
        states=board.records.runs["state"].value_counts().to_dict(),
        total=len(board.records.runs),
    )
