"""Plain SGD sampling."""

from dataclasses import dataclass

import numpy as np

from strategies.registry import register
from strategies.types import Floats, IIDStrategy, Pool


@register("uniform")
@dataclass(frozen=True)
class Uniform(IIDStrategy):
    """p_i = 1/N: the baseline of the synthetic study."""

    reads_norms = False
    references = ("arXiv 2604.28020, section 4.3",)

    def probabilities(self, pool: Pool) -> Floats:
        return np.full(len(pool), 1.0 / len(pool))
