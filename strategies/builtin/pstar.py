"""The paper's optimum."""

from dataclasses import dataclass

import numpy as np

from strategies.registry import register
from strategies.types import Floats, IIDStrategy, Pool, proportional


@register("pstar")
@dataclass(frozen=True)
class PStar(IIDStrategy):
    """p_i ~ G_i / sqrt(c_i): minimizes J(p) = S(p) C(p), the cost to a given error."""

    references = ("arXiv 2604.28020, section 4.2",)

    def probabilities(self, pool: Pool) -> Floats:
        roots = np.sqrt(pool.costs)
        return proportional(pool.norms * (roots.min() / roots))  # a factor <= 1: the largest norm can't overflow
