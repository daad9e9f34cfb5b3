"""Constant-time draws from discrete distributions by the alias method (Walker 1977, Vose 1991), many at once."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from strategies.types import Floats, Ints


def table(p: Floats) -> tuple[Floats, Ints]:
    """(N,) thresholds and aliases: a uniform slot i with a coin u < threshold_i gives i, else alias_i.

    >>> table(np.array([0.25, 0.75]))
    (array([0.5, 1. ]), array([1, 1]))
    """
    share = (p * len(p)).tolist()  # plain floats: the loop is sequential, and lists beat arrays in it
    threshold, alias = [1.0] * len(share), list(range(len(share)))
    poor = [i for i, value in enumerate(share) if value < 1]
    rich = [i for i, value in enumerate(share) if value >= 1]
    while poor and rich:
        i, donor = poor.pop(), rich[-1]
        threshold[i], alias[i] = share[i], donor
        share[donor] -= 1 - share[i]
        if share[donor] < 1:
            poor.append(rich.pop())
    return np.array(threshold), np.array(_within_support(p, poor, threshold, alias))


def _within_support(p: Floats, left: list[int], threshold: list[float], alias: list[int]) -> list[int]:
    """Rounding leaves slots without a donor: harmless with threshold 1, but never for what must not be drawn."""
    for i in left:
        if p[i] == 0:
            threshold[i], alias[i] = 0.0, int(np.argmax(p))
    return alias


def at(values: Tensor, indices: Tensor) -> Tensor:
    """values[indices] for a vector and indices of any shape; several times faster than indexing or `take`."""
    return values.index_select(0, indices.view(-1)).view(indices.shape)


class AliasSampler:
    """Draws (steps, trials) indices: from one distribution for all trials, or from one for each.

    Args:
        p: (K, N) distributions, K = 1 or the number of trials.
        trials: columns of a block.
        generator: all randomness; its device is where the draws are made.
    """

    def __init__(self, p: Floats, trials: int, generator: torch.Generator) -> None:
        tables = [table(row) for row in p]
        device = generator.device
        self._size = p.shape[1]
        self._threshold = torch.as_tensor(np.concatenate([t for t, _ in tables]), device=device)
        self._alias = torch.as_tensor(np.concatenate([a for _, a in tables]), device=device)
        self._row = torch.arange(trials, device=device).mul_(self._size) if len(p) > 1 else None
        self._trials, self._generator = trials, generator

    def take(self, steps: int) -> Tensor:
        """The next (steps, trials) indices. One uniform gives slot and coin: 53 bits are enough for both."""
        coin = torch.rand(
            steps, self._trials, dtype=torch.float64, device=self._generator.device, generator=self._generator
        ).mul_(self._size)
        slot = coin.long()
        coin.sub_(slot)
        place = slot if self._row is None else slot + self._row
        return torch.where(coin < at(self._threshold, place), slot, at(self._alias, place))
