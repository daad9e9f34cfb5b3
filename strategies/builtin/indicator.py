"""Uniform over what has a gradient at all."""

from dataclasses import dataclass

import numpy as np

from strategies.registry import register
from strategies.types import Floats, IIDStrategy, Pool, proportional


@register("indicator")
@dataclass(frozen=True)
class Indicator(IIDStrategy):
    """p uniform over the components with G_i > 0: a control, the part of a saving that leaving out zeros gives."""

    def probabilities(self, pool: Pool) -> Floats:
        return proportional(np.asarray(pool.norms > 0, dtype=np.float64))
