"""Worlds of the synthetic tasks: N data vectors with targets and costs, the same for every method.

The paper (section 4.4) fixes N = 3000, d = 50, |a_i| <= 10 and c_i ~ U(1, 1000). How vectors and targets are made is
ours: a_i = r_i u_i with u_i uniform on the sphere and r_i ~ U(0, 10], b_i = a_i x* + N(0, 1) with |x*| = 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from strategies.types import Floats

LENGTH = 10.0  # the longest data vector
COSTS = (1.0, 1000.0)  # tokens
TAIL = 1.2  # Pareto index of the heavy-tailed costs: finite mean, infinite variance
CORRELATION = 0.8  # of the Gaussian copula between lengths and costs


@dataclass(frozen=True, eq=False)
class World:
    """rows (N, d) data vectors a_i, targets (N,) b_i, costs (N,) tokens c_i."""

    rows: Floats
    targets: Floats
    costs: Floats

    @property
    def lengths(self) -> Floats:
        """(N,) |a_i|."""
        return np.asarray(np.linalg.norm(self.rows, axis=1))


Rows = Callable[[np.random.Generator, int, int], Floats]  # (rng, n, dim) -> (n, dim)
Targets = Callable[[np.random.Generator, Floats], Floats]  # (rng, rows) -> (n,)
Costs = Callable[[np.random.Generator, Floats], Floats]  # (rng, lengths) -> (n,)


def _directions(rng: np.random.Generator, n: int, dim: int) -> Floats:
    normal = rng.standard_normal((n, dim))
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))


def sphere(shortest: float = 0.0) -> Rows:
    """a_i = r_i u_i with r_i ~ U(shortest, 10]; all of length 10 where `shortest` is 10."""

    def rows(rng: np.random.Generator, n: int, dim: int) -> Floats:
        lengths = LENGTH - (LENGTH - shortest) * rng.random(n)
        return np.asarray(lengths[:, None] * _directions(rng, n, dim))

    return rows


def gaussian(rng: np.random.Generator, n: int, dim: int) -> Floats:
    """Standard normal rows, scaled together so that the longest is 10: lengths differ little in high dimension."""
    rows = rng.standard_normal((n, dim))
    return np.asarray(rows * (LENGTH / np.linalg.norm(rows, axis=1).max()))


def linear(rng: np.random.Generator, rows: Floats) -> Floats:
    """b_i = a_i x* + N(0, 1) with x* uniform on the unit sphere."""
    truth = _directions(rng, 1, rows.shape[1])[0]
    return np.asarray(rows @ truth + rng.standard_normal(len(rows)))


def labels(rng: np.random.Generator, rows: Floats) -> Floats:
    """b_i in {-1, +1} with P(b_i = 1) = 1 / (1 + exp(-a_i x*)), x* uniform on the unit sphere."""
    truth = _directions(rng, 1, rows.shape[1])[0]
    return np.where(rng.random(len(rows)) < 1 / (1 + np.exp(-(rows @ truth))), 1.0, -1.0)


def uniform_costs(rng: np.random.Generator, lengths: Floats) -> Floats:
    """c_i ~ U(1, 1000), independent of the data. p* then beats `variance` by 11% at most: E[sqrt c]^2 / E[c] = 8/9."""
    return rng.uniform(*COSTS, size=len(lengths))


def heavy_tailed_costs(rng: np.random.Generator, lengths: Floats) -> Floats:
    """Pareto with index 1.2 and mean 500, independent of the data: a few components cost as much as all others."""
    least = 500.0 * (TAIL - 1) / TAIL
    return np.asarray(least * (1 + rng.pareto(TAIL, size=len(lengths))))


def correlated_costs(rng: np.random.Generator, lengths: Floats) -> Floats:
    """U(1, 1000) as before, but tied to |a_i| by a Gaussian copula with correlation 0.8: long vectors cost more."""
    from scipy.special import ndtr, ndtri

    ranks = (np.argsort(np.argsort(lengths)) + 0.5) / len(lengths)
    score = CORRELATION * ndtri(ranks) + np.sqrt(1 - CORRELATION**2) * rng.standard_normal(len(lengths))
    low, high = COSTS
    return np.asarray(low + (high - low) * ndtr(score))
