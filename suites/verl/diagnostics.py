"""How good are a method's draws? Measured against true per-sequence gradients; opt-in, as those cost a pass more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from strategies import Method, Pool, proxies
from strategies.builtin.pstar import PStar
from strategies.theory import effective_sample_size, suboptimality
from strategies.types import Floats
from suites.verl import gradients
from suites.verl.sampling import Plan, plan

DRAWS = 100  # plans that the variance of an update is averaged over


@dataclass(frozen=True)
class Noise:
    """One update's gradient against the full batch's.

    relative_variance: E|estimate - gbar|^2 / |gbar|^2, bias included. tokens: that one update processes, on average.
    """

    relative_variance: float
    tokens: float

    @property
    def product(self) -> float:
        """Variance times tokens: by theory, the cost to a given error is proportional to it."""
        return self.relative_variance * self.tokens


def noise(
    method: Method, pool: Pool, gram: Floats, updates: int, rng: np.random.Generator, draws: int = DRAWS
) -> Noise:
    """Monte Carlo over `draws` plans of `updates` updates each. NaN where the full batch has no gradient.

    Args:
        method: what draws.
        pool: its norms made with the method's proxy.
        gram: (N, N) inner products of the rollouts' gradients.
        updates: U.
        rng: not the run's own.
    """
    parts = [update for _ in range(draws) for update in plan(method, pool, updates, "none", rng).updates]
    coefficients = np.zeros((len(parts), len(pool)))
    for row, update in zip(coefficients, parts, strict=True):
        row[update.indices] = update.weights
    error = coefficients - 1.0 / len(pool)
    square = float(gram.mean())  # |gbar|^2 = 1' K 1 / N^2
    variance = float(np.einsum("ri,ri->r", error @ gram, error).mean())
    tokens = float(np.mean([update.tokens(pool.costs) for update in parts]))
    return Noise(variance / square if square > 0 else np.nan, tokens)


def mean(parts: list[Noise]) -> Noise:
    """The average over several pools, part by part."""
    return Noise(
        float(np.mean([part.relative_variance for part in parts])), float(np.mean([part.tokens for part in parts]))
    )


def proxy_quality(pool: Pool, norms: Floats) -> dict[str, float | None]:
    """Pearson correlation with the true norms, and chi-square sub-optimality (Theorem 4.2), of every proxy.

    A value is None where it means nothing: a constant proxy, or one that misses rollouts with a gradient.
    """
    found: dict[str, float | None] = {}
    truth = pool.with_norms(norms)
    for proxy in proxies.entries():
        if proxy.name == "oracle" or not all(need in pool.features for need in proxy.needs):
            continue
        guess = pool.with_norms(proxies.norms(proxy.name, pool.features))
        varies = guess.norms.std() > 0 and norms.std() > 0
        found[f"pearson/{proxy.name}"] = float(np.corrcoef(guess.norms, norms)[0, 1]) if varies else None
        found[f"chi2/{proxy.name}"] = suboptimality(PStar().probabilities(guess), truth).chi2
    return found


def draw_quality(step: Plan) -> dict[str, float | None]:
    """Effective sample size as a share of the draw, and the share of distinct rollouts in it."""
    size = len(step.draw)
    ess = effective_sample_size(step.draw.weights) / size if size else None
    return {"ess_share": ess, "unique_share": step.unique_share}


def step_quality(pool: Pool, step: Plan) -> dict[str, float | None]:
    """The pool's mean tokens a rollout, the share without an advantage, and the updates that were skipped."""
    return {
        "cost": float(pool.costs.mean()),
        "zero_advantage": float((pool.features["advantage"] == 0).mean()),
        "empty_updates": float(step.empty),
    }


def study(method: Method, pool: Pool, true: Tensor, updates: int, rng: np.random.Generator) -> dict[str, float | None]:
    """All of it for one pool: `true` are the (N, P) gradients, the pool's features hold their norms as `grad_norm`.

    "J" is variance times tokens of one update: among methods, the predicted cost to a given error.
    """
    measured = noise(method, pool, gradients.gram(true), updates, rng)
    found: dict[str, float | None] = {"relative_variance": measured.relative_variance, "J": measured.product}
    return found | {"update_tokens": measured.tokens} | proxy_quality(pool, pool.features["grad_norm"])
