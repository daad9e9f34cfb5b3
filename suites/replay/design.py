"""What a method costs and how far its estimate errs on one pool: closed forms, and simulation where there are none.

Notation: costs c, norms G, pool size N, gradients g_i taken as orthogonal, gbar = (1/N) sum_i g_i, so that
|gbar|^2 = sum_i G_i^2 / N^2. An estimate sum_i W_i g_i with random weights W_i has the error

    E|estimate - gbar|^2 = sum_i G_i^2 E(W_i - 1/N)^2 = variance + squared bias.

The G that count here may differ from the norms the strategy goes by (its proxy of them).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from strategies import proxies, theory
from strategies.method import Method
from strategies.types import Floats, Pool

PERTURBATIONS = 200  # over which the closed forms of a randomized strategy are averaged


@dataclass(frozen=True)
class StepFigures:
    """A method's expectations for one step: one draw, shuffled and split into the step's updates.

    tokens: duplicates folded within an update; tokens_drawn: with multiplicity; draws: components drawn. variance and
    squared_bias: of the step's estimate. lost: sum of G over what can't be drawn. ess_share: (sum w)^2 / (m sum w^2),
    NaN where nothing is drawn. chi2: J(p)/J(p*) - 1; None where the method has no probabilities of single draws, or
    loses components.
    """

    tokens: float
    tokens_drawn: float
    draws: float
    variance: float
    squared_bias: float
    lost: float
    ess_share: float
    chi2: float | None = None


class Design(ABC):
    """A method on one pool."""

    def __init__(self, method: Method, pool: Pool, seed: int = 0) -> None:
        """`pool` has the norms by which the method is judged; the method draws by its own proxy of them."""
        self.method, self.pool, self.seed = method, pool, seed
        self.seen = pool.with_norms(proxies.norms(method.proxy, pool.features, "the log"))
        self.size = method.size(pool)

    @abstractmethod
    def step(self, updates: int) -> StepFigures:
        """The figures of one step with `updates` updates."""

    @abstractmethod
    def update(self, share: float) -> tuple[float, float]:
        """(expected tokens, error) of one update that takes `share` of a step's draw."""

    @abstractmethod
    def tokens_at(self, error: float) -> float | None:
        """Expected tokens of one update whose size is chosen so that it errs by `error`; None where no size does."""

    @property
    def randomized(self) -> bool:
        """Whether the strategy perturbs what it sees."""
        return self.method.strategy.perturb(self.seen, np.random.default_rng(self.seed)) is not self.seen

    def worlds(self) -> Iterator[Pool]:
        """What the strategy may see: the pool, or the perturbed ones of a randomized strategy. The same every time."""
        rng = np.random.default_rng(self.seed)
        first = self.method.strategy.perturb(self.seen, rng)
        yield first
        if first is not self.seen:
            for _ in range(PERTURBATIONS - 1):
                yield self.method.strategy.perturb(self.seen, rng)

    def parted(self, rates: Floats) -> tuple[Pool, Pool]:
        """The pool twice: with the norms of what is drawn at `rates` > 0 only, and with the norms of the rest only."""
        on = rates > 0
        norms = self.pool.norms
        return self.pool.with_norms(np.where(on, norms, 0.0)), self.pool.with_norms(np.where(on, 0.0, norms))


At = Callable[[int], tuple[float, float]]  # size of a draw -> (expected tokens, error) of an update made of it


def between(at: At, size: float) -> tuple[float, float]:
    """`at` for a real size >= 1: of the two whole ones around it, the larger is drawn with the missing probability."""
    low, part = int(size), size - int(size)
    tokens, error = at(low)
    if part == 0:
        return tokens, error
    more_tokens, less_error = at(low + 1)
    return tokens + part * (more_tokens - tokens), error + part * (less_error - error)


def tokens_for(at: At, error: float, largest: int) -> float | None:
    """Expected tokens at the real size >= 1 at which `at` errs by `error` (which must sink with the size).

    None where even the `largest` size errs more.
    """
    enough = 1  # the first whole size that errs little enough, by doubling and halving
    while at(enough)[1] > error * (1 + 1e-12):
        if enough == largest:
            return None
        enough = min(2 * enough, largest)
    short = enough // 2
    while enough - short > 1:
        middle = (short + enough) // 2
        short, enough = (short, middle) if at(middle)[1] <= error else (middle, enough)
    (tokens, low_error) = at(enough)
    if short == 0 or low_error >= error:
        return tokens
    fewer_tokens, high_error = at(short)
    return fewer_tokens + (tokens - fewer_tokens) * (high_error - error) / (high_error - low_error)


def bias(pool: Pool, reached: Floats) -> float:
    """|E estimate - gbar|^2 where component i can be drawn in a share `reached[i]` of the worlds."""
    return theory.mean_square(pool.with_norms((1.0 - reached) * pool.norms))


def ess_share(rates: Floats) -> float:
    """(E sum w)^2 / (E m  E sum w^2) of a draw with weights w ~ 1/rate, where component i is drawn `rates[i]` times.

    = (number of rates > 0)^2 / (sum rates sum 1/rates): a common factor of the rates cancels. NaN where all are 0.
    """
    on = rates[rates > 0]
    return float(len(on) ** 2 / (on.sum() * (1 / on).sum())) if len(on) else np.nan
