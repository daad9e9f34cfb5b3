"""Sampling strategies for cost-aware learning: (pool, size, rng) -> draw. Pure numpy, one file per strategy.

from dataclasses import dataclass
import numpy as np
from strategies import IIDStrategy, Pool, proportional, register

@register("cheap-and-large")
@dataclass(frozen=True)
class CheapAndLarge(IIDStrategy):
    def probabilities(self, pool: Pool) -> np.ndarray:
        return proportional(pool.norms / pool.costs)
"""

from strategies.errors import WrongUse
from strategies.method import Method, parse
from strategies.registry import register
from strategies.types import Draw, IIDStrategy, Pool, Strategy, WithoutReplacement, proportional

__all__ = [
    "Draw",
    "IIDStrategy",
    "Method",
    "Pool",
    "Strategy",
    "WithoutReplacement",
    "WrongUse",
    "parse",
    "proportional",
    "register",
]
