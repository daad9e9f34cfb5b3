"""Diagnostics along training: means over runs, the proxies' first, only what changes."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from leaderboard.training import MOST_POINTS, diagnostics


def points(*rows: tuple[str, int, dict[str, Any]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["method", "step", "diagnostics"])
    return table.assign(repeat=0)


def test_means_over_runs_at_each_step() -> None:
    found = diagnostics(
        points(
            ("a", 1, {"chi2/x": 1.0}),
            ("a", 1, {"chi2/x": 3.0}),
            ("a", 2, {"chi2/x": 4.0, "pearson/x": None}),
            ("b", 1, {}),
            ("b", 2, {"chi2/x": 9.0}),
        )
    )
    assert found == {"chi2/x": {("a", 0): {"x": [1.0, 2.0], "y": [2.0, 4.0]}}}  # b has one step: no curve


def test_order_and_what_never_moves() -> None:
    names = ("loss", "ess_share", "chi2/x", "pearson/x", "constant")
    rows = [("a", step, {name: 0.1 * step if name != "constant" else 1.0 for name in names}) for step in range(3)]
    assert list(diagnostics(points(*rows))) == ["pearson/x", "chi2/x", "ess_share", "loss"]


def test_long_runs_are_thinned_and_keep_their_ends() -> None:
    rows = [("a", step, {"loss": float(step)}) for step in range(1234)]
    curve = diagnostics(points(*rows))["loss"]["a", 0]
    assert len(curve["x"]) == MOST_POINTS
    assert (curve["x"][0], curve["x"][-1]) == (0.0, pytest.approx(1233.0))


def test_no_diagnostics_at_all() -> None:
    assert diagnostics(points(("a", 1, {}), ("a", 2, {}))) == {}
    assert diagnostics(points()) == {}
