"""Small pools that tell properties apart: no two components alike, some without gradient, every feature there is."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from strategies import proxies
from strategies.types import Floats, Ints, Pool, Strategy

N = 8
DENSE, MIXED = 0, 3  # how many of the N components have norm 0


def pool(strategy: Strategy, zeros: int = DENSE, n: int = N, features: Iterable[str] | None = None) -> Pool:
    """n components with norms in [0.5, 2], the first `zeros` of them 0, costs of 100 to 800 tokens, two a group.

    Norms and costs differ by small factors only, so that each component is drawn often enough to be judged.
    `features` are all that any proxy or the strategy itself names, unless given.
    """
    rng = np.random.default_rng(20)
    norms = rng.uniform(0.5, 2.0, n)
    norms[:zeros] = 0.0
    costs = rng.uniform(100.0, 800.0, n)
    known = {need for proxy in proxies.entries() for need in proxy.needs} | {*strategy.needs}
    wanted = sorted(known) if features is None else features
    return Pool(costs, norms, np.arange(n) // 2, {name: rng.uniform(0.1, 1.0, n) for name in wanted})


def writable(pool: Pool) -> Pool:
    """The same pool, its arrays open to writing: who writes is found out, not stopped."""
    arrays = [pool.costs, pool.norms, pool.groups, *pool.features.values()]
    for array in arrays:
        if array is not None:
            array.setflags(write=True)
    return pool


def contents(pool: Pool) -> list[bytes]:
    """What the pool's arrays hold, to compare later."""
    arrays = [pool.costs, pool.norms, pool.groups, *pool.features.values()]
    return [b"" if array is None else array.tobytes() for array in arrays]


def permuted(pool: Pool, order: Ints) -> Pool:
    """The same components in another order."""
    groups = None if pool.groups is None else pool.groups[order]
    return Pool(pool.costs[order], pool.norms[order], groups, {k: v[order] for k, v in pool.features.items()})


def scaled(pool: Pool, norms: float = 1.0, costs: float = 1.0) -> Pool:
    """The same components in other units."""
    return Pool(pool.costs * costs, pool.norms * norms, pool.groups, pool.features)


def with_values(pool: Pool, costs: Floats, norms: Floats) -> Pool:
    """Other costs and norms, the rest as it is."""
    return Pool(costs, norms, pool.groups, pool.features)
