"""Runs: points, budget, pairing by world, determinism, what a method is refused for."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from strategies import WrongUse, parse
from suites import task as suites
from suites.synthetic import RECIPES
from suites.task import Point

Run = Callable[..., list[Point]]
SMALL = {"n": 120, "dim": 3, "trials": 30}
BUDGET = 2e5


@pytest.mark.parametrize("name", RECIPES)
def test_error_falls_while_tokens_are_spent(name: str, run: Run) -> None:
    budget = BUDGET if RECIPES[name].convex else 10 * BUDGET  # |grad f|^2 falls as slowly as the steps shrink
    points = run(f"synthetic/{name}", "pstar", SMALL, budget=budget)
    task = suites.make(f"synthetic/{name}", SMALL)
    metrics = list(task.metrics)
    assert [p.metric for p in points] == metrics * (len(points) // len(metrics))
    assert all(m.direction == "down" and m.scale == "log" for m in task.metrics.values())
    headline = [p for p in points if p.metric == metrics[0]]
    assert headline[0].step == 0
    assert headline[-1].value < 0.5 * max(p.value for p in headline)
    assert all(np.isfinite(p.value) and p.n == 30 and p.phase == "eval" for p in points)
    spent = [p.ledger.backward for p in headline]
    assert spent[0] == 0
    assert all(a < b for a, b in itertools.pairwise(spent))
    assert all(p.ledger.backward == p.ledger.backward_drawn and p.ledger.draws == p.step for p in points)


@pytest.mark.parametrize("spec", ["uniform", "pstar", "none"])
def test_a_run_ends_at_the_first_measurement_past_its_budget(spec: str, run: Run) -> None:
    spent = [p.ledger.backward for p in run("synthetic/least-squares", spec, SMALL, budget=BUDGET)]
    assert spent[-1] >= BUDGET
    assert spent[-3] < BUDGET  # two metrics a measurement
    assert spent[-1] < 1.02 * BUDGET  # the last stop is where the budget is expected to be reached


def test_the_default_budget_grows_with_the_pool() -> None:
    budgets = [suites.make("synthetic/logistic", {"n": n}).default_budget for n in (1000, 3000)]
    assert budgets == [50 * 500 * 1000, 50 * 500 * 3000]


def test_methods_meet_the_same_world(run: Run) -> None:
    starts = {run("synthetic/least-squares", spec, SMALL, budget=1e3, seed=4)[0].value for spec in ("uniform", "none")}
    assert len(starts) == 1
    other = run("synthetic/least-squares", "uniform", SMALL, budget=1e3, seed=5)[0].value
    assert other not in starts


def test_a_repeat_draws_anew_in_the_same_world(run: Run) -> None:
    first, again = (run("synthetic/least-squares", "uniform", SMALL, budget=1e4, repeat=r) for r in (0, 1))
    assert first[0].value == again[0].value
    assert first[-1].value != again[-1].value


@pytest.mark.parametrize("spec", ["pstar", "noisy", "pps:draws=0.5"])
@pytest.mark.parametrize("name", ["least-squares", "logistic"])
def test_equal_runs_have_equal_records(name: str, spec: str, run: Run, tmp_path: Path) -> None:
    """In every bit, and with any number of threads."""
    records = []
    for threads in (1, 1, 2):
        torch.set_num_threads(threads)
        points = run(f"synthetic/{name}", spec, SMALL, budget=5e4)
        records.append((points, pd.read_parquet(tmp_path / "trials.parquet")))
    for points, trials in records[1:]:
        assert points == records[0][0]
        pd.testing.assert_frame_equal(trials, records[0][1], check_exact=True)


def test_single_precision_gives_the_same_curve(run: Run) -> None:
    double, single = (
        run("synthetic/least-squares", "pstar", SMALL | {"dtype": t}, budget=BUDGET) for t in ("float64", "float32")
    )
    for a, b in zip(double, single, strict=True):
        assert (a.step, a.metric, a.ledger) == (b.step, b.metric, b.ledger)
        assert b.value == pytest.approx(a.value, rel=1e-2, abs=1e-7)


def test_trials_parquet_agrees_with_the_points(run: Run, tmp_path: Path) -> None:
    points = [p for p in run("synthetic/least-squares", "pstar", SMALL, budget=BUDGET) if p.metric == "excess_error"]
    trials = pd.read_parquet(tmp_path / "trials.parquet").query("metric == 'excess_error'")
    assert trials.trial.nunique() == 30
    start = points[0].value
    assert (trials[trials.level >= start].cost == 0).all()  # reached before anything was spent
    below = trials[(trials.level < start) & trials.cost.notna()]
    assert (below.cost > 0).all()
    assert (below.cost <= 2 * BUDGET).all()
    assert (below.iterations <= points[-1].step).all()
    # a level that the mean curve crosses is crossed by the typical trial at about the same cost
    level = below.level.unique()[np.argmin(np.abs(np.log(below.level.unique() / (start / 5))))]
    mean_curve = np.interp(-level, [-p.value for p in points], [p.ledger.backward for p in points])
    assert trials[trials.level == level].cost.median() == pytest.approx(mean_curve, rel=0.25)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("pstar:draws=0.5", "draws one component a step"),
        ("pstar:proxy=surprise", "leave out proxy=surprise"),
    ],
)
def test_methods_without_meaning_here_are_refused(spec: str, message: str) -> None:
    with pytest.raises(WrongUse, match=message):
        suites.make("synthetic/least-squares", SMALL).check(parse(spec))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(WrongUse, match="no GPU here"):
        suites.make("synthetic/least-squares", {"device": "cuda"}).check(parse("pstar"))


def test_a_single_trial_has_no_spread(run: Run) -> None:
    point = run("synthetic/least-squares", "pstar", SMALL | {"trials": 1}, budget=1e4)[-1]
    assert point.sd is None
    assert point.n == 1
    assert point.diagnostics["J_measured_se"] is None
