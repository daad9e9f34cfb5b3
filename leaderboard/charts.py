"""What the charts of a task's page draw, as plain JSON: curves, savings by level, the front of cost and quality."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats as distributions

from leaderboard.curves import QUANTILES, Floats, on_grid
from leaderboard.intervals import ALPHA
from leaderboard.race import AXES, Entry, Race
from leaderboard.row import Row
from leaderboard.stats import Ratios
from leaderboard.style import INK, Look

DIGITS = 5  # significant: finer than any screen
NEAR = 12  # the front's level: 90% of the baseline's gain, as its very peak is noise
Numbers = list[float | None]


def task_data(
    races: Sequence[Race],
    rows: Sequence[Row],
    looks: Mapping[Entry, Look],
    shown: set[Entry],
    diagnostics: Mapping[str, Any],
) -> dict[str, Any]:
    """All charts of one task: axes, methods (in the order of `rows` of the headline metric), a tree for each metric.

    Args:
        shown: entries that are drawn at first; readers switch the others on.
        diagnostics: of `leaderboard.training.diagnostics`.
    """
    headline = [row for row in rows if row.headline]
    entries = [entry_of(row) for row in headline]
    axes = [axis for axis in AXES if any(axis in race.axes for race in races)]
    return {
        "axes": {axis: AXES[axis] for axis in axes},
        "methods": [
            {
                "name": row.method,
                "aa": row.aa,
                "baseline": row.is_baseline,
                "on": entry in shown,
                **_look(looks[entry]),
            }
            for row, entry in zip(headline, entries, strict=True)
        ],
        "metrics": [_metric(race, entries, [row for row in rows if row.metric == race.metric]) for race in races],
        "diagnostics": {
            name: {str(entries.index(entry)): curve for entry, curve in found.items() if entry in entries}
            for name, found in diagnostics.items()
        },
    }


def entry_of(row: Row) -> Entry:
    """The entry of a race that a row is about."""
    return row.method, int(row.aa)


def _look(look: Look) -> dict[str, Any]:
    dash = "solid" if look.dash == "-" else ",".join(f"{3 * part:g}px" for part in look.dash[1])
    return {"color": None if look.color == INK else look.color, "dash": dash, "width": look.width}


def _metric(race: Race, entries: Sequence[Entry], rows: Sequence[Row]) -> dict[str, Any]:
    own = {entry_of(row): row for row in rows}
    return {
        "name": race.metric,
        "better": "higher" if race.scale.direction == "up" else "lower",
        "log": race.scale.scale == "log",
        "curves": {axis: [_curve(race, entry, axis) for entry in entries] for axis in race.axes},
        "levels": {axis: [_levels(race.ratios(axis).get(entry)) for entry in entries] for axis in race.axes},
        "front": {axis: [_front(race, entry, axis) for entry in entries] for axis in race.axes},
        "theory": [_theory(own.get(entry)) for entry in entries],
    }


def _curve(race: Race, entry: Entry, axis: str) -> dict[str, Numbers] | None:
    """Mean over runs and a band of one standard deviation over runs, or over the trials of a single run."""
    curves = list(race.curves(entry, axis).values())
    if not curves:
        return None
    x, progress = on_grid(curves)
    if len(x) < 2:
        x, progress = curves[0].x, curves[0].y[None]
    middle = progress.mean(axis=0)
    band = _seed_band(race, progress) if len(curves) > 1 else _trial_band(race, entry, axis, x)
    tree = {"x": rounded(x), "y": rounded(race.scale.values(middle))}
    return tree if band is None else tree | {"low": rounded(np.minimum(*band)), "high": rounded(np.maximum(*band))}


def _seed_band(race: Race, progress: Floats) -> tuple[Floats, Floats]:
    middle, sd = progress.mean(axis=0), progress.std(axis=0, ddof=1)
    return race.scale.values(middle - sd), race.scale.values(middle + sd)


def _trial_band(race: Race, entry: Entry, axis: str, x: Floats) -> tuple[Floats, Floats] | None:
    series = next(iter(race.series[entry].values()))
    known = np.isfinite(series.sd) & np.isfinite(series.value) & (series.n > 1)
    if known.sum() < 2:
        return None
    value = np.interp(x, series.cost[axis][known], series.value[known])
    sd = np.interp(x, series.cost[axis][known], series.sd[known])
    low = value - sd
    if race.scale.scale == "log":  # a band that reached 0 would have no lower end
        low = np.maximum(low, 0.05 * value)
    return low, value + sd


def _levels(ratios: Ratios | None) -> dict[str, Numbers] | None:
    """Saving at every level with its 95% interval (Student t over the replicates that can be compared there)."""
    if ratios is None:
        return None
    n = ratios.compared.sum(axis=0)
    r = np.where(n > 0, ratios.ratio, 0.0)
    mean = np.where(n > 0, np.nanmean(r, axis=0), np.nan)
    half = np.full(len(n), np.nan)
    if (n > 1).any():
        at = n > 1
        error = np.nanstd(r[:, at], axis=0, ddof=1) / np.sqrt(n[at])
        half[at] = distributions.t.ppf(1 - ALPHA / 2, n[at] - 1) * error
    missed = 2 * ratios.missed.sum(axis=0) > n
    return {
        "y": rounded(-np.expm1(mean)),
        "low": rounded(-np.expm1(mean + half)),
        "high": rounded(-np.expm1(mean - half)),
        "missed": [bool(each) for each in missed],
    }


def _front(race: Race, entry: Entry, axis: str) -> dict[str, Any] | None:
    """What it takes to come near the baseline's peak, and where the method ends: means and deviations over runs.

    A run that never comes there enters at all that it spent; `missed` says that most do.
    """
    curves = list(race.curves(entry, axis).values())
    if not curves or race.levels is None:
        return None
    goal = race.levels[NEAR : NEAR + 1]
    cost = np.array([curve.reach(goal)[0] for curve in curves])
    missed = ~np.isfinite(cost)
    cost = np.where(missed, [curve.end for curve in curves], cost)
    peak = np.array([curve.fit[-1] for curve in curves])
    spread = [float(each.std(ddof=1)) if len(curves) > 1 else 0.0 for each in (cost, peak)]
    ends = race.scale.values(peak.mean() + np.array([-spread[1], 0.0, spread[1]]))
    found = {"x": cost.mean(), "x_sd": spread[0], "y": ends[1], "low": min(ends), "high": max(ends)}
    return {name: rounded([value])[0] for name, value in found.items()} | {"missed": bool(2 * missed.sum() > len(cost))}


def _theory(row: Row | None) -> dict[str, float | None] | None:
    if row is None or row.predicted is None or row.saving is None or row.is_baseline:
        return None
    values = {"x": row.predicted, "y": row.saving, "low": row.saving_low, "high": row.saving_high}
    return {name: None if value is None else rounded([value])[0] for name, value in values.items()}


def levels_axis() -> Numbers:
    """The shares of the baseline's gain at which savings are compared."""
    return rounded(QUANTILES)


def rounded(values: Iterable[float] | Floats) -> Numbers:
    """Five significant digits, None for what is not finite.

    >>> rounded([1234567.0, 0.123456789, float("nan"), 0.0])
    [1234600.0, 0.12346, None, 0.0]
    """
    return listed(short(np.asarray(values, dtype=np.float64)))


def short(array: Floats) -> Floats:
    """The same values in five significant digits."""
    with np.errstate(divide="ignore", invalid="ignore"):
        places = DIGITS - 1 - np.floor(np.log10(np.abs(array)))
    places = np.where(np.isfinite(places), np.clip(places, -300, 300), 0.0)
    up, down = 10.0 ** np.maximum(places, 0), 10.0 ** np.maximum(-places, 0)  # powers of ten >= 1 are exact
    return np.asarray(np.round(array * up / down) * down / up)


def listed(array: Floats) -> Numbers:
    """As a list, None for what is not finite."""
    finite = np.isfinite(array)
    values: Numbers = array.tolist()
    return values if finite.all() else [value if ok else None for value, ok in zip(values, finite, strict=True)]
