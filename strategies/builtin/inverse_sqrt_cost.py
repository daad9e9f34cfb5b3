"""The paper's optimum without its norms."""

from dataclasses import dataclass

import numpy as np

from strategies.registry import register
from strategies.types import Floats, IIDStrategy, Pool, proportional


@register("inverse-sqrt-cost")
@dataclass(frozen=True)
class InverseSqrtCost(IIDStrategy):
    """p_i ~ 1 / sqrt(c_i): an ablation, cost without a proxy of the norm (p* with every G_i = 1)."""

    reads_norms = False
    references = ("arXiv 2604.28020, section 5.5",)

    def probabilities(self, pool: Pool) -> Floats:
        return proportional(1.0 / np.sqrt(pool.costs))
