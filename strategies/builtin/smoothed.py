"""A floor under every probability, against heavy weights and proxies that err."""

from dataclasses import dataclass, field

import numpy as np

from strategies.builtin.pstar import PStar
from strategies.errors import WrongUse
from strategies.registry import register
from strategies.types import Bools, Floats, IIDStrategy, Pool, declares


@register("smoothed")
@dataclass(frozen=True)
class Smoothed(IIDStrategy):
    """(1 - alpha) p_inner + alpha/N: no weight exceeds 1/(alpha m), and any inner rule becomes unbiased.

    Args:
        inner: what is smoothed.
        alpha: share of uniform sampling, in [0, 1]; the paper has 0.01, 0.05 and 0.1.
    """

    inner: IIDStrategy = field(default_factory=PStar)
    alpha: float = 0.01

    unbiased = declares(lambda self: self.alpha > 0 or self.inner.unbiased)
    scale_invariant = declares(lambda self: self.inner.scale_invariant)
    reads_norms = declares(lambda self: self.alpha < 1 and self.inner.reads_norms)
    needs = declares(lambda self: self.inner.needs)
    references = ("arXiv 2604.28020, section 5.3",)

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise WrongUse(f"alpha={self.alpha:g}: must lie in [0, 1]")

    def probabilities(self, pool: Pool) -> Floats:
        return np.asarray((1 - self.alpha) * self.inner.probabilities(pool) + self.alpha / len(pool))

    def support(self, pool: Pool) -> Bools:
        return self.inner.support(pool) | (self.alpha > 0)

    def perturb(self, pool: Pool, rng: np.random.Generator) -> Pool:
        return self.inner.perturb(pool, rng)
