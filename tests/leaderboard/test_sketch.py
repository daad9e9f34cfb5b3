"""Line drawings without a library: inside the frame, and nothing where there is nothing."""

from __future__ import annotations

import re

import numpy as np
import pytest

from leaderboard.sketch import BOTTOM, LEFT, RIGHT, TOP, sketch


@pytest.mark.parametrize("log", [False, True])
def test_curves_span_the_frame_and_stay_in_it(log: bool) -> None:
    x = np.arange(500.0)
    drawing = sketch([(x, np.exp(x / 100)), (x / 2, np.exp(x / 200))], log)
    points = [point for path in drawing["paths"] for point in re.split("[ML]", path)[1:]]
    pairs = [[float(part) for part in point.split()] for point in points]
    across, down = np.array(pairs).T
    assert len(drawing["paths"]) == 2
    assert (across.min(), down.max()) == (LEFT, BOTTOM)
    assert across.max() == pytest.approx(RIGHT, abs=10)
    assert down.min() == pytest.approx(TOP, abs=10)
    assert len(pairs) < 200, "a sketch is thinned"
    assert 2 <= len(drawing["x_ticks"]) <= 7


@pytest.mark.parametrize("values", [[], [np.nan, np.nan, np.nan], [1.0, np.nan, np.nan]])
def test_nothing_to_draw(values: list[float]) -> None:
    assert sketch([(np.arange(float(len(values))), np.array(values))], log=False)["paths"] == []


def test_a_flat_curve_and_values_that_a_logarithm_lacks() -> None:
    flat = sketch([(np.arange(3.0), np.ones(3))], log=False)
    assert len(flat["paths"]) == 1
    dipped = sketch([(np.arange(4.0), np.array([1.0, 0.0, -1.0, 0.1]))], log=True)
    assert dipped["paths"][0].count("L") == 1
