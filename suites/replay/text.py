"""The report for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from suites.replay.comparison import Row
from suites.replay.report import Report
from suites.replay.verify import Verdict


def render(report: Report) -> RenderableType:
    """What was read, a table that leads with tokens and variance, and the notes."""
    return Group(Text(_heading(report)), _table(report.rows), *(Text(f"* {note}") for note in report.notes()))


def _heading(report: Report) -> str:
    steps = report.log.steps
    shapes = {(len(step.pool), step.groups) for step in steps}
    each = "{:,} rollouts in {:,} groups".format(*shapes.pop()) if len(shapes) == 1 else ""
    total = f"{report.rollouts:,} rollouts in {report.total('groups'):,} groups"
    count = f"{len(steps):,} steps" + (f" of {each} each" if each else "") if len(steps) > 1 else "one step"
    zero = report.total("zero_variance") / report.rollouts
    return (
        f"{total}, {count}; {report.tokens:,.0f} tokens. {report.nonzero:,} rollouts have a nonzero advantage; "
        f"{zero:.1%} are in groups of equal rewards."
    )


COLUMNS = ("method", "tokens", "relative\nvariance", "tokens\nas drawn", "saving", "J/J*", "i.i.d.\ngain", "lost\nmass")


def _table(rows: Iterable[Row]) -> Table:
    table = _empty(COLUMNS, left=1)
    for row in sorted(rows, key=lambda row: -math.inf if row.saving is None else row.saving, reverse=True):
        table.add_row(
            row.method,
            f"{row.tokens_share:.3f}",
            _number(row.relative_variance),
            f"{row.tokens_share_drawn:.3f}",
            _percent(row.saving),
            _number(row.j_ratio),
            _percent(row.iid_gain),
            _percent(row.lost_mass),
        )
    return table


def render_check(verdict: Verdict) -> RenderableType:
    """The comparisons that are off, or how many there were."""
    count = len(verdict.comparisons)
    agree = f"{count - len(verdict.off)} of {count} closed forms agree with real draws"
    lines = [Text(f"check: {agree} (|z| <= {verdict.threshold:.2f})")]
    if verdict.unchecked:
        lines.append(Text(f"no closed form, or random themselves: {', '.join(verdict.unchecked)}"))
    if not verdict.off:
        return Group(*lines)
    table = _empty(("method", "step", "quantity", "closed form", "measured", "z"), left=3)
    for one in verdict.off:
        z = "-" if one.z is None else f"{one.z:.1f}"
        table.add_row(one.method, one.step, one.quantity, f"{one.closed_form:.6g}", f"{one.measured:.6g}", z)
    return Group(*lines, table)


def _empty(columns: Sequence[str], left: int) -> Table:
    """A table whose first `left` columns are text, the others numbers."""
    table = Table(box=None, header_style="bold", pad_edge=False, collapse_padding=True)
    for number, name in enumerate(columns):
        table.add_column(name, justify="left" if number < left else "right", no_wrap=True)
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
