"""Closed forms against each other, against enumeration and against simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pools_for_tests import pools, pools_with_p, z

from strategies import Pool, WrongUse, parse, theory
from strategies.types import Floats, IIDStrategy


def p_of(name: str, pool: Pool) -> Floats:
    strategy = parse(name).strategy
    assert isinstance(strategy, IIDStrategy)
    return strategy.probabilities(pool)


def biased(p: Floats, pool: Pool) -> Floats:
    return p * pool.costs / np.sum(p * pool.costs)


@given(pools_with_p())
def test_no_distribution_beats_pstar_and_only_pstar_equals_it(case: tuple[Pool, Floats]) -> None:
    pool, p = case
    ratio = theory.J(p, pool) / theory.J_star(pool)
    # chi2(P || Q) >= |P - Q|_1^2: a ratio of 1 leaves no distribution but p*.
    distance = np.abs(biased(p_of("pstar", pool), pool) - biased(p, pool)).sum()
    assert ratio >= 1 + distance**2 - 1e-9


@given(pools())
def test_pstar_attains_the_least_cost(pool: Pool) -> None:
    assert theory.J(p_of("pstar", pool), pool) == pytest.approx(theory.J_star(pool), rel=1e-9)


@given(pools_with_p())
def test_chi_square_is_the_excess_over_pstar(case: tuple[Pool, Floats]) -> None:
    pool, p = case
    gap = theory.suboptimality(p, pool)
    assert gap.lost_mass == 0
    assert gap.ratio == pytest.approx(theory.J(p, pool) / theory.J_star(pool), rel=1e-9)


@given(pools())
def test_ratios_to_the_baselines(pool: Pool) -> None:
    for ratio, name in ((theory.ratio_to_uniform(pool), "uniform"), (theory.ratio_to_variance(pool), "variance")):
        assert ratio == pytest.approx(theory.J_star(pool) / theory.J(p_of(name, pool), pool), rel=1e-9)
        assert ratio <= 1 + 1e-9


@given(pools())
def test_variance_is_pstar_where_costs_are_equal(pool: Pool) -> None:
    level = Pool(np.full(len(pool), 7.0), pool.norms)
    assert np.allclose(p_of("variance", level), p_of("pstar", level), rtol=1e-12)
    assert theory.ratio_to_variance(level) == pytest.approx(1)


def test_variance_takes_fewest_draws_and_pstar_fewest_tokens() -> None:
    pool = Pool([1, 10, 100], [3, 1, 2])
    names = ("uniform", "variance", "pstar", "inverse-sqrt-cost")
    assert min(names, key=lambda name: theory.S(p_of(name, pool), pool)) == "variance"
    assert min(names, key=lambda name: theory.J(p_of(name, pool), pool)) == "pstar"


def test_what_cannot_be_drawn_has_no_chi_square_but_a_share() -> None:
    pool = Pool([1, 2, 3, 4], [0, 1, 2, 1])
    gap = theory.suboptimality(np.array([0.0, 0.5, 0.5, 0.0]), pool)
    assert (gap.chi2, gap.ratio, gap.lost_mass) == (None, None, 0.25)
    assert theory.S(np.array([0.0, 0.5, 0.5, 0.0]), pool) == math.inf


def test_nothing_is_lost_where_no_norm_counts() -> None:
    silent = Pool([1, 2], [0, 0])
    assert theory.suboptimality(np.array([1.0, 0.0]), silent) == theory.Suboptimality(0.0, 0.0)
    assert math.isnan(theory.ratio_to_uniform(silent))
    assert math.isnan(theory.ratio_to_variance(silent))


def test_chi_square_of_extreme_norms_is_finite() -> None:
    pool = Pool([1, 1e12], [1e300, 1e-300])
    assert theory.suboptimality(np.array([0.5, 0.5]), pool).chi2 == pytest.approx(1e12, rel=1e-6)


def noisy_ratio_by_simulation(pool: Pool, sigma2: float, draws: int = 20_000) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    seen = pool.norms + rng.normal(scale=math.sqrt(sigma2), size=(draws, len(pool)))
    roots = np.sqrt(pool.costs)
    ratios = (pool.norms**2 * roots / seen).sum(1) * (seen * roots).sum(1) / (pool.norms * roots).sum() ** 2
    return ratios.mean(), ratios.std() / math.sqrt(draws)


def test_noisy_proxy_approximation_holds_within_its_reach() -> None:
    rng = np.random.default_rng(1)
    pool = Pool(rng.uniform(1, 1000, 300), rng.uniform(1, 3, 300))
    reach = theory.noisy_reach(pool)
    near, error = noisy_ratio_by_simulation(pool, reach / 4)
    # A quarter of the reach: the next term is 2.5% of the one kept; a covariance of order 1/N is left out as well.
    assert near - 1 == pytest.approx(theory.noisy_ratio(pool, reach / 4) - 1, rel=0.06, abs=z(1) * error)


def test_noisy_proxy_approximation_is_off_by_the_stated_share_at_its_reach() -> None:
    pool = Pool(np.random.default_rng(1).uniform(1, 1000, 300), np.full(300, 2.0))
    reach = theory.noisy_reach(pool, share=0.1)
    assert math.sqrt(reach) == pytest.approx(0.18 * 2, rel=0.02)
    measured, _ = noisy_ratio_by_simulation(pool, reach)
    assert 1.07 < (measured - 1) / (theory.noisy_ratio(pool, reach) - 1) < 1.17


def test_noisy_proxy_approximation_says_nothing_where_norms_come_out_at_zero() -> None:
    """At sigma = min G most draws of the noise leave some component with p = 0: J is infinite, D.5 says 1.3."""
    rng = np.random.default_rng(1)
    pool = Pool(rng.uniform(1, 1000, 300), rng.uniform(1, 3, 300))
    sigma = pool.norms.min()
    seen = pool.norms + rng.normal(scale=sigma, size=(1000, 300))
    assert (seen <= 0).any(axis=1).mean() > 0.99
    assert theory.noisy_ratio(pool, sigma**2) == pytest.approx(1.28, abs=0.05)


def test_noisy_proxy_approximation_refuses_zero_norms() -> None:
    pool = Pool([1, 1], [0, 1])
    assert theory.noisy_ratio(pool, 0.1) == math.inf
    assert theory.noisy_ratio(pool, 0.0) == 1
    assert theory.noisy_reach(pool) == 0


def test_noise_of_a_correlation() -> None:
    rng = np.random.default_rng(2)
    norms = rng.exponential(size=200_000)
    noisy = norms + rng.normal(scale=math.sqrt(theory.sigma2_of_correlation(norms, 0.8)), size=norms.size)
    assert np.corrcoef(norms, noisy)[0, 1] == pytest.approx(0.8, abs=z(1) / math.sqrt(norms.size))


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=20))
def test_effective_sample_size_lies_between_one_and_all(weights: list[float]) -> None:
    size = theory.effective_sample_size(np.array(weights))
    assert 1 - 1e-9 <= size <= len(weights) + 1e-9
    assert theory.effective_sample_size(np.full(len(weights), 1e300)) == pytest.approx(len(weights))
    assert theory.effective_sample_size(np.array([])) == 0


@given(pools_with_p())
def test_variance_of_iid_draws_by_enumeration(case: tuple[Pool, Floats]) -> None:
    pool, p = case
    n, size = len(pool), 2
    gradients = np.diag(pool.norms)
    total = 0.0
    for outcome in itertools.product(range(n), repeat=size):
        estimate = sum(gradients[i] / (size * n * p[i]) for i in outcome)
        total += math.prod(p[list(outcome)]) * np.sum((estimate - gradients.mean(0)) ** 2)
    assert theory.variance_iid(p, pool, size) == pytest.approx(total, rel=1e-9, abs=1e-12)


@given(pools())
def test_variance_of_a_mini_batch_by_enumeration(pool: Pool) -> None:
    n, size = len(pool), max(1, len(pool) // 2)
    gradients = np.diag(pool.norms)
    batches = [gradients[list(batch)].mean(0) for batch in itertools.combinations(range(n), size)]
    expected = np.mean([np.sum((batch - gradients.mean(0)) ** 2) for batch in batches])
    assert theory.variance_minibatch(pool, size) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert theory.mean_square(pool) == pytest.approx(np.sum(gradients.mean(0) ** 2))


def test_cost_is_steps_times_tokens_a_step() -> None:
    pool, p = Pool([2, 8], [1, 3]), np.array([0.5, 0.5])
    steps = 4.0**2 * theory.S(p, pool) / 0.1**2  # T = D^2 S / eps^2 of the general convex case
    assert theory.cost(p, pool, epsilon=0.1, D=4) == pytest.approx(steps * theory.C(p, pool))
    steps = 4 * theory.S(p, pool) / (0.5 * 0.1)  # T = 4 S / (mu eps)
    assert theory.cost_strongly_convex(p, pool, epsilon=0.1, mu=0.5) == pytest.approx(steps * theory.C(p, pool))


@given(st.lists(st.floats(1, 1e4), min_size=1, max_size=12), st.floats(0.01, 2), st.floats(0.1, 3))
def test_lower_bound_takes_the_largest_feasible_prefix(costs: list[float], epsilon: float, kappa: float) -> None:
    c = np.array(costs)
    roots = np.sort(np.sqrt(c))
    feasible = [k for k in range(1, c.size + 1) if epsilon * c.size * roots[k - 1] <= kappa * roots[:k].sum()]
    k = max(feasible, default=0)
    bound = theory.lower_bound(c, 1.0, epsilon, kappa)
    assert bound.members.sum() == k
    assert bound.tokens == pytest.approx((roots[:k].sum() / (c.size * epsilon)) ** 2)
    if 0 < k < c.size:
        assert c[bound.members].max() <= c[~bound.members].min()


def test_lower_bound_meets_the_upper_bound_at_equal_costs() -> None:
    pool = Pool(np.full(10, 5.0), np.full(10, 2.0))
    bound = theory.lower_bound(pool.costs, 2.0, 0.1)
    assert bound.members.all()
    assert bound.tokens == pytest.approx(theory.cost(p_of("pstar", pool), pool, 0.1, D=1))
    with pytest.raises(WrongUse, match="epsilon=0"):
        theory.lower_bound(pool.costs, 2.0, 0.0)
