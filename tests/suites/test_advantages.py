"""Group-relative advantages against the formula written out group by group."""

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.advantages import EPSILON, group_advantages, zero_variance

SCORES = st.floats(-10, 10, allow_nan=False).map(lambda x: round(x, 3))
ROLLOUTS = st.lists(st.tuples(SCORES, st.integers(0, 5)), min_size=1, max_size=40)


def by_hand(scores, groups, normalize=True):
    result = []
    for score, group in zip(scores, groups, strict=True):
        mates = [s for s, g in zip(scores, groups, strict=True) if g == group]
        if min(mates) == max(mates):
            result.append(0.0)
            continue
        centred = score - statistics.fmean(mates)
        result.append(centred / (statistics.stdev(mates) + EPSILON) if normalize else centred)
    return result


@given(ROLLOUTS, st.booleans())
def test_equals_the_formula_group_by_group(rollouts, normalize):
    scores, groups = zip(*rollouts, strict=True)
    found = group_advantages(scores, groups, normalize)
    np.testing.assert_allclose(found, by_hand(scores, groups, normalize), rtol=1e-6, atol=1e-9)


@given(ROLLOUTS, st.randoms(use_true_random=False))
def test_order_of_rollouts_does_not_matter(rollouts, random):
    order = list(range(len(rollouts)))
    random.shuffle(order)
    scores, groups = map(np.array, zip(*rollouts, strict=True))
    found = group_advantages(scores[order], groups[order])
    np.testing.assert_allclose(found, group_advantages(scores, groups)[order], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("score", [0.1, 0.2000000029802322, 1 / 3, 1e-9, -7.7])
@pytest.mark.parametrize("size", [1, 3, 7, 10])
def test_equal_scores_and_singletons_have_advantage_exactly_zero(score, size):
    scores = [score] * size + [0.0, 1.0]
    groups = [0] * size + [1, 1]
    found = group_advantages(scores, groups)
    assert (found[:size] == 0).all()
    assert (found[size:] != 0).all()
    assert zero_variance(scores, groups).tolist() == [True] * size + [False, False]


def test_the_standard_deviation_of_equal_floats_is_not_zero_so_the_rule_goes_by_max_and_min():
    scores = np.full(7, 0.1)
    assert np.std(scores, ddof=1) > 0  # what a rule by standard deviation would have divided by
    assert not group_advantages(scores, np.zeros(7)).any()


def test_group_labels_may_be_any_numbers():
    scores = [0.0, 1.0, 0.5, 0.5]
    assert group_advantages(scores, [7, 7, -3, -3]).tolist() == group_advantages(scores, [0, 0, 1, 1]).tolist()
