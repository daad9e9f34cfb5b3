"""How good must a proxy be?"""

import math
from dataclasses import dataclass, field

import numpy as np

from strategies.builtin.pstar import PStar
from strategies.errors import WrongUse
from strategies.registry import register
from strategies.types import Bools, Floats, IIDStrategy, Pool, declares


@register("noisy")
@dataclass(frozen=True)
class NoisyProxy(IIDStrategy):
    """p_inner of max(G_i + N(0, sigma2), 0), drawn anew each time: an ablation of the proxy.

    Biased on its own: a norm that the noise takes to zero is not drawn and nothing makes up for it. Unbiased under
    `smoothed`. A pool of zeros is left alone: there is no proxy to perturb.

    Args:
        inner: the rule that gets the perturbed norms.
        sigma2: variance of the noise, >= 0; the paper has 0.01, 0.1 and 1.
    """

    inner: IIDStrategy = field(default_factory=PStar)
    sigma2: float = 0.1

    unbiased = declares(lambda self: self.sigma2 == 0 and self.inner.unbiased)
    scale_invariant = declares(lambda self: self.sigma2 == 0 and self.inner.scale_invariant)
    reads_norms = declares(lambda self: self.inner.reads_norms)
    needs = declares(lambda self: self.inner.needs)
    references = ("arXiv 2604.28020, section 5.5 and Theorem D.5",)

    def __post_init__(self) -> None:
        if not 0 <= self.sigma2 < math.inf:
            raise WrongUse(f"sigma2={self.sigma2:g}: must be a finite variance >= 0")

    def probabilities(self, pool: Pool) -> Floats:
        return self.inner.probabilities(pool)

    def support(self, pool: Pool) -> Bools:
        """Over the noise: any component's norm may come out as the only one that counts."""
        return self.inner.support(pool) | (self.sigma2 > 0)

    def perturb(self, pool: Pool, rng: np.random.Generator) -> Pool:
        if not pool.norms.any():
            return self.inner.perturb(pool, rng)
        noise = rng.normal(scale=math.sqrt(self.sigma2), size=len(pool))
        return self.inner.perturb(pool.with_norms(np.maximum(pool.norms + noise, 0.0)), rng)
