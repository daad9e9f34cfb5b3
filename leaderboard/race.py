"""Who ran against whom: the curves of one (task, metric), paired by seed, as arms that the statistics can compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np
import pandas as pd

from bench.records import Records
from leaderboard.curves import Curve, Floats, Scale, levels_of
from leaderboard.stats import Arm, Ratios, log_ratios

Entry = tuple[str, int]  # (method, repeat): what a row is about; repeat > 0 is the A/A repeat

AXES = {
    "backward": "tokens processed in updates",
    "backward_drawn": "tokens drawn, duplicates counted (the paper's count)",
    "generated": "tokens generated",
    "wall_s": "wall time (s)",
    "step": "steps",
}
# Synthetic tasks draw one component a step: nothing to fold, so both token counts are the trial's cost.
TRIAL_COLUMN = {"backward": "cost", "backward_drawn": "cost", "step": "iterations"}
TRIAL_KEY = 1 << 32  # a trial's key is seed * TRIAL_KEY + trial
# Trials draw independently: at a level that only lucky trials of the baseline reach, a repeat of it looks different.
# Such levels are dropped for all trials (simulated at a 50% spread of costs: the A/A row is off by 0.02%, not 0.8%).
WIDELY = 0.95


@dataclass(frozen=True, eq=False)
class Series:
    """The evaluations of one run in one metric, in order of steps: arrays (K,), one cost per axis."""

    run: str
    value: Floats
    sd: Floats
    n: Floats
    cost: Mapping[str, Floats]
    last: Mapping[str, float | None]  # diagnostics of the last evaluation

    def curve(self, axis: str, scale: Scale) -> Curve | None:
        return Curve.of(self.cost[axis], scale.progress(self.value))


@dataclass(frozen=True, eq=False)
class Race:
    """All finished runs of one (task, metric)."""

    task: str
    metric: str
    scale: Scale
    baseline: str | None
    series: Mapping[Entry, Mapping[int, Series]]  # entry -> seed -> evaluations
    trials: Mapping[str, pd.DataFrame]  # run -> trials of this metric; empty where seeds are the replicates
    _curves: dict[tuple[Entry, str], dict[int, Curve]] = field(default_factory=dict)
    _ratios: dict[str, dict[Entry, Ratios]] = field(default_factory=dict)

    def curves(self, entry: Entry, axis: str) -> dict[int, Curve]:
        """seed -> curve, without the runs that have none; made once, as every figure and statistic starts here."""
        if (entry, axis) not in self._curves:
            made = {seed: series.curve(axis, self.scale) for seed, series in self.series.get(entry, {}).items()}
            self._curves[entry, axis] = {seed: curve for seed, curve in made.items() if curve is not None}
        return self._curves[entry, axis]

    @cached_property
    def levels(self) -> Floats | None:
        """The 15 levels in progress; None without a finished baseline, or with one that gains nothing."""
        if self.baseline is None:
            return None
        curves = list(self.curves((self.baseline, 0), "backward").values())
        return levels_of(curves) if curves else None

    @cached_property
    def axes(self) -> list[str]:
        """The axes on which this race can be read."""
        every = [series for seeds in self.series.values() for series in seeds.values()]
        known = [axis for axis in AXES if not self.trials or axis in TRIAL_COLUMN]
        return [axis for axis in known if any(np.nanmax(series.cost[axis], initial=0) > 0 for series in every)]

    def ratios(self, axis: str = "backward") -> dict[Entry, Ratios]:
        """Log cost ratios to the baseline for each entry with at least one pair; the baseline's own are 0."""
        key = TRIAL_COLUMN[axis] if self.trials else axis
        if key not in self._ratios:
            self._ratios[key] = self._compare(axis)
        return self._ratios[key]

    def _compare(self, axis: str) -> dict[Entry, Ratios]:
        if self.levels is None or self.baseline is None:
            return {}
        arms = {entry: self.arm(entry, axis) for entry in self.series}
        base = _widely_reached(arms[self.baseline, 0]) if self.trials else arms[self.baseline, 0]
        compared = {entry: log_ratios(arm, base) for entry, arm in arms.items()}
        return {entry: ratios for entry, ratios in compared.items() if ratios.usable.any()}

    def arm(self, entry: Entry, axis: str) -> Arm:
        """What reaching each level cost this entry's replicates."""
        assert self.levels is not None
        if self.trials:
            return self._trial_arm(entry, axis, self.levels)
        curves = self.curves(entry, axis)
        cost = np.array([curve.reach(self.levels) for curve in curves.values()]).reshape(-1, len(self.levels))
        return Arm(np.array(list(curves), dtype=np.int64), cost, np.array([curve.end for curve in curves.values()]))

    def _trial_arm(self, entry: Entry, axis: str, levels: Floats) -> Arm:
        parts = []
        for seed, series in self.series[entry].items():
            trial, cost = trial_costs(self.trials[series.run], TRIAL_COLUMN[axis], self.scale, levels)
            end = np.full(len(trial), np.nanmax(series.cost[axis]))
            parts.append((seed * TRIAL_KEY + trial, cost, end))
        keys, cost, end = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Arm(keys, cost, end)


def _widely_reached(arm: Arm) -> Arm:
    """The arm without the levels that more than 5% of its replicates miss."""
    return replace(arm, cost=np.where(np.isfinite(arm.cost).mean(axis=0) >= WIDELY, arm.cost, np.nan))


def trial_costs(trials: pd.DataFrame, name: str, scale: Scale, levels: Floats) -> tuple[np.ndarray, Floats]:
    """Trial numbers (n,) and the cost (n, L) at which each first reaches each level; NaN = never.

    The records hold costs on a fixed grid of levels; in between they are linear on the metric's scale. A level that is
    on the grid up to rounding is taken from there.
    """
    number, row = np.unique(trials["trial"].to_numpy(), return_inverse=True)
    level, column = np.unique(scale.progress(trials["level"].to_numpy()), return_inverse=True)
    cost = np.full((len(number), len(level)), np.nan)
    cost[row, column] = trials[name].to_numpy(dtype=np.float64)
    right = np.clip(np.searchsorted(level, levels, side="left"), 1, len(level) - 1)
    share = np.clip((levels - level[right - 1]) / (level[right] - level[right - 1]), 0.0, None)
    share = np.where(np.abs(share - share.round()) < 1e-9, share.round(), share)
    exact = np.where(share == 0, cost[:, right - 1], (1 - share) * cost[:, right - 1] + share * cost[:, right])
    return number.astype(np.int64), np.where(share > 1, np.nan, exact)


def races(records: Records) -> Iterator[Race]:
    """One race per task and metric that its runs declare, headline metric first; only finished runs take part."""
    finished = records.runs[records.runs["state"] == "ok"]
    series = _series(records.points, set(finished["run"]))
    for task, runs in finished.groupby("task", sort=False):
        declared = {name: reading for metrics in runs["metrics"] for name, reading in metrics.items()}
        read = cache(records.trials)  # one file has the trials of all metrics
        for metric, reading in declared.items():
            found = _entries(runs, metric, series)
            baseline = records.baselines.get(str(task))
            named = baseline if (baseline, 0) in found else None
            yield Race(str(task), metric, Scale.of(reading), named, found, _trials(read, metric, found))


def _entries(
    runs: pd.DataFrame, metric: str, series: Mapping[tuple[str, str], Series]
) -> dict[Entry, dict[int, Series]]:
    found: dict[Entry, dict[int, Series]] = {}
    for run, method, repeat, seed in zip(runs["run"], runs["method"], runs["repeat"], runs["seed"], strict=True):
        if (run, metric) in series:
            found.setdefault((method, int(repeat)), {})[int(seed)] = series[run, metric]
    return found


def _trials(
    read: Callable[[str], pd.DataFrame | None], metric: str, series: Mapping[Entry, Mapping[int, Series]]
) -> dict[str, pd.DataFrame]:
    """run -> its trials of the metric, for all runs or, where one lacks them, for none."""
    found: dict[str, pd.DataFrame] = {}
    for each in (series for seeds in series.values() for series in seeds.values()):
        trials = read(each.run) if np.nanmax(each.n, initial=1) > 1 else None
        if trials is None or not (trials["metric"] == metric).any():
            return {}
        found[each.run] = trials.loc[trials["metric"] == metric, ["trial", "level", *set(TRIAL_COLUMN.values())]]
    return found


def _series(points: pd.DataFrame, runs: set[str]) -> dict[tuple[str, str], Series]:
    """(run, metric) -> its evaluations; arrays are cut from one sorted table, so there is no loop over points."""
    table = points[(points["phase"] == "eval") & points["run"].isin(runs)]
    table = table.sort_values(["run", "metric", "step"], kind="stable")
    if table.empty:
        return {}
    run, metric = table["run"].to_numpy(dtype=object), table["metric"].to_numpy(dtype=object)
    cuts = np.flatnonzero((run[1:] != run[:-1]) | (metric[1:] != metric[:-1])) + 1
    numbers = {name: table[name].to_numpy(dtype=np.float64) for name in ("value", "sd", "n", *AXES)}
    diagnostics = table["diagnostics"].to_numpy(dtype=object)
    found = {}
    for i, j in zip([0, *cuts], [*cuts, len(table)], strict=True):
        part = {name: array[i:j] for name, array in numbers.items()}
        value, sd, n = (part.pop(name) for name in ("value", "sd", "n"))
        found[run[i], metric[i]] = Series(run[i], value, sd, n, part, diagnostics[j - 1] or {})
    return found
