"""The paper's two claims of section 4.4, at moderate size, with intervals over the trials.

For a fixed error target p* incurs the least cost; `variance` needs the fewest iterations. Geometric means over the
trials are compared by Welch's t at the two-sided 1e-4 level, for the mean over all targets and for each target; the
seed is fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from suites.task import Point

Run = Callable[..., list[Point]]
SETTINGS = {"n": 600, "dim": 10, "trials": 1000}
BUDGET = 4e6
ERROR_RATE = 1e-4
SPECS = ("uniform", "variance", "pstar")


@pytest.fixture
def crossings(run: Run, tmp_path: Path) -> tuple[pd.DataFrame, dict[str, float]]:
    """ln cost and ln iterations of every (level, trial) by method, levels that all trials reach; and J by method."""
    frames, products = [], {}
    for spec in SPECS:
        products[spec] = run("synthetic/least-squares", spec, SETTINGS, budget=BUDGET)[0].diagnostics["J"]
        frame = pd.read_parquet(tmp_path / "trials.parquet").query("metric == 'excess_error' and cost != 0")
        frames.append(frame.assign(method=spec))
    table = pd.concat(frames).pivot(index=["level", "trial"], columns="method", values=["cost", "iterations"])
    reached = table.notna().all(axis=1).groupby("level").transform("all")
    return np.log(table[reached]), products  # type: ignore[return-value]


def welch(table: pd.DataFrame, best: str, rival: str) -> Any:
    return stats.ttest_ind(table[best], table[rival], equal_var=False)


def test_the_claims(crossings: tuple[pd.DataFrame, dict[str, float]]) -> None:
    logs, products = crossings
    levels = logs.index.get_level_values("level").unique()
    assert len(levels) >= 40  # two decades of errors
    for axis, best in (("cost", "pstar"), ("iterations", "variance")):
        for rival in {*SPECS} - {best}:
            gaps = {level: welch(logs[axis].xs(level, level="level"), best, rival) for level in levels}
            overall = welch(logs[axis].groupby("trial").mean(), best, rival)
            assert overall.statistic < 0
            assert overall.pvalue < ERROR_RATE
            assert all(gap.statistic < 0 or gap.pvalue > ERROR_RATE for gap in gaps.values())
            clear = np.mean([gap.statistic < 0 and gap.pvalue < ERROR_RATE for gap in gaps.values()])
            print(
                f"{axis}: {best} below {rival} at {clear:.0%} of {len(levels)} levels, each at the {ERROR_RATE:g} level"
            )
            assert clear > 0.9
    for rival in ("uniform", "variance"):
        ratio = np.exp((logs["cost"]["pstar"] - logs["cost"][rival]).mean())
        theory = products["pstar"] / products[rival]
        print(f"cost of pstar / {rival}: {ratio:.3f}, J says {theory:.3f}, gap {ratio / theory - 1:+.1%}")
