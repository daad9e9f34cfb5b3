"""Who is ahead of whom: Holm's step-down test over all pairs, turned into tiers, and the grey rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

import numpy as np

from leaderboard.curves import Floats
from leaderboard.stats import ALPHA, Ratios, p_value, t_interval

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


@dataclass(frozen=True)
class Pair:
    """One comparison of two rows: mean of d_first - d_second over their common replicates, and its adjusted p."""

    difference: float
    p: float


def compare(rows: Mapping[Key, Ratios]) -> dict[tuple[Key, Key], Pair]:
    """Every pair of rows by a paired t test on their common replicates, p adjusted by Holm over all the pairs."""
    d = {key: (ratios.usable_keys, ratios.per_replicate) for key, ratios in rows.items()}
    pairs = list(combinations(rows, 2))
    differences = [_paired(d[a], d[b]) for a, b in pairs]
    adjusted = holm(np.array([p_value(x) for x in differences]))
    return {
        pair: Pair(float(x.mean()) if len(x) else 0.0, float(p))
        for pair, x, p in zip(pairs, differences, adjusted, strict=True)
    }


def _paired(a: tuple[np.ndarray, Floats], b: tuple[np.ndarray, Floats]) -> Floats:
    _, i, j = np.intersect1d(a[0], b[0], return_indices=True)
    return np.asarray(a[1][i] - b[1][j])


def tiers(rows: Mapping[Key, Ratios]) -> dict[Key, int]:
    """Tier of each row, 1 the best. Rows that the data can't tell apart share one.

    Tier 1 is the row with the largest saving together with every row that Holm's test can't tell from it; take them
    out and repeat. A bound is an upper limit on a saving, so it may lose but never leads while a measured row is left.
    """
    pairs = compare(rows)
    mean = {key: float(ratios.per_replicate.mean()) for key, ratios in rows.items()}
    left = sorted(rows, key=lambda key: (rows[key].bound, mean[key]))
    found: dict[Key, int] = {}
    while left:
        leader = left[0]
        tied = [key for key in left if key == leader or not _behind(key, leader, pairs)]
        found |= dict.fromkeys(tied, max(found.values(), default=0) + 1)
        left = [key for key in left if key not in tied]
    return found


def _behind(key: Key, leader: Key, pairs: Mapping[tuple[Key, Key], Pair]) -> bool:
    """Whether `key` needs more tokens than `leader` beyond doubt."""
    pair = pairs.get((key, leader))
    difference = pair.difference if pair else -pairs[leader, key].difference
    p = pair.p if pair else pairs[leader, key].p
    return difference > 0 and p <= ALPHA


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
