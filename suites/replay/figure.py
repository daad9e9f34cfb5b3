"""The picture of a report: for each method its tokens, the variance they buy, and the saving at equal error."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from suites.replay.report import Report

FOLDED, DRAWN, SAVES, COSTS, INK = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#1b1f24"
FLOOR = -0.5  # worse savings end at this edge, with their number: one hopeless method hides no other


def draw(report: Report) -> Figure:
    """Three panels that share the methods as rows, the one with the fewest tokens at equal error on top."""
    rows = pd.DataFrame([{"method": row.method, **row.quantities} for row in report.rows])
    rows = rows.sort_values("saving", ascending=False, na_position="last")
    style: Any = {**sns.axes_style("whitegrid"), "font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "costaware"}
    with mpl.rc_context(style):
        figure = Figure(figsize=(11, 1.2 + 0.28 * len(rows)), layout="constrained")
        tokens, variance, saving = figure.subplots(1, 3, sharey=True, width_ratios=(3, 2, 3))
        _tokens(tokens, rows, report.terms.updates)
        _variance(variance, rows)
        _saving(saving, rows, str(report.terms.baseline))
        sns.despine(figure, left=True)
    return figure


def _tokens(ax: Axes, rows: pd.DataFrame, updates: int) -> None:
    sns.barplot(rows, x="tokens_share", y="method", color=FOLDED, ax=ax, label=f"processed ({updates} updates)")
    sns.scatterplot(rows, x="tokens_share_drawn", y="method", color=DRAWN, marker="D", ax=ax, label="as drawn")
    ax.set(xlabel="tokens of a step, share of one full pass", ylabel="")
    ax.legend(frameon=False, loc="best")


def _variance(ax: Axes, rows: pd.DataFrame) -> None:
    sns.scatterplot(rows, x="relative_variance", y="method", color=INK, s=36, ax=ax)
    ax.set(xlabel="relative variance of a step's estimate", ylabel="")


def _saving(ax: Axes, rows: pd.DataFrame, baseline: str) -> None:
    shown = rows.assign(saving=rows["saving"].astype(float).clip(lower=FLOOR), saves=rows["saving"] >= 0)
    colours = {True: SAVES, False: COSTS}
    sns.barplot(shown, x="saving", y="method", hue="saves", palette=colours, dodge=False, legend=False, ax=ax)
    for place, (value, end) in enumerate(zip(rows["saving"], shown["saving"], strict=True)):
        text = "no size reaches it" if pd.isna(value) else f"{value:.1%}"
        ax.annotate(
            text, (0 if pd.isna(value) else max(end, 0), place), (4, 0), textcoords="offset points", va="center"
        )
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.set(xlabel=f"saving at equal error against {baseline} (a ceiling)", ylabel="", xlim=(FLOOR, 1.15))
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
