"""Draws come from the strategy's own probabilities, and their weights make the steps unbiased.

Statistical bounds are 4.5 standard errors (two-sided error rate 7e-6 a comparison); seeds are fixed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import Draw, IIDStrategy, Method, Pool, Strategy, WrongUse, parse, theory
from strategies.types import Floats
from suites.synthetic.alias import table
from suites.synthetic.sampling import HORIZON, stream

CPU, SEED, Z = torch.device("cpu"), np.random.SeedSequence(3), 4.5
N = 40


@pytest.fixture
def pool() -> Pool:
    rng = np.random.default_rng(0)
    return Pool(rng.uniform(1, 1000, N), rng.uniform(0.5, 10, N))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50).filter(lambda values: sum(values) > 1e-3))
@settings(max_examples=200, deadline=None)
def test_alias_table_holds_the_distribution(scores: list[float]) -> None:
    p = np.array(scores) / sum(scores)
    threshold, alias = table(p)
    held = threshold.copy()
    np.add.at(held, alias, 1 - threshold)
    np.testing.assert_allclose(held / len(p), p, atol=1e-12)
    assert (held[p == 0] == 0).all()  # what has no probability is never drawn, whatever the rounding


@pytest.mark.parametrize("spec", ["pstar", "uniform", "smoothed", "knapsack:bias=0.3"])
def test_frequencies_and_weights(spec: str, pool: Pool) -> None:
    method = parse(spec)
    assert isinstance(method.strategy, IIDStrategy)
    p = method.strategy.probabilities(pool)
    indices, weights = (a.numpy() for a in stream(method, pool, 50, SEED, CPU).take(2000))
    counts = np.bincount(indices.ravel(), minlength=N)
    spread = np.sqrt(indices.size * p * (1 - p))
    assert (np.abs(counts - indices.size * p) <= Z * spread).all()
    np.testing.assert_allclose(weights, 1 / (N * p[indices]), rtol=1e-12)


@pytest.mark.parametrize("spec", ["pstar", "none", "pps:draws=0.5", "pps:draws=0.3,design=poisson", "smoothed"])
def test_steps_estimate_the_mean_gradient(spec: str, pool: Pool) -> None:
    """The mean weighted gradient over a trial's steps, one value a trial, is centred on (1/N) sum_i g_i."""
    gradients = np.random.default_rng(1).standard_normal((N, 3)) * pool.norms[:, None]
    trials, steps = 200, 2 * HORIZON
    indices, weights = (a.numpy() for a in stream(parse(spec), pool, trials, SEED, CPU).take(steps))
    # coefficients of each component, a trial: their expectation is 1/N
    shares = np.stack([np.bincount(i, w, minlength=N) for i, w in zip(indices.T, weights.T, strict=True)]) / steps
    means = shares @ gradients
    error = means.std(axis=0, ddof=1) / np.sqrt(trials)
    edge = 2 * np.abs(gradients).max() * N / steps / np.sqrt(trials)  # the last draw of a trial is not used up
    assert (np.abs(means.mean(axis=0) - gradients.mean(axis=0)) <= Z * error + edge).all()


def test_none_passes_through_the_pool_in_random_order(pool: Pool) -> None:
    draws = stream(parse("none"), pool, 3, SEED, CPU)
    indices, weights = (torch.cat(each).numpy() for each in zip(draws.take(25), draws.take(55), strict=True))
    for trial in range(3):
        for start in (0, N):
            assert sorted(indices[start : start + N, trial]) == list(range(N))
    assert not np.array_equal(indices[:N, 0], indices[:N, 1])
    assert not np.array_equal(indices[:N, 0], indices[N:, 0])
    np.testing.assert_allclose(weights, 1, rtol=1e-12)


def test_moments_are_theirs(pool: Pool) -> None:
    """i.i.d.: S and C of the paper. Without replacement: S and C of a step's marginal distribution."""
    method = parse("pstar")
    assert isinstance(method.strategy, IIDStrategy)
    p = method.strategy.probabilities(pool)
    draws = stream(method, pool, 2, SEED, CPU)
    assert draws.second_moment == pytest.approx(theory.S(p, pool), rel=1e-12)
    assert draws.mean_cost == pytest.approx(theory.C(p, pool), rel=1e-12)
    whole = stream(parse("none"), pool, 2, SEED, CPU)
    assert whole.second_moment == pytest.approx(np.mean(pool.norms**2), rel=1e-12)
    assert whole.mean_cost == pytest.approx(pool.costs.mean(), rel=1e-12)


def test_a_perturbing_strategy_has_a_distribution_a_trial(pool: Pool) -> None:
    noisy, plain = (stream(parse(spec), pool, 5, SEED, CPU) for spec in ("noisy:sigma2=1", "smoothed:alpha=0.1"))
    assert noisy.seen is not None
    assert plain.seen is not None
    assert noisy.seen[0].shape == (5, N)
    assert plain.seen[0].shape == (1, N)
    indices, weights = (a.numpy() for a in noisy.take(200))
    for trial, p in enumerate(noisy.seen[0]):
        np.testing.assert_allclose(weights[:, trial], 1 / (N * p[indices[:, trial]]), rtol=1e-12)


@dataclass(frozen=True)
class Pairs(Strategy):
    """Two different components, uniformly: a rule that states no inclusion probabilities."""

    name = "pairs"

    def draw(self, pool: Pool, size: int, rng: np.random.Generator) -> Draw:
        indices = rng.choice(len(pool), size=2, replace=False)
        return Draw(indices, np.full(2, 0.5))


@dataclass(frozen=True)
class Silent(Pairs):
    def draw(self, pool: Pool, size: int, rng: np.random.Generator) -> Draw:
        return Draw(np.empty(0, np.int64), np.empty(0))


@dataclass(frozen=True)
class Halved(IIDStrategy):
    name = "halved"

    def probabilities(self, pool: Pool) -> Floats:
        return np.full(len(pool), 0.5 / len(pool))


def test_any_strategy_can_draw(pool: Pool) -> None:
    draws = stream(Method(Pairs()), pool, 4, SEED, CPU)
    indices, weights = (a.numpy() for a in draws.take(100))
    assert (indices[::2] != indices[1::2]).all()
    np.testing.assert_array_equal(weights, 1)
    pilot = 256 * 2  # draws that the moments are learnt from
    assert abs(draws.mean_cost - pool.costs.mean()) <= Z * pool.costs.std() / np.sqrt(pilot)
    assert abs(draws.second_moment - np.mean(pool.norms**2)) <= Z * np.std(pool.norms**2) / np.sqrt(pilot)


def test_what_can_take_no_step_is_refused(pool: Pool) -> None:
    with pytest.raises(WrongUse, match="drew nothing"):
        stream(Method(Silent()), pool, 2, SEED, CPU)
    with pytest.raises(WrongUse, match="halved gave no probabilities"):
        stream(Method(Halved()), pool, 2, SEED, CPU)
