"""No sampling: the whole pool, once."""

from dataclasses import dataclass

import numpy as np

from strategies.registry import register
from strategies.types import Floats, Pool, WithoutReplacement


@register("none")
@dataclass(frozen=True)
class NoSampling(WithoutReplacement):
    """Every component once, weight 1/N: the paper's "no sampling" baseline."""

    sampled_form = "pps:inner=uniform"
    reads_norms = False
    references = ("arXiv 2604.28020, section 5.3",)

    def inclusion(self, pool: Pool, size: int) -> Floats:
        return np.ones(len(pool))
