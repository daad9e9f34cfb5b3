"""Random numbers keyed by purpose and step: nothing needs saving, and all methods meet the same world."""

from __future__ import annotations

from random import Random

import numpy as np
import torch
from torch import Tensor


class Streams:
    """Random numbers that depend on (seed, purpose, step) alone: no state to save, and equal for every method.

    Args:
        world: prompts and sampling, the same for every method.
        draw: the method's own.
    """

    def __init__(self, world: np.random.SeedSequence, draw: np.random.SeedSequence) -> None:
        self.world, self.draw = world, draw

    def prompts(self, step: int, attempt: int) -> Random:
        """What picks the prompts of a step; a new attempt picks others."""
        return Random(int(_child(self.world, 0, step, attempt).generate_state(1, np.uint64)[0]))

    def uniforms(self, step: int, attempt: int, rows: int, tokens: int) -> Tensor:
        """(rows, tokens) numbers in [0, 1) that decide the responses."""
        rng = np.random.default_rng(_child(self.world, 1, step, attempt))
        return torch.from_numpy(rng.random((rows, tokens), dtype=np.float32))

    def evaluation(self, rows: int, tokens: int) -> Tensor:
        """Common random numbers of every evaluation in this world."""
        rng = np.random.default_rng(_child(self.world, 2))
        return torch.from_numpy(rng.random((rows, tokens), dtype=np.float32))

    def draws(self, step: int) -> np.random.Generator:
        """What the method draws with."""
        return np.random.default_rng(_child(self.draw, 0, step))

    def study(self, step: int) -> np.random.Generator:
        """What diagnostics draw with: they must not touch the run."""
        return np.random.default_rng(_child(self.draw, 1, step))


def _child(parent: np.random.SeedSequence, *key: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(parent.entropy, spawn_key=(*parent.spawn_key, *key))
