"""The one look of all figures: colours that colour-blind readers can tell apart, ink that a page can turn light."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import seaborn as sns

# Okabe & Ito's palette without its yellow and black (invisible on one of the two pages), and two more hues.
HUES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1", "#9A7B4F")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))  # told apart where hues run out
MARKERS = ("o", "s", "^", "D")
INK, FAINT, NOISE = "#1b1f24", "#8a9099", "#767d86"  # text and axes; grid; what can't be told from the baseline
SAVES, COSTS = "#0072B2", "#D55E00"


@dataclass(frozen=True)
class Look:
    """How one method is drawn in every figure of a board."""

    color: str
    dash: str | tuple[float, tuple[float, ...]] = "-"
    marker: str = "o"
    width: float = 1.6


def looks(methods: Iterable[str]) -> Mapping[str, Look]:
    """A look for each method, by the order of appearance: hues first, then dashes and markers."""
    names = list(dict.fromkeys(methods))
    return {
        name: Look(HUES[i % len(HUES)], DASHES[i // len(HUES) % len(DASHES)], MARKERS[i // len(HUES) % len(MARKERS)])
        for i, name in enumerate(names)
    }


BASELINE = Look(INK, "-", "o", 2.2)
CONTROL = Look(NOISE, (0, (1, 1)), "o", 1.8)  # the A/A repeat


def drawing() -> AbstractContextManager[None]:
    """Matplotlib within: seaborn's ticks, small text, text kept as text, ids that do not change between builds."""
    settings: Any = {
        **sns.axes_style("ticks"),
        "font.family": ["DejaVu Sans"],
        "font.size": 9,
        "axes.labelsize": 9,
        "axes.titlesize": 9.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.edgecolor": FAINT,
        "axes.facecolor": "none",
        "axes.linewidth": 0.8,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": FAINT,
        "grid.alpha": 0.25,
        "grid.linewidth": 0.6,
        "figure.facecolor": "none",
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.titlecolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
        "xtick.major.size": 3,
        "ytick.major.size": 3,
        "legend.frameon": False,
        "legend.fontsize": 8,
        "svg.fonttype": "none",
        "svg.hashsalt": "costaware",
        "pdf.fonttype": 42,
    }
    return mpl.rc_context(settings)
