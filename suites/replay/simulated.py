"""A method without closed form, drawn again and again; also what `--check` holds the closed forms against."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from strategies import theory
from strategies.method import Method
from strategies.types import Draw, Floats, Pool
from suites.replay.design import Design, StepFigures, between, tokens_for
from suites.updates import Update, split

DRAWS = 200
LARGEST = 8  # pools: the size at which the search for an error gives up


@dataclass(frozen=True)
class Sample:
    """Simulated steps: (steps,) a value each, and the variance of the step's estimate over them."""

    tokens: Floats
    tokens_drawn: Floats
    draws: Floats
    errors: Floats
    ess_shares: Floats
    variance: float


class Simulated(Design):
    """Means over simulated draws, which are split into updates as an engine splits them."""

    def __init__(self, method: Method, pool: Pool, seed: int = 0, draws: int = DRAWS) -> None:
        super().__init__(method, pool, seed)
        self._draws = draws
        self._survey = cache(self.survey)

    def sample(self, size: int, updates: int) -> Sample:
        """Draw `size` components, many times over; the same draws at every call."""
        rng, costs = np.random.default_rng(self.seed), self.pool.costs
        rows, first, second = [], np.zeros(len(self.pool)), np.zeros(len(self.pool))
        for _ in range(self._draws):
            draw = self.method.strategy.draw(self.seen, size, rng)
            parts = split(draw, updates, rng)
            excess = self._weights(parts) - 1 / len(self.pool)
            first, second = first + excess, second + excess**2
            error = excess**2 @ self.pool.norms**2
            tokens = sum(part.tokens(costs) for part in parts)
            drawn = sum(part.tokens_drawn(costs) for part in parts)
            rows.append((tokens, drawn, len(draw), error, _ess(draw)))
        variance = (second - first**2 / self._draws) / max(self._draws - 1, 1) @ self.pool.norms**2
        tokens_each, drawn_each, draws, errors, shares = np.array(rows, dtype=np.float64).T
        return Sample(tokens_each, drawn_each, draws, errors, shares, float(variance))

    def _weights(self, parts: list[Update]) -> Floats:
        """(N,) the weight of each component's gradient in the step's estimate, the mean of its updates'."""
        weights = np.zeros(len(self.pool))
        for part in parts:
            weights[part.indices] += part.weights / len(parts)
        return weights

    def survey(self, size: int) -> tuple[float, float]:
        """(expected tokens, error) of one update of this size."""
        sample = self.sample(size, updates=1)
        return float(sample.tokens.mean()), float(sample.errors.mean())

    def update(self, share: float) -> tuple[float, float]:
        return between(self._survey, max(self.size * share, 1.0))

    def tokens_at(self, error: float) -> float | None:
        return tokens_for(self._survey, error, largest=LARGEST * len(self.pool))

    def step(self, updates: int) -> StepFigures:
        sample = self.sample(self.size, updates)
        reached = self.method.strategy.support(self.seen)
        return StepFigures(
            tokens=float(sample.tokens.mean()),
            tokens_drawn=float(sample.tokens_drawn.mean()),
            draws=float(sample.draws.mean()),
            variance=sample.variance,
            squared_bias=max(float(sample.errors.mean()) - sample.variance, 0.0),
            lost=float(self.pool.norms[~reached].sum()),
            ess_share=float(sample.ess_shares.mean()),
        )


def _ess(draw: Draw) -> float:
    return theory.effective_sample_size(draw.weights) / len(draw) if len(draw) else np.nan
