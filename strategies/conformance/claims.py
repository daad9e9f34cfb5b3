"""What a strategy declares: unbiased, fair to the order, free of units, sane at the edges."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from strategies.conformance import pools
from strategies.conformance.basics import draw, draw_flaw, hook, same
from strategies.conformance.kit import Fails, check
from strategies.types import Draw, Floats, IIDStrategy, Pool, Strategy, WithoutReplacement

ERROR_RATE = 1e-6  # of a sampled check that a right strategy fails, over all components (Bonferroni)
DRAWS = 8000
FEW = 200  # fewer non-zero values than this, and their own spread is no safe guide


@check("unbiased")
def unbiased(strategy: Strategy) -> str:
    """E[sum of a component's weights] = 1/N for each component with G_i > 0.

    By enumeration for i.i.d. strategies (sum over outcomes of p_i w_i), where p_i > 0 is what can be missing; otherwise
    by a z-test over 8000 draws, which finds a component whose share is off by about a tenth or more.
    """
    if not strategy.unbiased:
        return "declared biased: not measured"
    for zeros in (pools.DENSE, pools.MIXED):
        pool = pools.pool(strategy, zeros)
        _must_reach(strategy, pool)
        if type(strategy).draw is IIDStrategy.draw:
            _enumerate(strategy, pool)
        else:
            for size in (3, pools.N):
                _sample(strategy, pool, size)
    return ""


def _must_reach(strategy: Strategy, pool: Pool) -> None:
    """Stated probabilities are > 0 wherever G_i > 0, under every perturbation tried."""
    for seed in range(100):
        p = hook(strategy, strategy.perturb(pool, np.random.default_rng(seed)), 3)
        if p is not None and (missed := (pool.norms > 0) & (p <= 0)).any():
            i = int(np.argmax(missed))
            raise Fails(f"component {i} has norm {pool.norms[i]:.3g} but probability 0")


def _enumerate(strategy: Strategy, pool: Pool) -> None:
    size = 50 * pools.N  # enough to meet each outcome, and so its weight
    seen = strategy.perturb(pool, np.random.default_rng(0))
    p = hook(strategy, seen, size)
    drawn = draw(strategy, pool, size)
    assert p is not None
    expected = size * p[drawn.indices] * drawn.weights
    wrong = np.abs(expected * pools.N - 1) > 1e-9
    if wrong.any():
        _biased(int(drawn.indices[np.argmax(wrong)]), float(expected[np.argmax(wrong)]), "exactly")


def _sample(strategy: Strategy, pool: Pool, size: int) -> None:
    values = _totals(strategy, pool, size, lambda drawn: drawn.weights)
    real = np.flatnonzero(pool.norms > 0)
    mean, error = _moments(values[:, real], 1 / pools.N)
    off = np.abs(mean - 1 / pools.N) / (_z(len(real) * 4) * error + 1e-12)  # 4: two pools, two sizes
    worst = int(np.argmax(off))
    if off[worst] > 1:
        _biased(int(real[worst]), float(mean[worst]), f"over {DRAWS} draws of size {size}")


def _biased(i: int, mean: float, how: str) -> None:
    raise Fails(f"component {i}: its weights sum to {mean:.4g} on average ({how}), not to 1/N = {1 / pools.N:.4g}")


def _totals(strategy: Strategy, pool: Pool, size: int, of: Callable[[Draw], Floats | None]) -> Floats:
    """(DRAWS, N) what each component got in each draw: the sum of its weights, or its count where `of` gives None."""
    rng = np.random.default_rng(2604)
    drawn = (strategy.draw(pool, size, rng) for _ in range(DRAWS))
    return np.array([np.bincount(one.indices, of(one), minlength=len(pool)) for one in drawn], dtype=np.float64)


def _moments(values: Floats, expected: float) -> tuple[Floats, Floats]:
    """Mean and standard error of each column.

    A column with few non-zero values takes the bound E[x^2] <= max(x) E[x] at the expected mean instead of its spread.
    """
    error = values.std(axis=0) / np.sqrt(DRAWS)
    rare = (np.count_nonzero(values, axis=0) < FEW) & (error > 0)
    bound = np.sqrt(np.abs(values).max(axis=0) * expected / DRAWS)
    return values.mean(axis=0), np.where(rare, np.maximum(error, bound), error)


def _z(tests: int) -> float:
    """The two-sided normal quantile at which `tests` tests together err at ERROR_RATE."""
    return NormalDist().inv_cdf(1 - ERROR_RATE / (2 * tests))


@check("permutation-equivariant")
def permutation_equivariant(strategy: Strategy) -> None:
    """The order of the pool does not matter: exactly for stated probabilities, in distribution for anything random."""
    pool = pools.pool(strategy, pools.MIXED)
    order = np.random.default_rng(1).permutation(pools.N)
    moved = pools.permuted(pool, order)
    p, q = hook(strategy, pool, 3), hook(strategy, moved, 3)
    if p is not None and q is not None and not np.allclose(p[order], q, rtol=1e-9, atol=1e-15):
        raise Fails("the probabilities depend on the order of the components")
    random = strategy.perturb(pool, np.random.default_rng(0)) is not pool
    if random or type(strategy).draw not in (IIDStrategy.draw, WithoutReplacement.draw):
        _alike(_totals(strategy, pool, 3, lambda one: None)[:, order], _totals(strategy, moved, 3, lambda one: None))


def _alike(one: Floats, other: Floats) -> None:
    typical = max(float(one.mean()), 1e-12)
    (mean, error), (mean_moved, error_moved) = _moments(one, typical), _moments(other, typical)
    off = np.abs(mean - mean_moved) / (_z(pools.N) * np.hypot(error, error_moved) + 1e-12)
    if off.max() > 1:
        i = int(np.argmax(off))
        raise Fails(f"a component is drawn {mean[i]:.3g} times on average, {mean_moved[i]:.3g} after a permutation")


@check("scale-invariant")
def scale_invariant(strategy: Strategy) -> str:
    """The same draws when all norms, or all costs, are multiplied by a constant (powers of 2 and 4: no rounding)."""
    if not strategy.scale_invariant:
        return "declared to depend on units: not measured"
    pool = pools.pool(strategy, pools.MIXED)
    for what, other in (("norms", pools.scaled(pool, norms=2.0**-9)), ("costs", pools.scaled(pool, costs=4.0**5))):
        p, q = hook(strategy, pool, 3), hook(strategy, other, 3)
        if p is not None and q is not None and not np.allclose(p, q, rtol=1e-9, atol=0):
            raise Fails(f"the probabilities change with the unit of {what}; else declare scale_invariant = False")
        for seed in range(20):
            if not same(draw(strategy, pool, pools.N, seed), draw(strategy, other, pools.N, seed)):
                raise Fails(f"the draw changes with the unit of {what}; else declare scale_invariant = False")
    return ""


@check("zero-norms")
def zero_norms(strategy: Strategy) -> None:
    """All norms zero: i.i.d. rules made of norms are uniform; others may draw nothing, and say so."""
    pool = pools.pool(strategy, zeros=pools.N)
    drawn = draw(strategy, pool, pools.N)
    flaw = draw_flaw(drawn, pools.N)
    p = hook(strategy, strategy.perturb(pool, np.random.default_rng(0)), pools.N)
    if isinstance(strategy, IIDStrategy) and strategy.reads_norms and p is not None and not np.allclose(p, 1 / pools.N):
        flaw = "must be uniform; where it goes by something other than norms, declare reads_norms = False"
    elif len(drawn) == 0 and not drawn.note:
        flaw = "nothing was drawn, and the draw's note does not say so"
    if flaw:
        raise Fails(f"all norms zero: {flaw}")


@check("single-component")
def single_component(strategy: Strategy) -> None:
    """N = 1 works, whatever the size."""
    pool = pools.pool(strategy, n=1)
    for size in (1, 3):
        drawn = draw(strategy, pool, size)
        flaw = draw_flaw(drawn, 1)
        if not flaw and type(strategy).draw is IIDStrategy.draw and not np.isclose(drawn.weights.sum(), 1):
            flaw = f"the weights sum to {drawn.weights.sum():g}, not 1"
        if flaw:
            raise Fails(f"a pool of one, size {size}: {flaw}")


@check("extreme-values")
def extreme_values(strategy: Strategy) -> None:
    """Norms of 1e-300 and 1e300, costs of 1 to 1e12 tokens: weights stay finite."""
    pool = pools.pool(strategy)
    wide = 10.0 ** np.linspace(-300, 300, pools.N)
    costs = 10.0 ** np.linspace(0, 12, pools.N)
    for norms in (wide, wide[::-1], np.full(pools.N, 1e-300), np.full(pools.N, 1e300)):
        drawn = draw(strategy, pools.with_values(pool, costs, norms), pools.N)
        flaw = draw_flaw(drawn, pools.N)
        if flaw:
            raise Fails(f"norms from {norms[0]:g} to {norms[-1]:g}: {flaw}")
