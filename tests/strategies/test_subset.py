"""The min-cost knapsack against brute force, and the costs and bounds made of it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pools_for_tests import pools

from strategies import Pool, WrongUse, parse, subset, theory
from strategies.types import Bools, Floats

shares = st.floats(0.0, 0.99)


def brute_force(pool: Pool, allowed: float) -> float:
    """The lightest weight over all subsets that leave out at most `allowed`."""
    subsets = (np.array(keep) for keep in itertools.product([False, True], repeat=len(pool)))
    fits = (keep for keep in subsets if pool.norms[~keep].sum() <= allowed * (1 + 1e-8))
    return min(subset.weight(keep, pool) for keep in fits)


def left_out(keep: Bools, pool: Pool) -> float:
    return float(pool.norms[~keep].sum())


@given(pools(), shares)
def test_greedy_is_within_twice_the_optimum(pool: Pool, share: float) -> None:
    allowed = share * float(pool.norms.sum())
    keep = subset.greedy(pool, allowed)
    assert left_out(keep, pool) <= allowed * (1 + 2e-8)
    assert subset.weight(keep, pool) <= 2 * brute_force(pool, allowed) * (1 + 1e-9)


@given(pools(), shares)
def test_linear_below_exact_below_greedy(pool: Pool, share: float) -> None:
    allowed = share * float(pool.norms.sum())
    linear, exact, greedy = (solve(pool, allowed) for solve in (subset.linear, subset.exact, subset.greedy))
    assert left_out(exact, pool) <= allowed * (1 + 2e-8)
    assert subset.weight(exact, pool) == pytest.approx(brute_force(pool, allowed), rel=1e-7, abs=1e-12)
    assert subset.weight(linear, pool) <= subset.weight(exact, pool) * (1 + 1e-7) + 1e-9
    assert subset.weight(exact, pool) <= subset.weight(greedy, pool) * (1 + 1e-7)
    assert np.sum(linear * pool.norms) == pytest.approx(pool.norms.sum() - allowed, abs=1e-9 * pool.norms.sum())


def test_ties_that_use_up_the_allowance_exactly() -> None:
    """0.29 * 100 is 28.999...: rounding must not keep a 72nd component of 100 equal ones."""
    pool = Pool(np.arange(1.0, 101.0), np.full(100, 0.1))
    for solve in (subset.greedy, subset.exact):
        keep = solve(pool, 0.29 * float(pool.norms.sum()))
        assert np.flatnonzero(~keep).tolist() == list(range(71, 100))


def test_the_counterexample_to_stopping_at_the_first_candidate() -> None:
    pool = Pool([1, 100, 101], [0.99, 1, 0.02])
    plain = np.array([True, True, False])
    assert subset.weight(plain, pool) == pytest.approx(10.99)
    for solve in (subset.greedy, subset.exact):
        keep = solve(pool, 0.5 * 2.01)
        assert keep.tolist() == [True, False, True]
        assert subset.weight(keep, pool) == pytest.approx(1.19, abs=0.005)


@pytest.mark.parametrize("solve", subset.SOLVERS.values(), ids=subset.SOLVERS)
def test_all_or_nothing(solve: subset.Solver) -> None:
    pool = Pool([5, 1, 3], [1e-12, 0, 1])
    assert solve(pool, 0.0).tolist() == [True, False, True]
    assert solve(pool, 1.5).tolist() == [False] * 3
    assert solve(Pool([5, 1], [0, 0]), 0.0).tolist() == [False] * 2


def advantages(rng: np.random.Generator, n: int) -> Floats:
    """Norms as group-normalized advantages of 8 binary rewards have them: a few distinct values."""
    right = np.repeat(rng.integers(1, 8, n // 8), 8) / 8
    return np.where(rng.random(n) < right, np.sqrt((1 - right) / right), np.sqrt(right / (1 - right)))


@pytest.mark.parametrize("kind", ["distinct", "advantages", "whole costs"])
def test_exact_proves_its_optimum_for_thousands(kind: str) -> None:
    rng, n = np.random.default_rng(0), 3000
    norms = advantages(rng, n) if kind == "advantages" else rng.uniform(0, 10, n)
    pool = Pool(rng.integers(1, 50, n) if kind == "whole costs" else rng.uniform(1, 1000, n), norms)
    allowed = 0.05 * float(norms.sum())
    exact = subset.weight(subset.exact(pool, allowed), pool)
    linear = subset.weight(subset.linear(pool, allowed), pool)
    assert linear <= exact * (1 + 1e-8)
    assert exact <= linear * (1 + 1e-3)  # one component in part is all that the relaxation gains
    assert exact <= subset.weight(subset.greedy(pool, allowed), pool) * (1 + 1e-8)


def test_exact_refuses_without_a_proof() -> None:
    rng = np.random.default_rng(0)
    pool = Pool(rng.uniform(1, 1000, 3000), rng.uniform(0, 10, 3000))
    with pytest.raises(WrongUse, match=r"no proof .* 3000 components in 1e-06 s; use solver=greedy"):
        subset.exact(pool, 0.05 * float(pool.norms.sum()), seconds=1e-6)


def test_cost_of_a_subset_follows_from_its_parts() -> None:
    pool = Pool([1, 4, 9], [1, 2, 3])
    keep = np.array([True, True, False])
    assert subset.bias(keep, pool) == pytest.approx(1.0)
    assert subset.cost(keep, pool, epsilon=3, D=2) == pytest.approx(2**2 / 9 / (3 - 2) ** 2 * 5**2)
    assert subset.cost(keep, pool, epsilon=2, D=2) == math.inf
    assert subset.cost_strongly_convex(keep, pool, epsilon=1.5, mu=0.5) == pytest.approx(4 * (5 / 3) ** 2 / (0.5 * 0.5))
    assert subset.cost_strongly_convex(keep, pool, epsilon=1, mu=0.5) == math.inf


@given(pools())
def test_keeping_all_costs_what_pstar_costs(pool: Pool) -> None:
    everything, pstar = np.ones(len(pool), dtype=bool), parse("pstar").strategy.probabilities(pool)  # type: ignore[attr-defined]
    assert subset.cost(everything, pool, 0.3, 2.0) == pytest.approx(theory.cost(pstar, pool, 0.3, 2.0), rel=1e-9)
    assert subset.cost_strongly_convex(everything, pool, 0.3, 2.0) == pytest.approx(
        theory.cost_strongly_convex(pstar, pool, 0.3, 2.0), rel=1e-9
    )


def test_allowance_uses_up_the_bias_budget() -> None:
    pool = Pool([1, 1], [3, 5])
    keep = np.array([True, False])
    assert subset.allowance(2, gamma=5 * 2 / 2, D=2) == pytest.approx(left_out(keep, pool))  # D beta = 2 * 5/2


def test_strongly_convex_allowance_is_tight_for_quadratics() -> None:
    """f_i = mu x^2 / 2 - b_i x, component 2 left out: f at the subset's minimum is Gamma above the least."""
    mu, b = 0.7, np.array([1.0, 2.0, 7.0])
    at = b[:2].mean() / mu  # minimum of f_1 + f_2
    dropped_norm = abs(mu * at - b[2])  # |grad f_3| there

    def f(x: float) -> float:
        return float(np.mean(mu * x**2 / 2 - b * x))

    gamma = f(at) - f(b.mean() / mu)
    assert subset.allowance_strongly_convex(3, gamma, mu) == pytest.approx(dropped_norm)
