"""Diagnostics along training: how good a stand-in a proxy is, how far draws are from the optimum, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from leaderboard.charts import rounded
from leaderboard.race import Entry

FIRST = ("pearson/", "chi2/", "ess_share")  # what a reader looks for; the rest by name
MOST_POINTS = 100  # a curve
Curves = dict[str, dict[Entry, dict[str, list[float | None]]]]  # name -> entry -> {"x": steps, "y": means over runs}


def diagnostics(points: pd.DataFrame) -> Curves:
    """Every diagnostic of one task's points that changes along training, as a mean over runs at each step."""
    sums: dict[str, dict[Entry, dict[int, list[float]]]] = {}
    columns = (points[name] for name in ("method", "repeat", "step", "diagnostics"))
    for method, repeat, step, known in zip(*columns, strict=True):
        for name, value in (known or {}).items():
            if value is not None:
                at = sums.setdefault(name, {}).setdefault((method, int(repeat)), {}).setdefault(int(step), [0.0, 0.0])
                at[0] += value
                at[1] += 1
    found = {name: {entry: _curve(at) for entry, at in by.items() if len(at) > 1} for name, by in sums.items()}
    order = sorted(found, key=lambda name: (*(not name.startswith(first) for first in FIRST), name))
    return {name: found[name] for name in order if _moves(found[name].values())}


def _curve(at: Mapping[int, list[float]]) -> dict[str, list[float | None]]:
    steps = sorted(at)
    if len(steps) > MOST_POINTS:
        steps = [steps[i] for i in np.linspace(0, len(steps) - 1, MOST_POINTS).round().astype(int)]
    return {"x": rounded(steps), "y": rounded([at[step][0] / at[step][1] for step in steps])}


def _moves(curves: Iterable[Mapping[str, Any]]) -> bool:
    return any(len(set(curve["y"])) > 1 for curve in curves)
