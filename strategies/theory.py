"""Closed forms of arXiv 2604.28020: what a distribution costs, how far it is from the best, and bounds.

p is (N,) probabilities over a pool of N components with costs c (tokens) and gradient norms G. Sections and theorems
are the paper's. Designs without replacement are in `strategies.designs`, subset selection in `strategies.subset`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from strategies.errors import WrongUse
from strategies.types import Bools, Floats, Pool, proportional


def S(p: Floats, pool: Pool) -> float:  # noqa: N802 (the paper's name)
    """S(p) = (1/N^2) sum_i G_i^2 / p_i, second moment of one draw's estimate (4.1); inf where p_i = 0 but G_i > 0."""
    real = pool.norms > 0
    with np.errstate(divide="ignore"):
        return float(np.sum((pool.norms[real] / len(pool)) ** 2 / p[real]))


def C(p: Floats, pool: Pool) -> float:  # noqa: N802
    """C(p) = sum_i p_i c_i, mean tokens of one draw (4.1)."""
    return float(np.sum(p * pool.costs))


def J(p: Floats, pool: Pool) -> float:  # noqa: N802
    """J(p) = S(p) C(p): the expected cost to a given error is proportional to it (4.1, both cases)."""
    return S(p, pool) * C(p, pool)


def J_star(pool: Pool) -> float:  # noqa: N802
    """J(p*) = ((1/N) sum_i G_i sqrt(c_i))^2, the least J of any p (4.2, by Cauchy-Schwarz)."""
    return float(np.mean(pool.norms * np.sqrt(pool.costs)) ** 2)


def ratio_to_uniform(pool: Pool) -> float:
    """K(p*)/K(uniform) = (sum G sqrt(c))^2 / (sum G^2 sum c) <= 1 (4.3); NaN where all norms are zero."""
    g, c = proportional(pool.norms), pool.costs
    return float(np.sum(g * np.sqrt(c)) ** 2 / (np.sum(g**2) * c.sum())) if pool.norms.any() else math.nan


def ratio_to_variance(pool: Pool) -> float:
    """K(p*)/K(variance) = (sum G sqrt(c))^2 / (sum G sum G c) <= 1 (4.3); NaN where all norms are zero."""
    g, c = proportional(pool.norms), pool.costs
    return float(np.sum(g * np.sqrt(c)) ** 2 / np.sum(g * c)) if pool.norms.any() else math.nan


@dataclass(frozen=True)
class Suboptimality:
    """J(p')/J(p*) = 1 + chi2; chi2 is None where p' can't draw a component with G_i > 0.

    lost_mass is the share of sum G_i in such components, 0 where there are none.
    """

    chi2: float | None
    lost_mass: float

    @property
    def ratio(self) -> float | None:
        """J(p')/J(p*), None like chi2."""
        return None if self.chi2 is None else 1.0 + self.chi2


def suboptimality(p: Floats, pool: Pool) -> Suboptimality:
    """Theorem 4.2: chi2(p~* || p~') = sum (p~*_i)^2 / p~'_i - 1 with the cost-biased p~_i = p_i c_i / C(p).

    Where all norms are zero there is nothing to lose: chi2 = 0.
    """
    if not pool.norms.any():
        return Suboptimality(0.0, 0.0)
    lost = float(proportional(pool.norms)[p <= 0].sum())
    if lost > 0:
        return Suboptimality(None, lost)
    best = proportional(pool.norms * (np.sqrt(pool.costs) / np.sqrt(pool.costs.max())))  # p* c ~ G sqrt(c)
    biased = proportional(p * (pool.costs / pool.costs.max()))
    real = best > 0
    return Suboptimality(float(np.sum((best[real] - biased[real]) ** 2 / biased[real]) + biased[~real].sum()), 0.0)


def noisy_ratio(pool: Pool, sigma2: float) -> float:
    """Theorem D.5: E[J(p')]/J(p*) ~ 1 + sigma2 sum(sqrt(c)/G) / sum(G sqrt(c)) for norms G + N(0, sigma2).

    A second-order expansion in sigma/G_i: see `noisy_reach` for where it ends. inf where a norm is zero (no expansion).
    """
    roots = np.sqrt(pool.costs)
    if not pool.norms.all():
        return math.inf if sigma2 > 0 else 1.0
    return float(1.0 + sigma2 * np.sum(roots / pool.norms) / np.sum(pool.norms * roots))


def sigma2_of_correlation(norms: Floats, rho: float) -> float:
    """The noise at which proxy and norm correlate by rho (Pearson): sigma_G^2 (1 - rho^2) / rho^2 (D.5)."""
    return float(np.var(norms) * (1 - rho**2) / rho**2)


def noisy_reach(pool: Pool, share: float = 0.1) -> float:
    """The sigma2 up to which Theorem D.5 may be trusted: there the next term is `share` of the one it keeps.

    E[1/(G + e)] = 1/G + sigma2/G^3 + 3 sigma2^2/G^5 + ... for Gaussian e, so the ratio of the two is
    3 sigma2 sum(sqrt(c)/G^3) / sum(sqrt(c)/G), led by the least norm: sigma must stay well below min G (sigma about
    0.18 min G for equal norms). The series is asymptotic: beyond, norms that come out near zero make E[J] infinite.
    0 where a norm is zero.
    """
    if not pool.norms.all():
        return 0.0
    roots, g = np.sqrt(pool.costs), pool.norms / pool.norms.min()
    return float(share / 3 * pool.norms.min() ** 2 * np.sum(roots / g) / np.sum(roots / g**3))


def effective_sample_size(weights: Floats) -> float:
    """(sum_k w_k)^2 / sum_k w_k^2 of a draw's weights (Kish): m for equal ones; 0 for an empty draw."""
    top = weights.max(initial=0.0)
    return float(np.sum(weights / top) ** 2 / np.sum((weights / top) ** 2)) if top > 0 else 0.0


def mean_square(pool: Pool) -> float:
    """|gbar|^2 = sum_i G_i^2 / N^2 for orthogonal gradients of norm G_i."""
    return float(np.sum((pool.norms / len(pool)) ** 2))


def variance_iid(p: Floats, pool: Pool, size: int) -> float:
    """E|estimate - gbar|^2 = (S(p) - |gbar|^2) / size of `size` i.i.d. draws, orthogonal gradients of norm G_i."""
    return (S(p, pool) - mean_square(pool)) / size


def variance_minibatch(pool: Pool, size: float) -> float:
    """E|estimate - gbar|^2 of a plain mini-batch of B = `size` without replacement, orthogonal gradients of norm G_i.

    (1/B - 1/N) N/(N-1) (sum G^2/N - |gbar|^2), where the last bracket is (N-1) |gbar|^2.
    """
    return (1 / size - 1 / len(pool)) * len(pool) * mean_square(pool)


def cost(p: Floats, pool: Pool, epsilon: float, D: float) -> float:
    """K(eps, p) = D^2 S(p) C(p) / eps^2 tokens to error eps (4.1, general convex; D bounds |x_1 - x*|)."""
    return D**2 * J(p, pool) / epsilon**2


def cost_strongly_convex(p: Floats, pool: Pool, epsilon: float, mu: float) -> float:
    """K(eps, p) = 4 S(p) C(p) / (mu eps) tokens to error eps (4.1, mu-strongly convex)."""
    return 4 * J(p, pool) / (mu * epsilon)


@dataclass(frozen=True)
class LowerBound:
    """No algorithm reaches eps with fewer tokens, up to a constant; `members` (N,) is S*."""

    tokens: float
    members: Bools


def lower_bound(costs: Floats, G: float, epsilon: float, kappa: float = 1.0) -> LowerBound:
    """Section 4.6: Omega((G^2/eps^2) ((1/n) sum_{i in S*} sqrt(c_i))^2), norms all equal to G.

    The paper's text at hand lacks the definition of S*; this is our reconstruction from its proof: a prefix k of the
    ascending costs is feasible iff eps n sqrt(c_k) <= kappa G sum_{j <= k} sqrt(c_j), S* is the largest feasible one.
    kappa stands for the proof's constants: the value is meant up to a constant. 0 tokens where no prefix is feasible.

    Raises:
        WrongUse: epsilon, G or kappa not > 0.
    """
    if not (epsilon > 0 and G > 0 and kappa > 0):
        raise WrongUse(f"lower bound: epsilon={epsilon:g}, G={G:g} and kappa={kappa:g} must be > 0")
    order = np.argsort(costs, kind="stable")
    roots = np.sqrt(costs[order])
    feasible = np.flatnonzero(epsilon * len(costs) * roots <= kappa * G * np.cumsum(roots))
    k = int(feasible[-1]) + 1 if len(feasible) else 0
    members = np.zeros(len(costs), dtype=bool)
    members[order[:k]] = True
    return LowerBound(float((G / epsilon * roots[:k].sum() / len(costs)) ** 2), members)
