"""Figures of one race: quality against cost, savings with intervals, savings at every level."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator, PercentFormatter

from leaderboard.curves import QUANTILES, Floats, on_grid
from leaderboard.race import AXES, Entry, Race
from leaderboard.row import Row
from leaderboard.style import BASELINE, CONTROL, COSTS, FAINT, INK, NOISE, SAVES, Look, drawing

FLOOR = -1.0  # savings below are drawn at this edge with their number: one hopeless method hides no other
BARS, POINTS = 9, 50  # error bars and points a curve: no more can be told apart on a page


@dataclass(frozen=True)
class Figures:
    """Draws figures in one look; `looks` maps methods to theirs."""

    looks: Mapping[str, Look]

    def look(self, baseline: str | None, entry: Entry) -> Look:
        if entry[0] != baseline:
            return self.looks[entry[0]]
        return CONTROL if entry[1] else BASELINE

    def curves(self, race: Race, axes: Sequence[str], shown: Collection[Entry]) -> Figure:
        """Metric against each axis: mean over runs, with bands (sd over seeds) or bars (sd over a run's trials)."""
        with drawing():
            figure = Figure(figsize=(5.1 * len(axes) + 1.9, 3.5), layout="constrained")
            for i, axis in enumerate(axes):
                ax = figure.add_subplot(1, len(axes), i + 1)
                for k, entry in enumerate(entry for entry in _baseline_last(race) if entry in shown):
                    _curve(ax, race, entry, axis, self.look(race.baseline, entry), k)
                _dress(ax, race, axis, first=i == 0)
            handles, labels = figure.axes[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside right upper")
            return figure

    def levels(self, race: Race, rows: Sequence[Row]) -> Figure:
        """Saving at every level, so that no one threshold decides; hollow where the method mostly misses it."""
        with drawing():
            figure = Figure(figsize=(5.4, 3.5), layout="constrained")
            ax = figure.add_subplot()
            for row in rows:
                if row.by_level and not row.is_baseline:
                    _levels(ax, row, self.look(race.baseline, (row.method, int(row.aa))))
            ax.axhline(0, color=INK, lw=1)
            ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
            ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
            low, high = ax.get_ylim()
            ax.set_ylim(max(low, FLOOR), min(high, 1.0))
            ax.set_xlabel("level: share of the baseline's gain")
            ax.set_ylabel("tokens saved")
            sns.despine(ax=ax)
            return figure


def forest(rows: Sequence[Row]) -> Figure:
    """Savings with their intervals, best first; the band is the A/A row's half-width, what noise alone does."""
    shown = [row for row in rows if row.saving is not None and not row.is_baseline]
    shown.sort(key=lambda row: -(row.saving or 0.0))
    with drawing():
        figure = Figure(figsize=(5.4, 0.9 + 0.27 * max(len(shown), 3)), layout="constrained")
        ax = figure.add_subplot()
        _noise_band(ax, shown)
        for y, row in enumerate(shown):
            _estimate(ax, y, row)
        ax.axvline(0, color=INK, lw=1)
        ax.set_yticks(range(len(shown)), [label(row.method, row.aa) for row in shown])
        ax.set_ylim(len(shown) - 0.4, -0.6)
        ax.set_xlim(max(FLOOR, ax.get_xlim()[0]), min(1.0, ax.get_xlim()[1]))
        ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        ax.set_xlabel("tokens saved at equal quality (95% interval)")
        ax.grid(axis="y", visible=False)
        sns.despine(ax=ax, left=True)
        ax.tick_params(axis="y", length=0)
        return figure


def label(method: str, aa: bool, width: int = 34) -> str:
    """A method's name as figures show it: shortened, nothing read as mathematics."""
    name = method if len(method) <= width else f"{method[: width - 1]}…"
    return (f"{name} (A/A)" if aa else name).replace("$", r"\$")


def _baseline_last(race: Race) -> list[Entry]:
    return sorted(race.series, key=lambda entry: entry[0] == race.baseline)


def _curve(ax: Axes, race: Race, entry: Entry, axis: str, look: Look, k: int) -> None:
    curves = list(race.curves(entry, axis).values())
    if not curves:
        return
    x, progress = on_grid(curves, POINTS)
    if len(x) < 2:
        x, progress = curves[0].x, curves[0].y[None]
    mean = race.scale.values(progress.mean(axis=0))
    ax.plot(x, mean, color=look.color, lw=look.width, ls=look.dash, label=label(entry[0], bool(entry[1])))
    if len(curves) > 1:
        middle, sd = progress.mean(axis=0), progress.std(axis=0, ddof=1)
        low, high = race.scale.values(middle - sd), race.scale.values(middle + sd)
        ax.fill_between(x, low, high, color=look.color, alpha=0.12, lw=0)
    elif (bars := _bars(race, entry, axis, k)) is not None:
        ax.errorbar(*bars, fmt="none", ecolor=look.color, elinewidth=0.9, capsize=1.8, alpha=0.8)


def _bars(race: Race, entry: Entry, axis: str, k: int) -> tuple[Floats, Floats, Floats] | None:
    """x, y and sd of a few points of a single run that knows the spread of its trials; staggered by k."""
    series = next(iter(race.series[entry].values()))
    known = np.flatnonzero(np.isfinite(series.sd) & np.isfinite(series.value) & (series.n > 1))
    if len(known) < 2:
        return None
    stride = max(1, len(known) // BARS)
    at = known[k % stride :: stride]
    sd = series.sd[at]
    if race.scale.scale == "log":  # a bar that reached 0 would have no lower end
        sd = np.array([np.minimum(sd, 0.95 * series.value[at]), sd])
    return series.cost[axis][at], series.value[at], sd


def _dress(ax: Axes, race: Race, axis: str, first: bool) -> None:
    ax.set_xlabel(AXES[axis])
    if first:
        better = "higher" if race.scale.direction == "up" else "lower"
        ax.set_ylabel(f"{race.metric} ({better} is better)".replace("$", r"\$"))
    if race.scale.scale == "log":
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.grid(which="minor", visible=False)
        ax.set_xlim(left=_takeoff(ax))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    sns.despine(ax=ax)


def _takeoff(ax: Axes) -> float | None:
    """Where the first curve has left its start by 2% of its range on a log scale: nothing happens to the left of it."""
    found = []
    for line in ax.lines:
        x, y = np.asarray(line.get_xdata(), dtype=np.float64), np.log(np.asarray(line.get_ydata(), dtype=np.float64))
        moved = x[(np.abs(y - y[0]) > 0.02 * np.ptp(y)) & (x > 0)]
        found += moved[:1].tolist()
    return min(found, default=None)


def _noise_band(ax: Axes, rows: Sequence[Row]) -> None:
    for row in rows:
        if row.aa and row.saving_low is not None and row.saving_high is not None:
            half = (row.saving_high - row.saving_low) / 2
            ax.axvspan(-half, half, color=FAINT, alpha=0.18, lw=0)


def _estimate(ax: Axes, y: int, row: Row) -> None:
    assert row.saving is not None
    color = NOISE if row.grey is not False else SAVES if row.saving > 0 else COSTS
    at = max(row.saving, FLOOR)
    if row.saving_low is not None and row.saving_high is not None:
        ax.plot([max(row.saving_low, FLOOR), max(row.saving_high, FLOOR)], [y, y], color=color, lw=2.2)
    ax.plot(at, y, marker="<" if row.bound or row.saving < FLOOR else "o", color=color, ms=6, ls="none")
    if row.saving < FLOOR:
        ax.annotate(f"{row.saving:.0%}", (at, y), (6, 0), textcoords="offset points", va="center", fontsize=8)
    if row.predicted is not None:
        ax.plot(max(row.predicted, FLOOR), y, marker="D", mfc="none", mec=INK, ms=5, mew=0.9, ls="none")


def _levels(ax: Axes, row: Row, look: Look) -> None:
    saving = np.array([np.nan if level.saving is None else level.saving for level in row.by_level])
    low = np.array([np.nan if level.low is None else level.low for level in row.by_level])
    high = np.array([np.nan if level.high is None else level.high for level in row.by_level])
    missed = np.array([2 * level.missed > level.compared for level in row.by_level])
    ax.plot(QUANTILES, saving, color=look.color, lw=look.width, ls=look.dash)
    ax.fill_between(QUANTILES, low, high, color=look.color, alpha=0.07, lw=0)
    ax.plot(QUANTILES[missed], saving[missed], "o", mfc="none", mec=look.color, ms=4.5, mew=1)
