"""Streams of components for all trials at once: what a method draws, one component a step.

A method's draw of `size(pool)` components is used up one component a step in random order, as an engine splits a draw
into updates; then the next draw is made. For i.i.d. strategies that is one i.i.d. component a step, for `none` a pass
through the pool without replacement (random reshuffling), for `pps:draws=0.5` passes through half of it. The weight of
a step is m w_k, with m the expected size of a draw: the steps of a draw sum to m times an unbiased estimate of the mean
gradient.

A strategy that perturbs the pool (`noisy`) does so once a trial if it is i.i.d.: each trial is an SGD run under a fixed
proxy distribution p', as Theorems 4.2 and D.5 have it, and the trials average over p'.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from strategies import theory
from strategies.errors import WrongUse
from strategies.method import Method
from strategies.types import Draw, Floats, IIDStrategy, Ints, Pool, Strategy, WithoutReplacement
from suites.synthetic.alias import AliasSampler, at
from suites.synthetic.recipes import children

HORIZON = 1024  # steps that a stream of draws is filled ahead
PILOT = 256  # draws from which the moments of a rule without a closed form are learnt
EMPTY = 1000  # empty draws in a row after which a method is taken never to draw anything


class Stream(Protocol):
    """Components for every trial.

    `second_moment` bounds E|w g|^2 of a step by E (w G)^2 (S of the paper), `mean_cost` is E c of a step in tokens:
    one value, or one a trial. `seen` is what an i.i.d. strategy drew from: (K, N) probabilities and norms, K = 1 or the
    number of trials; None for draws that are not i.i.d.
    """

    second_moment: Floats
    mean_cost: Floats
    seen: tuple[Floats, Floats] | None

    def take(self, steps: int) -> tuple[Tensor, Tensor]:
        """The next (steps, trials) indices and their float64 importance weights."""
        ...


def stream(method: Method, pool: Pool, trials: int, seed: np.random.SeedSequence, device: torch.device) -> Stream:
    """The stream of a method; every trial draws independently of the others."""
    if isinstance(method.strategy, IIDStrategy):
        return IIDStream(method.strategy, pool, trials, seed, device)
    return DrawStream(method, pool, trials, seed, device)


def support_moments(p: Floats, pool: Pool) -> tuple[float, float]:
    """S(p) over the components that p can draw, and C(p): the moments of a step, for subsets of the pool too."""
    reachable = pool if p.all() else pool.with_norms(np.where(p > 0, pool.norms, 0.0))
    return theory.S(p, reachable), theory.C(p, pool)


class IIDStream:
    """One i.i.d. component a step; a perturbed pool, where the strategy perturbs it, for each trial."""

    def __init__(
        self, strategy: IIDStrategy, pool: Pool, trials: int, seed: np.random.SeedSequence, device: torch.device
    ) -> None:
        for_draws, for_noise = children(seed, 2)
        pools = list(_perturbed(strategy, pool, trials, np.random.default_rng(for_noise)))
        p = np.stack([_checked(strategy, strategy.probabilities(seen)) for seen in pools])
        self.seen: tuple[Floats, Floats] | None = p, np.stack([seen.norms for seen in pools])
        moments = np.array([support_moments(each, pool) for each in p]).T
        self.second_moment, self.mean_cost = moments if len(p) > 1 else moments[:, 0]
        generator = torch.Generator(device).manual_seed(int(for_draws.generate_state(1, np.uint64)[0] >> 1))
        self._sampler = AliasSampler(p, trials, generator)
        weights = 1 / (len(pool) * np.where(p > 0, p, np.inf))
        self._weights = torch.as_tensor(weights.ravel(), device=device)
        self._row = torch.arange(trials, device=device) * len(pool) if len(p) > 1 else 0

    def take(self, steps: int) -> tuple[Tensor, Tensor]:
        """The next (steps, trials) indices and weights 1 / (N p_i)."""
        indices = self._sampler.take(steps)
        return indices, at(self._weights, indices + self._row)


def _perturbed(strategy: Strategy, pool: Pool, trials: int, rng: np.random.Generator) -> Iterator[Pool]:
    """The pool that the strategy sees in each trial; once only where it does not perturb."""
    first = strategy.perturb(pool, rng)
    yield first
    if first is not pool:
        for _ in range(trials - 1):
            yield strategy.perturb(pool, rng)


def _checked(strategy: Strategy, p: Floats) -> Floats:
    if not (np.isfinite(p).all() and (p >= 0).all() and abs(p.sum() - 1) < 1e-9):
        raise WrongUse(f"{strategy.name} gave no probabilities: run `costaware check` on it")
    return p


class DrawStream:
    """Whole draws of any strategy, shuffled and used up one component a step; each trial makes draws of its own."""

    seen: tuple[Floats, Floats] | None = None

    def __init__(
        self, method: Method, pool: Pool, trials: int, seed: np.random.SeedSequence, device: torch.device
    ) -> None:
        for_pilot, for_trials = children(seed, 2)
        self._method, self._pool, self._device = method, pool, device
        size, self.second_moment, self.mean_cost = self._moments(np.random.default_rng(for_pilot))
        self._trials = [self._components(np.random.default_rng(child), size) for child in for_trials.spawn(trials)]
        self._indices, self._weights = self._fill()

    def take(self, steps: int) -> tuple[Tensor, Tensor]:
        """The next (steps, trials) indices and weights m w_k."""
        while len(self._indices) < steps:
            more = self._fill()
            self._indices = np.concatenate([self._indices, more[0]])
            self._weights = np.concatenate([self._weights, more[1]])
        now = self._indices[:steps], self._weights[:steps]
        self._indices, self._weights = self._indices[steps:], self._weights[steps:]
        return torch.as_tensor(now[0], device=self._device), torch.as_tensor(now[1], device=self._device)

    def _fill(self) -> tuple[Ints, Floats]:
        indices, weights = zip(*(next(trial) for trial in self._trials), strict=True)
        return np.stack(indices, axis=1), np.stack(weights, axis=1)

    def _components(self, rng: np.random.Generator, size: float) -> Iterator[tuple[Ints, Floats]]:
        """Endless stretches of HORIZON components of one trial, each with its weight."""
        indices, weights = np.empty(0, np.int64), np.empty(0)
        while True:
            while len(indices) < HORIZON:
                draw = self._draw(rng)
                order = rng.permutation(len(draw))
                indices = np.concatenate([indices, draw.indices[order]])
                weights = np.concatenate([weights, draw.weights[order] * size])
            yield indices[:HORIZON], weights[:HORIZON]
            indices, weights = indices[HORIZON:], weights[HORIZON:]

    def _draw(self, rng: np.random.Generator) -> Draw:
        for _ in range(EMPTY):
            draw = self._method.draw(self._pool, rng)
            if len(draw):
                return draw
        raise WrongUse(f"{self._method} drew nothing {EMPTY} times in a row: it can't take a step")

    def _moments(self, rng: np.random.Generator) -> tuple[float, Floats, Floats]:
        """Expected size m of a draw, S and C of a step: exact from inclusion probabilities, else from pilot draws."""
        strategy, pool = self._method.strategy, self._pool
        if isinstance(strategy, WithoutReplacement) and strategy.perturb(pool, rng) is pool:
            inclusion = strategy.inclusion(pool, self._method.size(pool))
            size = float(inclusion.sum())
            second, cost = support_moments(inclusion / size, pool)
            return size, np.asarray(second), np.asarray(cost)
        draws = [self._draw(rng) for _ in range(PILOT)]
        size = float(np.mean([len(draw) for draw in draws]))
        squares = [np.sum((draw.weights * pool.norms[draw.indices]) ** 2) for draw in draws]
        costs = [pool.costs[draw.indices].sum() for draw in draws]
        return size, np.asarray(np.mean(squares) * size), np.asarray(np.mean(costs) / size)
