"""Importance sampling that looks at norms only."""

from dataclasses import dataclass

from strategies.registry import register
from strategies.types import Floats, IIDStrategy, Pool, proportional


@register("variance")
@dataclass(frozen=True)
class Variance(IIDStrategy):
    """p_i ~ G_i: minimizes the estimate's variance S(p), so the iterations to a given error; ignores cost."""

    references = (
        "arXiv 2604.28020, section 4.3 and appendix D.1",
        "Alain et al. 2015, Variance reduction in SGD by distributed importance sampling",
    )

    def probabilities(self, pool: Pool) -> Floats:
        return proportional(pool.norms)
