"""One draw split into the updates of a step: sizes, weights, folding, unbiasedness, recentring."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import Draw, IIDStrategy, Pool, WrongUse, parse
from suites.updates import part_sizes, recentring, split

DRAWS = st.lists(st.tuples(st.integers(0, 9), st.floats(0.01, 10)), max_size=40).map(
    lambda items: Draw(np.array([i for i, _ in items], dtype=int), np.array([w for _, w in items], dtype=float))
)
UPDATES = st.integers(1, 8)
SEEDS = st.integers(0, 2**32 - 1)


@given(st.integers(0, 1000), UPDATES)
def test_part_sizes_differ_by_at_most_one_and_sum_to_the_draw(draws, updates):
    sizes = part_sizes(draws, updates)
    assert len(sizes) == updates
    assert sum(sizes) == draws
    assert max(sizes) - min(sizes) <= 1


@given(DRAWS, UPDATES, SEEDS)
def test_parts_have_these_sizes_and_hold_the_draw_once(draw, updates, seed):
    parts = split(draw, updates, np.random.default_rng(seed))
    assert sorted(part.multiplicity.sum() for part in parts) == sorted(part_sizes(len(draw), updates))
    held = Counter()
    for part in parts:
        assert len(set(part.indices)) == len(part.indices), "a rollout is processed twice in one update"
        held.update(dict(zip(part.indices.tolist(), part.multiplicity.tolist(), strict=True)))
    assert +held == Counter(draw.indices.tolist())


@given(DRAWS, UPDATES, SEEDS, st.sampled_from([1.0, 0.1]))
def test_the_mean_of_the_updates_is_the_draws_estimate(draw, updates, seed, share):
    parts = split(draw, updates, np.random.default_rng(seed), share)
    mean = np.zeros(10)
    for part in parts:
        mean[part.indices] += part.weights / updates
    np.testing.assert_allclose(mean, np.bincount(draw.indices, draw.weights, minlength=10) / share, atol=1e-9)


@pytest.mark.parametrize(("draws", "updates"), [(6, 3), (5, 4), (2, 4), (7, 2)])
def test_every_update_is_an_unbiased_estimate_of_the_whole_draw(draws, updates):
    """Also where U does not divide the draw. Mean weight of each drawn element in each update, by simulation.

    48 means at most, each normal to good approximation: |z| > 4.5 has probability 7e-6, 3e-4 for all of them.
    """
    draw = Draw(np.arange(draws), np.linspace(1.0, 2.0, draws))
    rng, repeats = np.random.default_rng(5), 4000
    weights = np.zeros((repeats, updates, draws))
    for repeat in weights:
        for row, part in zip(repeat, split(draw, updates, rng), strict=True):
            row[part.indices] = part.weights
    error = weights.std(axis=0, ddof=1) / np.sqrt(repeats)
    assert (np.abs(weights.mean(axis=0) - draw.weights) <= 4.5 * error).all()


def test_duplicates_are_folded_within_an_update_into_one_pass_with_their_summed_weight():
    draw = Draw(np.array([0, 0, 0, 1]), np.full(4, 0.25))
    costs = np.array([100.0, 7.0])
    (update,) = split(draw, 1, np.random.default_rng(0))
    assert update.indices.tolist() == [0, 1]
    assert update.weights.tolist() == [0.75, 0.25]
    assert update.multiplicity.tolist() == [3, 1]
    assert update.tokens(costs) == 107
    assert update.tokens_drawn(costs) == 307
    alone = split(draw, 4, np.random.default_rng(0))
    assert sum(update.tokens(costs) for update in alone) == 307  # not across updates: the model has moved in between


@dataclass(frozen=True)
class HalfOfIt(IIDStrategy):
    def probabilities(self, pool):
        return np.where(np.arange(len(pool)) % 2 == 0, 2 / len(pool), 0.0)


@pytest.mark.parametrize(
    ("strategy", "norms", "share"),
    [
        (HalfOfIt(), [1, 1, 1, 1], 0.5),
        (parse("pstar").strategy, [1, 0, 0, 0], 0.25),
        (parse("none").strategy, [1, 0, 0, 0], 1.0),
        (parse("nonzero").strategy, [0, 0, 0, 0], 1.0),  # nothing is drawn, nothing to rescale
    ],
)
def test_support_recentring_divides_by_the_share_that_can_be_drawn(strategy, norms, share):
    pool = Pool(np.ones(4), np.array(norms, dtype=float))
    assert recentring(strategy, pool, "support") == share
    assert recentring(strategy, pool, "none") == 1.0


def test_another_recentring_is_refused():
    with pytest.raises(WrongUse, match="known: none, support"):
        recentring(parse("none").strategy, Pool([1.0], [1.0]), "mean")
