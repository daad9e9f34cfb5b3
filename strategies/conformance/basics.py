"""What every strategy owes: it runs, alone, on its generator only, and returns what it says it returns."""

from __future__ import annotations

import random

import numpy as np

from strategies import registry
from strategies.conformance import pools
from strategies.conformance.kit import Fails, check
from strategies.method import Method, parse
from strategies.types import Draw, Floats, IIDStrategy, Pool, Strategy, WithoutReplacement

SIZES = (1, 3, pools.N, 2 * pools.N)


def hook(strategy: Strategy, pool: Pool, size: int) -> Floats | None:
    """(N,) the probabilities, or inclusion probabilities, that a strategy states; None where it states none."""
    if isinstance(strategy, IIDStrategy):
        return strategy.probabilities(pool)
    return strategy.inclusion(pool, size) if isinstance(strategy, WithoutReplacement) else None


def draw(strategy: Strategy, pool: Pool, size: int, seed: int = 0) -> Draw:
    """One draw from a fresh generator."""
    return strategy.draw(pool, size, np.random.default_rng(seed))


@check("spec")
def spec(strategy: Strategy) -> None:
    """Registered, and the same strategy again after a trip through its spec string and through JSON."""
    if not strategy.name or registry.get(strategy.name) is not type(strategy):
        raise Fails(f"{type(strategy).__name__} is not registered: put @register('name') on the class")
    method = Method(strategy)
    for written in (str(method), method.to_json()):
        if parse(written) != method:
            raise Fails(f"{written} reads back as {parse(written)}, which is not equal")


@check("runs", gate=True)
def runs(strategy: Strategy) -> None:
    """No exception on ordinary pools."""
    for zeros in (pools.DENSE, pools.MIXED):
        pool = pools.writable(pools.pool(strategy, zeros))
        seen = strategy.perturb(pool, np.random.default_rng(0))
        for size in SIZES:
            if not _flaw(strategy, hook(strategy, seen, size)):
                draw(strategy, pool, size)


@check("probabilities", gate=True)
def probabilities(strategy: Strategy) -> None:
    """(N,), finite, >= 0, sum 1 (inclusion probabilities: <= 1)."""
    for zeros in (pools.DENSE, pools.MIXED):
        seen = strategy.perturb(pools.writable(pools.pool(strategy, zeros)), np.random.default_rng(0))
        for size in SIZES:
            flaw = _flaw(strategy, hook(strategy, seen, size))
            if flaw:
                raise Fails(flaw)


def _flaw(strategy: Strategy, p: Floats | None) -> str:
    """What is wrong with probabilities over an ordinary pool; empty where nothing is."""
    if p is None:
        return ""
    if not isinstance(p, np.ndarray):
        return f"a {type(p).__name__}, not a numpy array"
    if p.shape != (pools.N,):
        return f"shape {p.shape}, not ({pools.N},) for a pool of {pools.N}"
    bad = ~(np.isfinite(p) & (p >= 0))
    if bad.any():
        return f"p[{np.argmax(bad)}] = {p[np.argmax(bad)]:g}: must be finite and >= 0"
    if isinstance(strategy, IIDStrategy):
        return "" if abs(p.sum() - 1) < 1e-9 else f"they sum to {p.sum():.9g}, not 1"
    return "" if p.max() <= 1 + 1e-12 else f"pi[{np.argmax(p)}] = {p.max():g}: must be <= 1"


@check("draw", gate=True)
def valid_draw(strategy: Strategy) -> None:
    """A Draw whose indices lie in the pool and whose weights are finite; no repeats without replacement."""
    pool = pools.writable(pools.pool(strategy, pools.MIXED))
    for size in SIZES:
        flaw = draw_flaw(draw(strategy, pool, size), pools.N)
        if flaw:
            raise Fails(f"size {size}: {flaw}")
        drawn = draw(strategy, pool, size).indices
        if isinstance(strategy, WithoutReplacement) and len(np.unique(drawn)) < len(drawn):
            raise Fails(f"size {size}: a component was drawn twice, without replacement")


def draw_flaw(drawn: Draw, n: int) -> str:
    """What is wrong with a draw from n components; empty where nothing is."""
    if not isinstance(drawn, Draw):
        return f"draw returns {type(drawn).__name__}, not Draw"
    outside = (drawn.indices < 0) | (drawn.indices >= n)
    if outside.any():
        return f"index {drawn.indices[np.argmax(outside)]} is not in the pool of {n}"
    bad = ~np.isfinite(drawn.weights)
    return f"weights[{np.argmax(bad)}] is {drawn.weights[np.argmax(bad)]:g}" if bad.any() else ""


@check("pool-unchanged", gate=True)
def pool_unchanged(strategy: Strategy) -> None:
    """The pool is as it was: the next method meets the same world."""
    pool = pools.writable(pools.pool(strategy, pools.MIXED))
    before = pools.contents(pool)
    names = ["costs", "norms", "groups", *pool.features]
    strategy.support(pool)
    draw(strategy, pool, pools.N)
    for name, old, new in zip(names, before, pools.contents(pool), strict=True):
        if old != new:
            raise Fails(f"the draw writes into pool.{name}: work on a copy")


@check("no-global-rng", gate=True)
def no_global_rng(strategy: Strategy) -> None:
    """Neither np.random.* nor random.* is used: all randomness comes from the generator that is handed in."""
    before = random.getstate(), _numpy_state()
    draw(strategy, pools.pool(strategy), pools.N)
    if random.getstate() != before[0]:
        raise Fails("it advances Python's global random: use the rng argument")
    if _numpy_state() != before[1]:
        raise Fails("it advances numpy's global np.random: use the rng argument")


def _numpy_state() -> tuple[bytes, int]:
    state = np.random.get_state(legacy=False)["state"]
    return state["key"].tobytes(), state["pos"]


def same(one: Draw, other: Draw) -> bool:
    """Whether two draws have the same components and the same weights, to float tolerance."""
    return np.array_equal(one.indices, other.indices) and np.allclose(one.weights, other.weights, rtol=1e-9, atol=0)


@check("deterministic", gate=True)
def deterministic(strategy: Strategy) -> None:
    """The same generator gives the same draw, whatever was drawn in between."""
    pool = pools.pool(strategy)
    first = draw(strategy, pool, pools.N)
    draw(strategy, pools.pool(strategy, pools.MIXED), 3, seed=1)
    if not same(first, draw(strategy, pool, pools.N)):
        raise Fails("equal generators gave different draws: it keeps state, or has another source of randomness")


@check("note")
def note(strategy: Strategy) -> None:
    """The note is one line of text, or empty."""
    said = draw(strategy, pools.pool(strategy), pools.N).note
    if not isinstance(said, str) or "\n" in said:
        raise Fails(f"note is {said!r}: must be a line of text")


@check("needs")
def needs(strategy: Strategy) -> None:
    """The features that it reads are the ones it declares."""
    if not isinstance(strategy.needs, tuple):
        raise Fails(f"needs = {strategy.needs!r}: must be a tuple of names, as in ('reward',)")
    try:
        draw(strategy, pools.pool(strategy, features=strategy.needs), pools.N)
    except KeyError as error:
        raise Fails(f"it reads the feature {error}, which `needs` does not declare") from error


@check("support")
def support(strategy: Strategy) -> None:
    """What is drawn lies in the support, which is stated before the draw."""
    for zeros in (pools.DENSE, pools.MIXED):
        pool = pools.pool(strategy, zeros)
        stated = strategy.support(pool)
        if not isinstance(stated, np.ndarray) or stated.shape != (pools.N,) or stated.dtype != np.bool_:
            raise Fails(f"support must be a boolean array of shape ({pools.N},)")
        for seed in range(100):
            outside = [i for i in draw(strategy, pool, pools.N, seed).indices if not stated[i]]
            if outside:
                raise Fails(f"component {outside[0]} is drawn but is not in the stated support")
