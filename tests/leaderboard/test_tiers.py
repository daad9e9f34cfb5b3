"""Holm's adjustment by its definition, tiers and the grey rule on planted differences and on noise alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.stats import Ratios
from leaderboard.tiers import difference, grey, half_width, holm, tiers


def ratios(d: np.ndarray, missed: bool = False) -> Ratios:
    """Replicates with these log ratios at every level."""
    d = np.asarray(d, dtype=np.float64)
    return Ratios(np.arange(len(d)), np.repeat(d[:, None], 15, axis=1), np.full((len(d), 15), missed))


def noisy(mean: float, sd: float = 0.05, n: int = 8, seed: int = 0) -> Ratios:
    return ratios(np.random.default_rng(seed).normal(mean, sd, n))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_what_stepping_down_rejects(p: list[float]) -> None:
    adjusted = holm(np.array(p))
    for alpha in (0.01, 0.05, 0.3):
        rejected: set[int] = set()
        for rank, i in enumerate(np.argsort(p, kind="stable")):
            if p[i] * (len(p) - rank) > alpha:
                break
            rejected.add(int(i))
        assert rejected == set(np.flatnonzero(adjusted <= alpha).tolist())


def test_clear_differences_make_tiers_and_ties_share_one() -> None:
    rows = {"none": ratios(np.zeros(8)), "best": noisy(-0.7, seed=1), "good": noisy(-0.3, seed=2)}
    rows |= {"as good": noisy(-0.31, seed=3), "bad": noisy(0.4, seed=4), "like none": noisy(0.0, seed=5)}
    shades, _ = grey({key: row for key, row in rows.items() if key != "none"}, None)
    assert {key for key, is_grey in shades.items() if is_grey} == {"like none"}
    found = tiers(rows, "none", shades)
    assert found == {"best": 1, "good": 2, "as good": 2, "none": 3, "like none": 3, "bad": 4}
    shuffled = dict(reversed(rows.items()))
    assert tiers(shuffled, "none", shades) == found


def test_a_bound_never_leads_and_is_grey_where_it_would_be_a_saving() -> None:
    rows = {"none": ratios(np.zeros(5)), "bound": ratios([-1.0, -1.1, -0.9, -1.0, -1.05], missed=True)}
    rows["measured"] = ratios([-0.3, -0.31, -0.29, -0.3, -0.32])
    shades, _ = grey({key: rows[key] for key in ("bound", "measured")}, None)
    assert shades == {"bound": True, "measured": False}
    assert tiers(rows, "none", shades)["measured"] == 1
    worse = {"bound": ratios([1.0, 1.1, 0.9, 1.0, 1.05], missed=True)}
    assert grey(worse, None)[0] == {"bound": False}  # an upper limit below zero is a loss beyond doubt


def test_a_bound_stands_in_no_tier_above_the_baselines() -> None:
    """Its upper limit may be larger than the winner's saving; that shows nothing."""
    rows = {"none": ratios(np.zeros(8)), "best": noisy(-0.7, seed=1), "good": noisy(-0.3, seed=2)}
    rows |= {"stopped": ratios(rows["best"].per_replicate - 1.0, missed=True), "worse": noisy(0.4, seed=4)}
    shades, _ = grey({key: row for key, row in rows.items() if key != "none"}, None)
    assert tiers(rows, "none", shades) == {"best": 1, "good": 2, "none": 3, "stopped": 3, "worse": 4}


def test_a_saving_within_the_control_rows_half_width_is_grey() -> None:
    control = noisy(0.0, sd=0.4, n=5)
    small = noisy(-0.1, sd=0.01, n=5, seed=1)
    assert half_width(control) > 0.1
    assert grey({"small": small}, None)[0] == {"small": False}
    assert grey({"small": small}, control)[0] == {"small": True}


def test_difference_pairs_by_key() -> None:
    a, b = ratios([1.0, 2.0, 3.0]), ratios([0.5, 1.0, 1.5, 9.0])
    b = Ratios(b.keys[::-1].copy(), b.ratio, b.missed)  # keys 3, 2, 1, 0
    assert difference(a, b).tolist() == [1.0 - 9.0, 2.0 - 1.5, 3.0 - 1.0]


@pytest.mark.parametrize("n", [3, 5, 10])
def test_a_repeat_of_the_baseline_is_not_grey_in_five_per_cent(n: int) -> None:
    """2,000 repeats of pure noise: binomial(2000, 0.05) stays within +-4 sd (3.05% to 6.95%) in all but 1 of 10^4."""
    rng = np.random.default_rng(n)
    shades = [grey({"aa": ratios(rng.normal(0, 0.1, n))}, None)[0]["aa"] for _ in range(2000)]
    assert 0.0305 <= 1 - np.mean(shades) <= 0.0695
