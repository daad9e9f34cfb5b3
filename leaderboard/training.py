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
    values = pd.DataFrame([known or {} for known in points["diagnostics"]], dtype="float64")
    keys = [points[name].to_numpy() for name in ("method", "repeat", "step")]
    means = values.groupby(keys).mean()
    found: dict[str, Any] = {str(name): {} for name in means}
    for entry, table in means.groupby(level=[0, 1]):
        for name, column in table.items():
            at = column.dropna()
            if len(at) > 1:
                at = at.iloc[np.linspace(0, len(at) - 1, min(len(at), MOST_POINTS)).round().astype(int)]
                steps = at.index.get_level_values(2).to_numpy(dtype=np.float64)
                found[str(name)][entry] = {"x": rounded(steps), "y": rounded(at.to_numpy())}
    order = sorted(found, key=lambda name: (*(not name.startswith(first) for first in FIRST), name))
    return {name: found[name] for name in order if _moves(found[name].values())}


def _moves(curves: Iterable[Mapping[str, Any]]) -> bool:
    return any(len(set(curve["y"])) > 1 for curve in curves)
