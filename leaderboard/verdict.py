"""What a race says, in one sentence that does not overstate it."""

from __future__ import annotations

from collections.abc import Sequence

from leaderboard.row import Row

NOTED = 0.05  # more generated tokens than this share go into the verdict


def percent(share: float | None, digits: int = 0) -> str:
    """A share as per cent, with a true minus sign.

    >>> percent(-0.123)
    '−12%'
    """
    if share is None:
        return "–"
    text = f"{100 * share:.{digits}f}%"
    return text.lstrip("-") if float(text.strip("-%")) == 0 else text.replace("-", "−")


def estimate(row: Row) -> str:
    """`32% [30, 34]`, `≤ 12%` for a bound, `32%` where there is no interval."""
    if row.saving is None:
        return "–"
    text = f"≤ {percent(row.saving)}" if row.bound else percent(row.saving)
    if row.saving_low is None or row.saving_high is None:
        return text
    low, high = (percent(end).rstrip("%") for end in (row.saving_low, row.saving_high))
    return f"{text} [{low}, {high}]"


def methods(rows: Sequence[Row]) -> list[Row]:
    """The rows that compete: neither the baseline nor its repeat."""
    return [row for row in rows if not row.aa and not row.is_baseline]


def winners(rows: Sequence[Row]) -> list[Row]:
    """Methods of tier 1 that save tokens beyond doubt, the largest saving first; none where the baseline ties."""
    sure = [row for row in methods(rows) if row.tier == 1 and row.grey is False and (row.saving or 0) > 0]
    return sorted(sure, key=lambda row: -(row.saving or 0))


def verdict(rows: Sequence[Row]) -> str:
    """One sentence on the rows of one (task, metric)."""
    ahead = winners(rows)
    if ahead:
        return _win(ahead, rows)
    contenders = [row for row in methods(rows) if row.saving is not None]
    if not contenders:
        return _nothing(rows)
    top = max(contenders, key=lambda row: (not row.bound, row.saving or 0))  # an upper limit is no evidence
    if all(row.saving_low is None for row in contenders):
        return f"One seed says nothing about certainty. Largest saving: {top.method}, {estimate(top)}."
    return f"No strategy saves tokens beyond doubt against {top.baseline}. Nearest: {top.method}, {estimate(top)}."


def _win(ahead: Sequence[Row], rows: Sequence[Row]) -> str:
    first, evidence = ahead[0], f"{ahead[0].replicates:,} {ahead[0].replicate}s"
    tied = sum(row.tier == 1 for row in methods(rows)) - 1
    lead = f"{first.method} needs {percent(first.saving)} fewer tokens than {first.baseline}"
    sure = f"95% interval {percent(first.saving_low)} to {percent(first.saving_high)}, {evidence}"
    tie = f"; a tie with {tied} other{'s' if tied > 1 else ''}" if tied else "; ahead of every other strategy"
    return f"{lead} ({sure}){tie}.{_price(first)}"


def _price(row: Row) -> str:
    """What a saving in updates costs in rollouts, where it does: more steps to the same quality."""
    more = -row.saving_by_axis.get("generated", 0.0)
    return f" To get there it generates {percent(more)} more tokens." if more > NOTED else ""


def _nothing(rows: Sequence[Row]) -> str:
    if rows and rows[0].kind == "predicted":
        known = [row for row in methods(rows) if row.predicted is not None]
        best = max(known, key=lambda row: row.predicted or 0, default=None)
        if best is None:
            return "No prediction was made."
        return f"Predicted, at most: {best.method} would save {percent(best.predicted)} of the baseline's tokens."
    reasons = [": ".join(filter(None, (row.note, row.why))) for row in [*methods(rows), *rows] if row.note]
    return f"No saving can be stated: {reasons[0]}." if reasons else "Only the baseline was run."
