"""Theory beside measurement: what every Point of a synthetic run says about S, C and J."""

from __future__ import annotations

import math

import numpy as np

from strategies import theory
from strategies.types import Floats, Pool
from suites.synthetic.engine import Moments
from suites.synthetic.sampling import Stream

Values = dict[str, float | None]


def of_theory(stream: Stream, pool: Pool) -> Values:
    """S, C and J of the stream, means over the trials where each has a distribution p' of its own.

    S, C: second moment bound and mean tokens of a step. For i.i.d. draws also J_support = S C; chi2 (Theorem 4.2) and
    lost_mass; J, which is J_support where no component with G_i > 0 is out of reach and None where one is, as a biased
    method's cost to error does not follow from it; for perturbed norms what Theorem D.5 makes of their correlation.
    """
    values: Values = {"S": _mean(stream.second_moment), "C": _mean(stream.mean_cost), "J": None}
    if stream.seen is None:
        return values
    p, norms = stream.seen
    gaps = [theory.suboptimality(each, pool) for each in p]
    lost = _mean(np.array([gap.lost_mass for gap in gaps]))
    values["J_support"] = _mean(stream.second_moment * stream.mean_cost)
    values["lost_mass"] = lost
    values["chi2"] = None if lost else _mean(np.array([gap.chi2 for gap in gaps]))
    values["J"] = None if lost else values["J_support"]
    return values | (_of_noise(norms, pool) if len(norms) > 1 else {})


def _of_noise(norms: Floats, pool: Pool) -> Values:
    """Theorem D.5 from the measured Pearson correlation; d5_trusted says whether the noise is within its reach."""
    rho = _mean(np.array([np.corrcoef(pool.norms, seen)[0, 1] for seen in norms]))
    sigma2 = theory.sigma2_of_correlation(pool.norms, rho)
    ratio = theory.noisy_ratio(pool, sigma2)
    reach = theory.noisy_reach(pool)
    return {"pearson": rho, "J_d5": ratio * theory.J_star(pool), "d5_trusted": float(sigma2 <= reach)}


def measured(moments: Moments, steps: int) -> Values:
    """S, C and J as they came out, with standard errors over the trials.

    A trial's J is unbiased for independent steps: mean of s_a c_b over pairs of different steps a, b.
    """
    if steps == 0:
        return {}
    second, cost, product = (np.asarray(m.cpu()) for m in (moments.second, moments.cost, moments.product))
    found = {"S": second / steps, "C": cost / steps}
    if steps > 1:
        found["J"] = (second * cost - product) / (steps * (steps - 1))
    values: Values = {}
    for name, each in found.items():
        values[f"{name}_measured"] = _mean(each)
        error = float(each.std(ddof=1) / math.sqrt(len(each))) if len(each) > 1 else None
        values[f"{name}_measured_se"] = error
    return values


def bounds(of: Values, pool: Pool, error: float, steps: int, radius: float, lower: bool) -> Values:
    """The paper's bounds for general convex f, with D = radius and bias beta = lost_mass * mean(G) of a subset.

    error_bound: of E f(mean iterate) - f(x*) after so many steps, D sqrt(S / T) + D beta (4.1, appendix C). Where
    `lower`: K_bound, tokens to `error` by appendix C, D^2 J / (error - D beta)^2, None where bias alone exceeds it; and
    lower_bound of section 4.6 (up to a constant; norms all equal).
    """
    second, product, lost = of["S"], of.get("J_support"), of.get("lost_mass") or 0.0
    assert second is not None
    bias = radius * lost * float(pool.norms.mean())
    values: Values = {"error_bound": radius * math.sqrt(second / steps) + bias} if steps else {}
    if lower and error > 0:
        reachable = product is not None and error > bias
        values["K_bound"] = radius**2 * product / (error - bias) ** 2 if reachable and product is not None else None
        values["lower_bound"] = theory.lower_bound(pool.costs, float(pool.norms.max()), error).tokens
    return values


def _mean(values: Floats) -> float:
    return float(np.mean(values))
