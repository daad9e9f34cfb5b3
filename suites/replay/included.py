"""The closed forms of draws without replacement: with orthogonal gradients only the inclusion probabilities count."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from strategies import designs, theory
from strategies.errors import WrongUse
from strategies.types import Floats, WithoutReplacement
from suites.replay.design import Design, StepFigures, between, bias, ess_share, tokens_for


class Included(Design):
    """Each component at most once, i with probability pi_i and weight 1/(N pi_i).

    error = sum_{pi>0} G^2/N^2 (1/pi - 1) + sum_{pi=0} G^2/N^2, tokens = sum_i pi_i c_i: there is nothing to fold.
    """

    def _inclusions(self, size: int) -> Iterator[Floats]:
        strategy = self.method.strategy
        assert isinstance(strategy, WithoutReplacement)
        for seen in self.worlds():
            pi = np.asarray(strategy.inclusion(seen, size), dtype=np.float64)
            if pi.shape != (len(self.pool),) or not ((pi >= 0) & (pi <= 1 + 1e-9)).all():
                raise WrongUse(f"{self.method}: not inclusion probabilities; `costaware check` says what is wrong")
            yield np.minimum(pi, 1.0)

    def _error(self, pi: Floats) -> float:
        on, off = self.parted(pi)
        return designs.variance(pi, on) + theory.mean_square(off)

    def survey(self, size: int) -> tuple[float, float]:
        """(expected tokens, error) of a draw of this size."""
        pairs = [(float(pi @ self.pool.costs), self._error(pi)) for pi in self._inclusions(size)]
        tokens, error = np.mean(pairs, axis=0)
        return float(tokens), float(error)

    def step(self, updates: int) -> StepFigures:
        rows, reached = [], np.zeros(len(self.pool))
        for pi in self._inclusions(self.size):
            lost = float(self.pool.norms[pi == 0].sum())
            rows.append((float(pi @ self.pool.costs), float(pi.sum()), self._error(pi), lost, ess_share(pi)))
            reached += pi > 0
        tokens, draws, error, lost, ess = map(float, np.mean(rows, axis=0))
        squared_bias = bias(self.pool, reached / len(rows))
        return StepFigures(
            tokens=tokens,
            tokens_drawn=tokens,
            draws=draws,
            variance=error - squared_bias,
            squared_bias=squared_bias,
            lost=lost,
            ess_share=ess,
        )


class Sized(Included):
    """A rule that takes a size (`pps`); an update is a draw of its own."""

    def update(self, share: float) -> tuple[float, float]:
        return between(self.survey, max(self.size * share, 1.0))

    def tokens_at(self, error: float) -> float | None:
        return tokens_for(self.survey, error, largest=len(self.pool))


class Whole(Included):
    """A rule that has no size (`none`, `nonzero`); an update is a random share of what it takes, a mini-batch.

    With e and t the error and tokens of all of it, and k = sum_{pi>0} G^2/N^2 - sum_{pi=0} G^2/N^2:
    error(share) = (e + k)/share - k and tokens(share) = share t.
    """

    def _kept(self) -> float:
        parts = [self.parted(pi) for pi in self._inclusions(self.size)]
        return float(np.mean([theory.mean_square(on) - theory.mean_square(off) for on, off in parts]))

    def update(self, share: float) -> tuple[float, float]:
        tokens, error = self.survey(self.size)
        kept = self._kept()
        return share * tokens, (error + kept) / share - kept

    def tokens_at(self, error: float) -> float | None:
        tokens, least = self.survey(self.size)
        if least > error * (1 + 1e-12):
            return None
        kept = self._kept()
        return tokens * (least + kept) / (error + kept)
