"""What changed between two boards, and which changes are more than noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy import stats as distributions

from leaderboard.board import Board
from leaderboard.curves import Floats
from leaderboard.intervals import ALPHA, p_value, t_interval
from leaderboard.row import Row, finite
from leaderboard.stats import Interval, Ratios
from leaderboard.tiers import difference, holm
from leaderboard.verdict import estimate, percent

Key = tuple[str, str | None, str, bool]  # task, metric, method, whether it is the A/A row
KINDS = ("moved", "state", "new", "gone", "within noise", "can't be told", "same")
SHOWN = ("saving", "saving_low", "saving_high", "bound", "tier", "state", "seeds", "replicates")


@dataclass(frozen=True)
class Change:
    """One row of either board.

    kind: `new` and `gone` rows; `state` where another number of runs is finished or the state is another and no saving
    can be compared; `same` to the last digit; `moved` where the change of the saving is beyond doubt (Holm-adjusted
    p <= 5%), else `within noise`; `can't be told` from one replicate, from none, or from a bound.
    """

    task: str
    metric: str | None
    method: str
    aa: bool
    kind: str
    before: Row | None
    after: Row | None
    cost: float | None = None  # tokens against the baseline's, after over before, less 1: > 0 needs more than it did
    cost_low: float | None = None
    cost_high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; of the rows, what can change."""
        tree = {key: value for key, value in asdict(self).items() if key not in ("before", "after")}
        sides = (("before", self.before), ("after", self.after))
        rows = {side: {name: getattr(row, name) for name in SHOWN} if row else None for side, row in sides}
        plain: dict[str, Any] = finite(tree | rows)
        return plain


def changes(before: Board, after: Board) -> list[Change]:
    """Every row of either board, in the order of KINDS.

    Savings are compared by d, the log ratios of tokens to the same board's baseline: with a paired t test where both
    boards have the same replicates (seeds share their worlds), else with Welch's. Where boards share runs, Welch's
    test takes them for independent and so finds too little rather than too much. All comparisons are one family,
    adjusted by Holm.
    """
    old, new = ({_key(row): row for row in board.rows} for board in (before, after))
    found = []
    for key in dict.fromkeys([*old, *new]):
        change = Change(*key, kind="", before=old.get(key), after=new.get(key))
        if key in old and key in new:
            found.append(_compared(change, _ratios(before, old[key]), _ratios(after, new[key])))
        else:
            found.append(replace(change, kind="gone" if key in old else "new"))
    return sorted(_adjusted(found), key=lambda change: KINDS.index(change.kind))


def _key(row: Row) -> Key:
    return row.task, row.metric, row.method, row.aa


def _ratios(board: Board, row: Row) -> Ratios | None:
    race = board.races.get((row.task, row.metric or ""))
    if race is None or row.saving is None:
        return None
    return next((r for (name, again), r in race.ratios().items() if (name, again > 0) == (row.method, row.aa)), None)


def _compared(change: Change, old: Ratios | None, new: Ratios | None) -> Change:
    assert change.before is not None
    assert change.after is not None
    if old is None or new is None or change.after.is_baseline or change.before.is_baseline:
        differs = (old is None) != (new is None) or _standing(change.before) != _standing(change.after)
        return replace(change, kind="state" if differs else "same")
    a, b = old.per_replicate, new.per_replicate
    if np.array_equal(a, b):
        return replace(change, kind="same", cost=0.0)
    cost = float(np.expm1(b.mean() - a.mean()))
    if min(len(a), len(b)) < 2 or old.bound or new.bound:
        return replace(change, kind="can't be told", cost=cost)
    paired = np.array_equal(np.sort(old.usable_keys), np.sort(new.usable_keys))
    (low, high), p = _paired(difference(new, old)) if paired else _welch(b, a)
    return replace(change, cost=cost, cost_low=float(np.expm1(low)), cost_high=float(np.expm1(high)), p=p)


def _standing(row: Row) -> tuple[Any, ...]:
    return row.state, row.states, row.baseline, row.note, row.predicted


def _paired(d: Floats) -> tuple[Interval, float]:
    return t_interval(d), p_value(d)


def _welch(b: Floats, a: Floats) -> tuple[Interval, float]:
    """Interval and p of mean b - mean a, of unequal variances (Welch 1947)."""
    mean = float(b.mean() - a.mean())
    if np.ptp(a) == 0 and np.ptp(b) == 0:
        return (mean, mean), 0.0
    test = distributions.ttest_ind(b, a, equal_var=False)
    ends = test.confidence_interval(1 - ALPHA)
    return (float(ends.low), float(ends.high)), float(test.pvalue)


def _adjusted(found: list[Change]) -> list[Change]:
    """With Holm's p over all comparisons, and what follows from it."""
    tested = [i for i, change in enumerate(found) if change.p is not None]
    adjusted = holm(np.array([found[i].p for i in tested], dtype=np.float64))
    for i, p in zip(tested, adjusted, strict=True):
        found[i] = replace(found[i], p_adjusted=float(p), kind="moved" if p <= ALPHA else "within noise")
    return found


def table(found: list[Change]) -> str:
    """The changes as text: a line a row that is not the same, and a count of all."""
    counts = {kind: sum(change.kind == kind for change in found) for kind in KINDS}
    summary = ", ".join(f"{number} {kind}" for kind, number in counts.items() if number) or "no rows"
    shown = [change for change in found if change.kind != "same"]
    if not shown:
        return summary
    head = ("task", "metric", "method", "before", "after", "tokens needed", "change")
    lines = [head, *(tuple(cell(change) for cell in CELLS) for change in shown)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([*text, "", summary])


def _side(row: Row | None) -> str:
    """A saving with its interval, or what became of the runs."""
    if row is None:
        return "–"
    return estimate(row) if row.saving is not None else row.state


def _cost(change: Change) -> str:
    if change.cost is None:
        return "–"
    text = f"{'+' if change.cost > 0 else ''}{percent(change.cost)}"
    if change.cost_low is None or change.cost_high is None:
        return text
    return f"{text} [{percent(change.cost_low).rstrip('%')}, {percent(change.cost_high).rstrip('%')}]"


def _kind(change: Change) -> str:
    runs = [f"{row.states.get('ok', 0)} of {sum(row.states.values())}" for row in (change.before, change.after) if row]
    p = change.p_adjusted
    more = [] if p is None else ["p < 0.001" if p < 0.001 else f"p = {p:.3f}"]
    more += [f"runs finished: {' -> '.join(runs)}"] if len(set(runs)) > 1 else []
    return f"{change.kind} ({'; '.join(more)})" if more else change.kind


CELLS: tuple[Callable[[Change], str], ...] = (
    lambda change: change.task,
    lambda change: change.metric or "–",
    lambda change: f"{change.method} (A/A)" if change.aa else change.method,
    lambda change: _side(change.before),
    lambda change: _side(change.after),
    _cost,
    _kind,
)
