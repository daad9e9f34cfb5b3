"""From one draw to the optimizer updates of a step: the part of Cost-Aware GRPO that every engine shares.

A step makes U updates for every method. The draw is shuffled and split into U parts whose sizes differ by at most 1;
the loss of a part is sum_k U w_k L_k: a fixed denominator, never the part's own size, so that each update is an
unbiased estimate of the full gradient. Duplicates within one update are folded: one pass, weight times multiplicity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from strategies.errors import WrongUse
from strategies.types import Draw, Floats, Ints, Pool, Strategy

Recenter = Literal["none", "support"]


@dataclass(frozen=True, eq=False)
class Update:
    """One optimizer update: distinct rollouts, their loss weights, and how often each was drawn; (k,) each."""

    indices: Ints
    weights: Floats
    multiplicity: Ints

    def tokens(self, costs: Floats) -> float:
        """Tokens that the actor processes: each distinct rollout once (the ledger's `backward`)."""
        return float(costs[self.indices].sum())

    def tokens_drawn(self, costs: Floats) -> float:
        """Tokens with multiplicity, the paper's count (the ledger's `backward_drawn`)."""
        return float(costs[self.indices] @ self.multiplicity)


def part_sizes(draws: int, updates: int) -> list[int]:
    """Sizes of the U parts of a draw: they differ by at most 1 and sum to `draws`."""
    return [len(part) for part in np.array_split(np.empty(draws), updates)]


def split(draw: Draw, updates: int, rng: np.random.Generator, share: float = 1.0) -> list[Update]:
    """The updates of one step, empty ones included (an engine skips and logs them).

    Args:
        draw: the step's draw.
        updates: U, the same for every method.
        rng: shuffles the draw.
        share: what the weights are divided by, see `recentring`.
    """
    parts = np.array_split(rng.permutation(len(draw)), updates)
    # Which updates get the larger parts is left to chance as well: else the first ones would weigh more on average.
    return [_fold(draw, parts[place], updates / share) for place in rng.permutation(updates)]


def _fold(draw: Draw, part: Ints, scale: float) -> Update:
    distinct, where = np.unique(draw.indices[part], return_inverse=True)
    weights = np.bincount(where, draw.weights[part] * scale, minlength=len(distinct)).astype(np.float64)
    return Update(distinct, weights, np.bincount(where, minlength=len(distinct)))


def recentring(strategy: Strategy, pool: Pool, mode: Recenter) -> float:
    """What the weights of a draw are divided by: 1 for `none`, |{i: P(drawn) > 0}| / N for `support`.

    Known before the draw, so it only rescales the gradient (the paper's "around 1", appendix G.2). Dividing by a
    mini-batch's own mean weight instead is biased.
    """
    if mode == "none":
        return 1.0
    if mode == "support":
        return float(strategy.support(pool).mean()) or 1.0
    raise WrongUse(f"recenter={mode}: known: none, support")
