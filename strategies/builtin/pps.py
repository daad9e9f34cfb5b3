"""Without replacement: no rollout twice, and the expensive backward pass over it once."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from strategies import designs
from strategies.builtin.pstar import PStar
from strategies.registry import register
from strategies.types import Bools, Floats, IIDStrategy, Ints, Pool, WithoutReplacement, declares


@register("pps")
@dataclass(frozen=True)
class PPS(WithoutReplacement):
    """Each component at most once, i with probability pi_i = min(1, lambda p_inner,i), sum pi_i = size.

    Ours, beyond the paper. With size >= the number of components that `inner` can draw, all of those are drawn: `pps`
    is then `nonzero`. Draws nothing where all norms are zero.

    Args:
        inner: probabilities that the inclusion probabilities are proportional to, up to the cap at 1.
        design: `systematic` (random order, fixed size) or `poisson` (independent, random size).
    """

    inner: IIDStrategy = field(default_factory=PStar)
    design: Literal["systematic", "poisson"] = "systematic"

    unbiased = declares(lambda self: self.inner.unbiased)
    scale_invariant = declares(lambda self: self.inner.scale_invariant)
    reads_norms = declares(lambda self: self.inner.reads_norms)
    needs = declares(lambda self: self.inner.needs)
    references = (
        "Horvitz & Thompson 1952, Sampling without replacement from a finite universe",
        "Madow 1949 (systematic); Hajek 1964 (Poisson)",
    )

    def inclusion(self, pool: Pool, size: int) -> Floats:
        if self.reads_norms and not pool.norms.any():
            return np.zeros(len(pool))
        return designs.water_fill(self.inner.probabilities(pool), size)

    def select(self, pi: Floats, rng: np.random.Generator) -> Ints:
        return designs.DESIGNS[self.design](pi, rng)

    def support(self, pool: Pool) -> Bools:
        return self.inner.support(pool) & (pool.norms.any() or not self.reads_norms)

    def perturb(self, pool: Pool, rng: np.random.Generator) -> Pool:
        return self.inner.perturb(pool, rng)
