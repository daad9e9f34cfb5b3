"""Who is ahead of whom: tiers from comparisons with the best, and the grey rule, both adjusted by Holm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from leaderboard.curves import Floats
from leaderboard.intervals import ALPHA, p_value, t_interval
from leaderboard.stats import Ratios

Key = TypeVar("Key")


def holm(p: Floats) -> Floats:
    """(m,) p-values adjusted by Holm (1979): max over the smaller ones of (m - rank) p, at most 1.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order]), 1.0)
    adjusted = np.empty_like(stepped)
    adjusted[order] = stepped
    return adjusted


def tiers(rows: Mapping[Key, Ratios], baseline: Key, shades: Mapping[Key, bool]) -> dict[Key, int]:
    """Tier of each row, 1 the best: its head, and every row that can't be told from the head.

    The head of tier 1 is the row with the largest saving among those that save beyond doubt (among all, where none
    does). Every other row is compared with it by a paired t test on their common replicates; these comparisons with the
    best (Hsu 1981) are one family, adjusted by Holm. Rows that are not behind at 5% share the tier; the rest begin
    anew. Against the baseline the grey rule decides. A bound is an upper limit on a saving, so it may lose but never
    heads a tier while a measured row is left, nor stands in one above the baseline's: no saving is shown.

    Args:
        rows: with at least two replicates each, the baseline among them.
        shades: row -> grey, from `grey`, for every row but the baseline.
    """
    mean = {key: float(ratios.per_replicate.mean()) for key, ratios in rows.items()}
    sure = {key for key in rows if not shades.get(key, True) and mean[key] < 0}
    left = sorted(rows, key=lambda key: (rows[key].bound, key not in sure, mean[key]))
    found: dict[Key, int] = {}
    while left:
        head, rest = left[0], left[1:]
        behind = _behind(rows, head, [key for key in rest if baseline not in (key, head)])
        if head == baseline:
            behind |= {key for key in rest if not shades[key] and mean[key] > 0}
        elif baseline in rest and not shades[head] and mean[head] < 0:
            behind.add(baseline)
        if baseline in behind:
            behind |= {key for key in rest if rows[key].bound}
        found |= {key: max(found.values(), default=0) + 1 for key in left if key not in behind}
        left = [key for key in left if key in behind]
    return found


def _behind(rows: Mapping[Key, Ratios], head: Key, others: Sequence[Key]) -> set[Key]:
    """Which of the others need more tokens than the head beyond doubt."""
    excess = {key: difference(rows[key], rows[head]) for key in others}
    adjusted = holm(np.array([p_value(d) for d in excess.values()]))
    return {key for (key, d), p in zip(excess.items(), adjusted, strict=True) if p <= ALPHA and d.mean() > 0}


def difference(a: Ratios, b: Ratios) -> Floats:
    """(n,) d of `a` minus d of `b` on their common replicates."""
    _, i, j = np.intersect1d(a.usable_keys, b.usable_keys, return_indices=True)
    return np.asarray(a.per_replicate[i] - b.per_replicate[j])


def grey(rows: Mapping[Key, Ratios], control: Ratios | None) -> tuple[dict[Key, bool], dict[Key, float]]:
    """Which rows show no difference from the baseline, and their Holm-adjusted p against it.

    A row is grey where its multiplicity-adjusted interval contains 0 (adjusted p > 5%), where its saving lies within
    the half-width of the A/A row's interval (both as log ratios), or where it is an upper bound above 0.
    """
    keys = list(rows)
    adjusted = holm(np.array([p_value(rows[key].per_replicate) for key in keys]))
    noise = half_width(control)
    return (
        {key: _is_grey(rows[key], float(p), noise) for key, p in zip(keys, adjusted, strict=True)},
        {key: float(p) for key, p in zip(keys, adjusted, strict=True)},
    )


def _is_grey(ratios: Ratios, p: float, noise: float) -> bool:
    mean = float(ratios.per_replicate.mean())
    return p > ALPHA or abs(mean) <= noise or (ratios.bound and mean < 0)


def half_width(control: Ratios | None) -> float:
    """Half-width of the A/A row's interval, as a log ratio; 0 where there is none."""
    if control is None or control.usable.sum() < 2:
        return 0.0
    low, high = t_interval(control.per_replicate)
    return (high - low) / 2
