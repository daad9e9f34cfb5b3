"""What the finished runs of one race say: every figure of its rows, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from leaderboard import gains, intervals, stats, tiers
from leaderboard.curves import QUANTILES
from leaderboard.peak import own_peak_saving, peak_savings
from leaderboard.race import Entry, Race
from leaderboard.row import Level, PeakTarget, Row
from leaderboard.stats import Interval, Ratios

DELTAS = (0.0, 0.005, 0.01, 0.02)  # below the baseline's peak, on the metric's scale


def measured(race: Race, planned: Mapping[Entry, Row], delta: float) -> dict[Entry, Row]:
    """The rows of one race with all that its finished runs say."""
    rows = {entry: replace(row, **_prediction(race, entry, row.kind)) for entry, row in planned.items()}
    if next(iter(rows.values())).kind == "predicted":
        return rows
    compared = race.ratios()
    certain = {entry: ratios for entry, ratios in compared.items() if ratios.usable.sum() > 1}
    shades, p = _shades(race, certain)
    ranks = tiers.tiers(certain, (race.baseline or "", 0), shades) if len(certain) > 1 else {}
    by_axis = _by_axis(race)
    for entry, row in rows.items():
        row = replace(row, note=row.note or _note(race, entry, compared), **_peak(race, entry, delta))
        if entry in compared:
            row = replace(row, **_saving(race, compared[entry], is_baseline=row.is_baseline))
            axes = {axis: savings[entry] for axis, savings in by_axis.items() if entry in savings}
            row = replace(row, saving_by_axis=axes, saving_drawn=axes.get("backward_drawn"))
        rows[entry] = replace(row, tier=ranks.get(entry), grey=shades.get(entry), p_adjusted=p.get(entry))
    return _with_control(rows, tiers.half_width(_control(race, certain)))


def _with_control(rows: Mapping[Entry, Row], half_width: float) -> dict[Entry, Row]:
    """The rows with the A/A row's figures beside theirs: what drawing again does."""
    control = next((row for row in rows.values() if row.aa), None)
    if control is None:
        return dict(rows)
    beside: dict[str, Any] = {"aa_half_width": half_width or None, "aa_peak_gain_pp": control.peak_gain_pp}
    return {entry: row if row.is_baseline else replace(row, **beside) for entry, row in rows.items()}


def _control(race: Race, compared: Mapping[Entry, Ratios]) -> Ratios | None:
    """The A/A row's ratios."""
    return next((r for (method, repeat), r in compared.items() if method == race.baseline and repeat > 0), None)


def _saving(race: Race, ratios: Ratios, is_baseline: bool) -> dict[str, Any]:
    d = ratios.per_replicate
    found = {} if is_baseline else intervals.every(d)
    low, high = found.get("t", (None, None))
    return {
        "saving": stats.saving(float(d.mean())),
        "saving_low": low,
        "saving_high": high,
        "bound": ratios.bound,
        "levels_reached": ratios.levels_reached,
        "levels_compared": ratios.levels_compared,
        "missed_share": ratios.missed_share,
        "dropped": ratios.dropped,
        "replicates": len(d),
        "replicate": "trial" if race.trials else "seed",
        "intervals": found,
        "n_seeds_5pp": None if is_baseline else intervals.seeds_needed(d, 0.05),
        "n_seeds_10pp": None if is_baseline else intervals.seeds_needed(d, 0.10),
        "by_level": tuple(_levels(race, ratios)),
        **({} if is_baseline else _with_interval("probability_of_improvement", *gains.probability_of_improvement(d))),
    }


def _levels(race: Race, ratios: Ratios) -> Iterable[Level]:
    assert race.levels is not None
    values = race.scale.values(race.levels)
    for i, (q, value) in enumerate(zip(QUANTILES, values, strict=True)):
        r = ratios.ratio[ratios.compared[:, i], i]
        low, high = stats.savings(*intervals.t_interval(r)) if len(r) > 1 else (None, None)
        mean = stats.saving(float(r.mean())) if len(r) else None
        yield Level(round(float(q), 2), float(value), mean, low, high, len(r), int(ratios.missed[:, i].sum()))


def _by_axis(race: Race) -> dict[str, dict[Entry, float]]:
    """axis -> entry -> saving on that axis, at the same levels."""
    return {
        axis: {entry: stats.saving(float(r.per_replicate.mean())) for entry, r in race.ratios(axis).items()}
        for axis in race.axes
    }


def _shades(race: Race, certain: Mapping[Entry, Ratios]) -> tuple[dict[Entry, bool], dict[Entry, float]]:
    """Grey and adjusted p: methods as one family; the A/A row, a control, on its own; the baseline not at all."""
    control = {entry: r for entry, r in certain.items() if entry[0] == race.baseline and entry[1] > 0}
    methods = {entry: r for entry, r in certain.items() if entry[0] != race.baseline}
    shades, p = tiers.grey(methods, _control(race, certain))
    control_shades, control_p = tiers.grey(control, None)
    return shades | control_shades, p | control_p


def _peak(race: Race, entry: Entry, delta: float) -> dict[str, Any]:
    """The paper's rules, and gains at equal tokens: figures of curves, so seeds are the replicates."""
    if race.baseline is None:
        return {}
    method, base = race.curves(entry, "backward"), race.curves((race.baseline, 0), "backward")
    peak, *targets = peak_savings(method, base, (delta, *DELTAS))
    found: dict[str, Any] = {"peak_saving": peak.saving, "hits": peak.hits, "pairs": peak.pairs}
    if race.scale.scale == "linear":  # points of a logarithm mean nothing
        found |= _gain("peak_gain_pp", gains.gain(method, base, gains.peak), 100)
    if entry == (race.baseline, 0):
        return found
    at = zip(DELTAS, targets, strict=True)
    found["peak_targets"] = tuple(PeakTarget(each, peak.saving, peak.hits, peak.pairs) for each, peak in at)
    if own := own_peak_saving(method, base, race.scale):
        found |= _with_interval("own_peak_saving", *own)
    found |= _gain("equal_tokens_gain", gains.gain(method, base, gains.at_equal_tokens))
    return found | _gain("area_gain", gains.gain(method, base, gains.area))


def _gain(name: str, found: gains.Gain | None, factor: float = 1) -> dict[str, Any]:
    if found is None:
        return {}
    low, high = found.interval or (None, None)
    return _with_interval(
        name, factor * found.mean, None if low is None or high is None else (factor * low, factor * high)
    )


def _with_interval(name: str, value: float, interval: Interval | None) -> dict[str, Any]:
    low, high = interval or (None, None)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _prediction(race: Race, entry: Entry, kind: str) -> dict[str, Any]:
    """What theory, or a replay of logs, says of the saving, from the diagnostics of the last evaluations."""
    last = [series.last for series in race.series.get(entry, {}).values()]
    if kind == "predicted":
        return {"predicted": last[0].get("saving"), "diagnostics": dict(last[0])} if last else {}
    base = [series.last for series in race.series.get((race.baseline or "", 0), {}).values()]
    own, other = _mean(last, "J"), _mean(base, "J")
    return {"predicted": 1 - own / other} if own is not None and other else {}


def _mean(diagnostics: Iterable[Mapping[str, float | None]], name: str) -> float | None:
    known = [value for each in diagnostics if (value := each.get(name)) is not None]
    return float(np.mean(known)) if known else None


def _note(race: Race, entry: Entry, compared: Mapping[Entry, Ratios]) -> str:
    """Why a figure is missing; empty where all are there."""
    if entry not in race.series:
        return "no finished run with this metric"
    if race.baseline is None:
        return "no finished run of a baseline to compare with"
    if not race.curves((race.baseline, 0), "backward"):
        return "the baseline has fewer than two evaluations with a value"
    if race.levels is None:
        return "the baseline gains nothing: there is no level to reach"
    if entry not in compared:
        return "no seed in common with the baseline, or no level that the baseline reaches"
    if compared[entry].usable.sum() < 2:
        return "one seed: no interval, no tier"
    return ""
