"""Curves against closed forms and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.curves import QUANTILES, Curve, Scale, crossings, levels_of, on_grid


def test_fifteen_levels_from_30_to_100_per_cent() -> None:
    assert len(QUANTILES) == 15
    assert np.allclose(np.diff(QUANTILES), 0.05)
    assert (QUANTILES[0], QUANTILES[-1]) == (0.30, 1.00)


@given(
    st.lists(st.floats(-5, 5), min_size=2, max_size=12),
    st.lists(st.floats(-6, 6), min_size=1, max_size=5),
)
def test_crossings_are_the_first_points_of_the_polygon_at_the_level(steps: list[float], levels: list[float]) -> None:
    y = np.maximum.accumulate(steps)
    x = np.arange(len(y)) * 10.0
    found = crossings(x, y, np.array(levels))
    fine = np.linspace(0, x[-1], 20001)
    for level, at in zip(levels, found, strict=True):
        above = fine[np.interp(fine, x, y) >= level]
        if np.isnan(at):
            assert y[-1] < level
        else:
            assert np.interp(at, x, y) >= level - 1e-9
            assert not len(above) or at == pytest.approx(above[0], abs=x[-1] / 20000 + 1e-9)


def test_isotonic_fit_of_a_dip_is_its_mean() -> None:
    curve = Curve.of([0, 10, 20, 30], [0.0, 3.0, 1.0, 4.0])
    assert curve is not None
    assert curve.fit.tolist() == [0.0, 2.0, 2.0, 4.0]
    assert curve.reach(np.array([1.0, 2.0, 3.0])).tolist() == [5.0, 10.0, 25.0]
    assert curve.reach_raw(np.array([3.0])).tolist() == [10.0]


def test_points_without_a_value_are_left_out_but_their_tokens_count() -> None:
    curve = Curve.of([0, 10, 20, 30], [0.0, np.nan, 2.0, np.nan])
    assert curve is not None
    assert curve.x.tolist() == [0, 20]
    assert curve.end == 30
    assert Curve.of([0, 10], [0.0, np.nan]) is None


@pytest.mark.parametrize(("direction", "scale"), [("up", "linear"), ("down", "linear"), ("up", "log"), ("down", "log")])
def test_progress_grows_with_quality_and_inverts(direction: str, scale: str) -> None:
    reading = Scale(direction, scale)
    values = np.array([0.5, 0.2, 0.1])
    progress = reading.progress(values)
    assert np.allclose(reading.values(progress), values)
    assert (np.diff(progress) > 0).all() == (direction == "down")
    assert np.isnan(Scale("down", "log").progress([0.0, -1.0])).all()


def test_runs_evaluated_at_different_steps_share_a_grid_within_all_of_them() -> None:
    a = Curve.of([0, 10, 20], [0.0, 1.0, 2.0])
    b = Curve.of([5, 15, 40], [0.5, 1.5, 4.0])
    assert a is not None
    assert b is not None
    grid, progress = on_grid([a, b])
    assert grid.tolist() == [5, 10, 15, 20]
    assert np.allclose(progress, grid / 10)


def test_levels_are_equally_spaced_on_the_metrics_scale() -> None:
    up = Curve.of([0, 10, 20], [0.4, 0.5, 0.6])
    assert up is not None
    found = levels_of([up])
    assert found is not None
    assert np.allclose(found, 0.4 + QUANTILES * 0.2)
    down = Curve.of([1, 10, 100], Scale("down", "log").progress([1.0, 0.1, 0.01]))
    assert down is not None
    found = levels_of([down])
    assert found is not None
    assert np.allclose(Scale("down", "log").values(found), 0.01**QUANTILES)


def test_a_baseline_that_gains_nothing_has_no_levels() -> None:
    flat = Curve.of([0, 10, 20], [0.6, 0.5, 0.4])
    assert flat is not None
    assert levels_of([flat]) is None


def test_a_baseline_that_peaks_and_collapses_still_has_reachable_levels() -> None:
    collapsing = Curve.of([0, 10, 20, 30], [0.0, 0.6, 0.2, 0.1])
    assert collapsing is not None
    found = levels_of([collapsing])
    assert found is not None
    assert found[-1] == pytest.approx(0.3)  # the mean of the pooled block, not the lucky peak
    assert np.isfinite(collapsing.reach(found)).all()
