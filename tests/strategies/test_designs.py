"""Inclusion probabilities against bisection, designs against their inclusion probabilities, variances by simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pools_for_tests import pools, positive, z

from strategies import Pool, WrongUse, designs, parse
from strategies.types import Floats, WithoutReplacement

DRAWS = 20_000
PI = np.array([0.05, 0.3, 1.0, 0.75, 0.0, 0.4, 0.5, 1.0])


def by_bisection(scores: Floats, total: float, costs: Floats) -> Floats:
    low, high = 0.0, 1.0
    while np.sum(np.minimum(1, high * scores) * costs) < total:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.sum(np.minimum(1, middle * scores) * costs) < total else (low, middle)
    return np.minimum(1, high * scores)


@given(
    st.lists(st.one_of(st.just(0.0), positive), min_size=1, max_size=12).filter(any), st.floats(0.01, 0.99), st.data()
)
def test_water_filling_is_what_bisection_finds(scores: list[float], share: float, data: st.DataObject) -> None:
    s = np.array(scores)
    costs = np.array(data.draw(st.lists(positive, min_size=s.size, max_size=s.size)))
    total = share * costs[s > 0].sum()
    pi = designs.water_fill(s, total, costs)
    assert np.sum(pi * costs) == pytest.approx(total, rel=1e-12)
    assert np.allclose(pi, by_bisection(s, total, costs), rtol=1e-9)
    assert (pi >= 0).all()
    assert (pi <= 1).all()


def test_water_filling_sums_to_the_size_exactly() -> None:
    scores = np.random.default_rng(0).lognormal(sigma=3, size=100_000)
    for size in (1, 17, 50_000, 99_999):
        assert designs.water_fill(scores, size).sum() == pytest.approx(size, rel=1e-12)


def test_water_filling_stays_finite_over_600_decades() -> None:
    pi = designs.water_fill(10.0 ** np.linspace(-300, 0, 7), 3)
    assert pi.sum() == pytest.approx(3)
    assert np.isfinite(pi).all()


def test_everything_that_counts_is_in_where_there_is_room() -> None:
    assert designs.water_fill(np.array([0.0, 0.2, 0.8]), 2).tolist() == [0, 1, 1]
    assert designs.water_fill(np.array([0.0, 0.2, 0.8]), 7).tolist() == [0, 1, 1]
    assert designs.water_fill(np.zeros(3), 2).tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", designs.DESIGNS)
def test_designs_realize_their_inclusion_probabilities(name: str) -> None:
    """All components at once, at an error rate of 1e-6 for each design."""
    rng = np.random.default_rng(3)
    sets = [designs.DESIGNS[name](PI, rng) for _ in range(DRAWS)]
    assert all((np.diff(chosen) > 0).all() for chosen in sets)  # ascending: no component twice
    share = np.bincount(np.concatenate(sets), minlength=PI.size) / DRAWS
    assert (np.abs(share - PI) <= z(PI.size) * np.sqrt(PI * (1 - PI) / DRAWS)).all()
    sizes = np.array([len(chosen) for chosen in sets])
    assert (sizes.min(), sizes.max()) == (4, 4) if name == "systematic" else sizes.var() > 0.5


def test_systematic_pairs_depend_on_chance_not_on_place() -> None:
    """The random order: neighbours are drawn together as often as others are (fixed order would never pair them)."""
    rng, pi = np.random.default_rng(4), np.full(6, 0.5)
    together = np.zeros((6, 6))
    for _ in range(DRAWS):
        chosen = designs.systematic(pi, rng)
        together[np.ix_(chosen, chosen)] += 1 / DRAWS
    pairs = together[np.triu_indices(6, 1)]
    assert np.abs(pairs - 0.2).max() <= z(pairs.size) * np.sqrt(0.2 * 0.8 / DRAWS)  # 3 of 6: 3 * 2 / (6 * 5)


def test_systematic_size_of_a_fractional_sum_is_one_of_its_neighbours() -> None:
    rng = np.random.default_rng(5)
    sizes = [len(designs.systematic(np.array([0.5, 0.6, 0.4, 0.8]), rng)) for _ in range(2000)]
    assert set(sizes) == {2, 3}


@given(pools(zeros=False, max_size=6), st.floats(0.2, 0.9))
def test_poisson_variance_holds_whatever_the_directions(pool: Pool, share: float) -> None:
    """All 2^N sets, gradients all along one line: no orthogonality to lean on."""
    pi = designs.water_fill(pool.norms, share * np.count_nonzero(pool.norms))
    n, expected = len(pool), 0.0
    for inside in itertools.product([False, True], repeat=n):
        chance = np.prod(np.where(inside, pi, 1 - pi))
        estimate = sum(g / (n * q) for g, q, drawn in zip(pool.norms, pi, inside, strict=True) if drawn)
        expected += chance * (estimate - pool.norms.mean()) ** 2
    assert designs.variance(pi, pool) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", designs.DESIGNS)
def test_variance_of_orthogonal_gradients_by_simulation(name: str) -> None:
    pool = Pool(np.ones(8), [1, 2, 3, 2, 0, 1, 4, 2])
    rng, errors = np.random.default_rng(6), []
    for _ in range(DRAWS):
        estimate = np.zeros(8)
        chosen = designs.DESIGNS[name](PI, rng)
        estimate[chosen] = pool.norms[chosen] / (8 * PI[chosen])
        errors.append(np.sum((estimate - pool.norms / 8) ** 2))
    assert designs.variance(PI, pool) == pytest.approx(np.mean(errors), abs=z(1) * np.std(errors) / np.sqrt(DRAWS))


def test_variance_is_infinite_where_a_gradient_cannot_be_drawn() -> None:
    assert designs.variance(np.array([1.0, 0.0]), Pool([1, 1], [1, 1])) == np.inf
    assert designs.variance(np.array([1.0, 0.0]), Pool([1, 1], [1, 0])) == 0


@given(pools(zeros=False), st.floats(0.05, 0.95), st.data())
def test_no_design_within_the_budget_has_less_variance(pool: Pool, share: float, data: st.DataObject) -> None:
    budget = share * pool.costs.sum()
    best = designs.under_budget(pool, budget)
    assert np.sum(best * pool.costs) == pytest.approx(budget, rel=1e-12)
    scores = np.array(data.draw(st.lists(positive, min_size=len(pool), max_size=len(pool))))
    other = designs.water_fill(scores, budget, pool.costs)
    assume((other > 1e-12).all())
    assert designs.variance(best, pool) <= designs.variance(other, pool) * (1 + 1e-9) + 1e-12


def test_a_budget_is_a_number_of_tokens() -> None:
    with pytest.raises(WrongUse, match="must be > 0"):
        designs.under_budget(Pool([1], [1]), float("nan"))


@pytest.mark.parametrize("inner", ["pstar", "variance", "indicator"])
def test_pps_with_room_for_all_is_nonzero(inner: str) -> None:
    pool = Pool([1, 20, 300, 4], [0, 1e-3, 50, 2])
    pps, nonzero = parse(f"pps:inner={inner}").strategy, parse("nonzero").strategy
    for size in (3, 4, 10):
        one, other = (strategy.draw(pool, size, np.random.default_rng(0)) for strategy in (pps, nonzero))
        assert one.indices.tolist() == other.indices.tolist() == [1, 2, 3]
        assert one.weights.tolist() == other.weights.tolist() == [0.25] * 3


@pytest.mark.parametrize("spec", ["pps", "pps:design=poisson", "pps:inner=variance", "pps:inner=uniform"])
def test_pps_includes_in_proportion_to_its_inner_rule(spec: str) -> None:
    rng = np.random.default_rng(7)
    pool = Pool(rng.uniform(1, 1000, 12), rng.exponential(size=12) * (rng.random(12) < 0.8))
    pps = parse(spec).strategy
    assert isinstance(pps, WithoutReplacement)
    pi = pps.inclusion(pool, 4)
    assert pi.sum() == pytest.approx(4)
    counts = np.zeros(12)
    for _ in range(DRAWS // 2):
        drawn = pps.draw(pool, 4, rng)
        assert np.allclose(drawn.weights, 1 / (12 * pi[drawn.indices]))
        counts[drawn.indices] += 1
    share = counts / (DRAWS // 2)
    assert (np.abs(share - pi) <= z(12) * np.sqrt(pi * (1 - pi) / (DRAWS // 2)) + 1e-12).all()
