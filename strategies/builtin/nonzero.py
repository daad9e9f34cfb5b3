"""The whole pool but what has no gradient, once: how much of a saving is just this?"""

from dataclasses import dataclass

import numpy as np

from strategies.registry import register
from strategies.types import Floats, Pool, WithoutReplacement


@register("nonzero")
@dataclass(frozen=True)
class NonZero(WithoutReplacement):
    """Every component with G_i > 0 once, weight 1/N: a control, the gradient of `none` at fewer tokens."""

    sampled_form = "pps:inner=indicator"
    references = ("zero-variance groups are dropped likewise, but resampled, in DAPO (arXiv 2503.14476)",)

    def inclusion(self, pool: Pool, size: int) -> Floats:
        return np.asarray(pool.norms > 0, dtype=np.float64)
