"""Which components to leave out: the min-cost knapsack of appendix C (arXiv 2604.28020).

Sampling by p* from a kept set pi costs (sum_{i in pi} G_i sqrt(c_i))^2 up to a factor, at a bias of at most
beta = (1/n) sum_{i not in pi} G_i. Theorem C.1: minimize the kept weight sum z_i G_i sqrt(c_i) subject to
sum z_i G_i >= V_req. Here the requirement is `allowed` = sum_i G_i - V_req, the sum of norms that may be left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from strategies.errors import WrongUse
from strategies.types import Bools, Floats, Ints, Pool

BITS = 32  # norms as whole numbers: sums are exact, in any order (more bits make CP-SAT search in vain)
SLACK = 1e-8  # of `allowed`: a set that leaves out exactly what is allowed is not lost to rounding


def allowance(n: int, gamma: float, D: float) -> float:
    """n Gamma / D: the norms that a bias budget D beta <= Gamma allows to leave out (Theorem C.1, D.3).

    Args:
        n: number of components.
        gamma: budget for the error that bias may cause, in units of f.
        D: diameter of the feasible set.
    """
    return n * gamma / D


def allowance_strongly_convex(n: int, gamma: float, mu: float) -> float:
    """n sqrt(2 mu Gamma): the same where f is mu-strongly convex (D.4), as f(x_pi*) - f(x*) <= beta^2 / (2 mu)."""
    return n * math.sqrt(2 * mu * gamma)


def bias(keep: Bools, pool: Pool) -> float:
    """beta = (1/n) sum_{i not kept} G_i: bound on |grad f - grad f_pi| (appendix C)."""
    return float(pool.norms[~keep].sum() / len(pool))


def weight(z: Bools | Floats, pool: Pool) -> float:
    """sum_i z_i G_i sqrt(c_i), what the knapsack minimizes; z may be fractional."""
    return float(np.sum(z * pool.norms * np.sqrt(pool.costs)))


def cost(keep: Bools, pool: Pool, epsilon: float, D: float) -> float:
    """K_pi(eps) = D^2 (sum_kept G_i sqrt(c_i))^2 / (n^2 (eps - D beta)^2) tokens (appendix C); inf if eps <= D beta."""
    left = epsilon - D * bias(keep, pool)
    return (D * weight(keep, pool) / (len(pool) * left)) ** 2 if left > 0 else math.inf


def cost_strongly_convex(keep: Bools, pool: Pool, epsilon: float, mu: float) -> float:
    """4 (sum_kept G_i sqrt(c_i))^2 / (n^2 mu (eps - beta^2/(2 mu))) tokens; inf where bias alone exceeds eps.

    Section 4.1's strongly convex case on the kept set, with the bias of D.4; put together by us.
    """
    left = epsilon - bias(keep, pool) ** 2 / (2 * mu)
    return 4 * (weight(keep, pool) / len(pool)) ** 2 / (mu * left) if left > 0 else math.inf


def linear(pool: Pool, allowed: float) -> Floats:
    """(N,) z in [0, 1], the optimum of the LP relaxation: by rising cost until V_req is reached, the last one in part.

    A component's value per unit of weight is G_i / (G_i sqrt(c_i)) = 1/sqrt(c_i) (appendix C): cost sets the order.
    """
    order = np.lexsort((pool.norms, pool.costs))
    norms = pool.norms[order]
    short = np.maximum(norms.sum() - allowed - (np.cumsum(norms) - norms), 0.0)  # before each component
    z = np.zeros(len(pool))
    z[order] = np.minimum(np.divide(short, norms, out=np.zeros(len(pool)), where=norms > 0), 1.0)
    return z


def _whole(pool: Pool, allowed: float) -> tuple[Ints, int]:
    """Norms and allowance in whole units of 2^-BITS of the largest norm; what is not zero stays so."""
    unit = float(pool.norms.max()) * 2.0**-BITS or 1.0
    norms = np.maximum(np.rint(pool.norms / unit), pool.norms > 0).astype(np.int64)
    return norms, min(math.floor(allowed / unit * (1 + SLACK)), int(norms.sum()))


def greedy(pool: Pool, allowed: float) -> Bools:
    """(N,) what to keep: at most twice the lightest weight, so 4x in K_pi. O(N log N).

    Csirik, Frenk, Labbe & Zhang 1991: by rising cost, keep while V_req is not reached; a component that would reach it
    closes a candidate (kept + it) and is set aside; the lightest candidate wins. (To stop at the first is no
    approximation: G = (0.99, 1, 0.02), c = (1, 100, 101) with half allowed gives 10.99 instead of 1.19.)
    """
    norms, spare = _whole(pool, allowed)
    weights = pool.norms * np.sqrt(pool.costs)
    short = int(norms.sum()) - spare
    order = np.lexsort((norms, pool.costs))
    kept: list[int] = []
    light = 0.0  # weight of what is kept
    best = math.inf if short > 0 else 0.0  # the best candidate's weight
    last = (0, -1)  # it is kept[:k] + i of this (k, i)
    for i, g, w in zip(order.tolist(), norms[order].tolist(), weights[order].tolist(), strict=True):
        if g == 0:
            continue
        if g < short:
            kept.append(i)
            short -= g
            light += w
        elif light + w < best:
            best, last = light + w, (len(kept), i)
    keep = np.zeros(len(pool), dtype=bool)
    if last[1] >= 0:
        keep[[*kept[: last[0]], last[1]]] = True
    return keep


def exact(pool: Pool, allowed: float, seconds: float = 60.0) -> Bools:
    """(N,) the lightest set to keep, proven within a 1e-9 part of the least weight; N = 3000 takes 0.1 to 3 s.

    Solved by CP-SAT (ortools) as its complement, the heaviest set to leave out. What the LP bound settles is fixed
    first; of equal norms the dearest goes first, so pools with few distinct norms (group advantages) are easy too.
    Hard are thousands of distinct norms in a few classes of equal cost: the tolerance is what ends those.

    Raises:
        WrongUse: no proof within `seconds`.
    """
    from strategies.cpsat import heaviest

    norms, spare = _whole(pool, allowed)
    out = heaviest(norms, pool.norms * np.sqrt(pool.costs), spare, seconds)
    if out is None:
        raise WrongUse(
            f"knapsack: no proof of the optimum for {len(pool)} components in {seconds:g} s; use solver=greedy"
        )
    return ~out & (pool.norms > 0)


Solver = Callable[[Pool, float], Bools]
SOLVERS: dict[str, Solver] = {"greedy": greedy, "exact": exact}
