"""Leave the dear components out, and know how much bias that takes."""

from dataclasses import dataclass
from typing import Literal

from strategies import subset
from strategies.builtin.pstar import PStar
from strategies.errors import WrongUse
from strategies.registry import register
from strategies.types import Floats, IIDStrategy, Pool, declares, proportional


@register("knapsack")
@dataclass(frozen=True)
class Knapsack(IIDStrategy):
    """p* on a cheap set that keeps (1 - bias) of sum G_i; biased by at most bias * mean(G_i).

    Args:
        bias: share of sum G_i that may be left out, in [0, 1).
        solver: `greedy`, at most 2x the lightest set's sum G_i sqrt(c_i); `exact`, by CP-SAT, for pools of thousands.
    """

    bias: float = 0.05
    solver: Literal["greedy", "exact"] = "greedy"

    unbiased = declares(lambda self: self.bias == 0)
    references = ("arXiv 2604.28020, appendix C and D.3", "Csirik, Frenk, Labbe & Zhang 1991, min-knapsack heuristics")

    def __post_init__(self) -> None:
        if not 0 <= self.bias < 1:
            raise WrongUse(f"bias={self.bias:g}: must lie in [0, 1)")

    def probabilities(self, pool: Pool) -> Floats:
        shares = Pool(pool.costs, proportional(pool.norms))
        keep = subset.SOLVERS[self.solver](shares, self.bias)
        return PStar().probabilities(Pool(pool.costs, pool.norms * keep))
