"""Sampling without replacement: inclusion probabilities, designs that realize them, and their variance.

A design draws a set; component i is in it with probability pi_i and then weighs 1/(N pi_i) (Horvitz & Thompson 1952),
which makes any design with pi_i > 0 wherever G_i > 0 unbiased.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from strategies.errors import WrongUse
from strategies.types import Floats, Ints, Pool


def water_fill(scores: Floats, total: float, costs: Floats | None = None) -> Floats:
    """pi_i = min(1, lambda scores_i) with sum_i pi_i costs_i = total, exactly (no iteration; O(N log N)).

    Sorted by falling score, the first k are capped for the smallest k at which the next one is not:
    lambda_k = (total - sum_{i<k} costs_i) / sum_{i>=k} scores_i costs_i.

    Args:
        scores: (N,) >= 0.
        total: what the expected costs must come to, >= 0.
        costs: (N,) > 0; None counts components, so that `total` is the expected size.

    Returns:
        (N,) in [0, 1]; 1 wherever scores > 0 if their costs together do not exceed `total`.
    """
    costs = np.ones(len(scores)) if costs is None else costs
    pi = np.zeros(len(scores))
    order = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores)]
    s, c = scores[order], costs[order]
    before = np.concatenate([[0.0], np.cumsum(c)])  # cost of the first k components
    if before[-1] <= total:
        pi[order] = 1.0
        return pi
    after = np.cumsum((s * c)[::-1])[::-1]  # scores times costs from component k on
    k = int(np.argmax((total - before[:-1]) * s <= after))
    pi[order[:k]] = 1.0
    pi[order[k:]] = (total - before[k]) * (s[k:] / after[k])
    return np.minimum(pi, 1.0)


def systematic(pi: Floats, rng: np.random.Generator) -> Ints:
    """A set of fixed size sum pi (rounded down or up where that is no integer): equal steps through a random order.

    Madow 1949. Components with pi = 1 are always in. Returns ascending indices, (m,).
    """
    certain = np.flatnonzero(pi >= 1)
    order = rng.permutation(np.flatnonzero((pi > 0) & (pi < 1)))
    edges = np.concatenate([[0.0], np.cumsum(pi[order])])
    hit = np.diff(np.ceil(edges - rng.random())) > 0  # does a point of the grid u, u + 1, ... fall on my stretch?
    return np.sort(np.concatenate([certain, order[hit]]))


def poisson(pi: Floats, rng: np.random.Generator) -> Ints:
    """A set of random size: each component on its own, with probability pi_i (Hajek 1964). Ascending indices, (m,)."""
    return np.flatnonzero(rng.random(len(pi)) < pi)


DESIGNS: dict[str, Callable[[Floats, np.random.Generator], Ints]] = {"systematic": systematic, "poisson": poisson}


def under_budget(pool: Pool, tokens: float) -> Floats:
    """(N,) the inclusion probabilities of least variance whose expected cost is at most `tokens` (ours).

    Minimizes sum_i G_i^2 / pi_i subject to sum_i pi_i c_i <= tokens and pi_i <= 1: the answer is
    pi_i = min(1, lambda G_i / sqrt(c_i)), the capped form of p*; lambda by `water_fill`.

    Raises:
        WrongUse: a budget <= 0 or NaN.
    """
    if not tokens > 0:
        raise WrongUse(f"a budget of {tokens:g} tokens: must be > 0")
    return water_fill(pool.norms / np.sqrt(pool.costs), tokens, pool.costs)


def variance(pi: Floats, pool: Pool) -> float:
    """E|estimate - mean gradient|^2 = (1/N^2) sum_i G_i^2 (1/pi_i - 1) of a draw with these inclusion probabilities.

    Exact for the Poisson design, whatever the gradients' directions; for the systematic one where gradients are
    orthogonal, else pairs count as well (gradients that point alike make its fixed size pay off). Norms are taken as
    |g_i| = G_i; inf where pi_i = 0 but G_i > 0.
    """
    real = pool.norms > 0
    with np.errstate(divide="ignore"):
        return float(np.sum(pool.norms[real] ** 2 * (1.0 / pi[real] - 1.0)) / len(pool) ** 2)
