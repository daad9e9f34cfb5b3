"""The closed forms of i.i.d. draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from strategies import theory
from strategies.errors import WrongUse
from strategies.types import Floats, IIDStrategy
from suites.replay.design import Design, StepFigures, bias, ess_share
from suites.updates import part_sizes


class IID(Design):
    """m draws from p. With S = sum G^2/p / N^2 over the components that p reaches,

    error(m) = (S - sum_{p>0} G^2/N^2) / m + sum_{p=0} G^2/N^2, and an update of m draws processes
    sum_i c_i (1 - (1 - p_i)^m) tokens. Means over the worlds where p is random.
    """

    def _probabilities(self) -> Iterator[Floats]:
        strategy = self.method.strategy
        assert isinstance(strategy, IIDStrategy)
        for seen in self.worlds():
            p = np.asarray(strategy.probabilities(seen), dtype=np.float64)
            if p.shape != (len(self.pool),) or not (p >= 0).all() or abs(p.sum() - 1) > 1e-6:
                raise WrongUse(f"{self.method}: not probabilities; `costaware check` says what is wrong")
            yield p

    @cached_property
    def _errors(self) -> tuple[float, float]:
        """The error's part that sinks with the number of draws (at one draw), and the part that stays."""
        parts = []
        for p in self._probabilities():
            on, off = self.parted(p)
            parts.append((theory.variance_iid(p, on, 1), theory.mean_square(off)))
        sinking, staying = np.mean(parts, axis=0)
        return max(float(sinking), 0.0), float(staying)

    def _tokens(self, size: float) -> float:
        return float(np.mean([folded(p, self.pool.costs, {size: 1}) for p in self._probabilities()]))

    def update(self, share: float) -> tuple[float, float]:
        sinking, staying = self._errors
        size = self.size * share
        return self._tokens(size), sinking / size + staying

    def tokens_at(self, error: float) -> float | None:
        sinking, staying = self._errors
        negligible = 1e-12 * theory.mean_square(self.pool)
        if sinking <= negligible and staying <= error + negligible:
            return self._tokens(1.0)
        if error - staying <= negligible:
            return None
        return self._tokens(max(sinking / (error - staying), 1.0))

    def step(self, updates: int) -> StepFigures:
        sizes = Counter(map(float, part_sizes(self.size, updates)))
        rows, reached = [], np.zeros(len(self.pool))
        for p in self._probabilities():
            tokens, lost = folded(p, self.pool.costs, sizes), self.pool.norms[p == 0].sum()
            chi2 = theory.suboptimality(p, self.pool).chi2 or 0.0  # None where something is lost
            rows.append((tokens, theory.C(p, self.pool), lost, ess_share(p), chi2))
            reached += p > 0
        tokens, cost, lost, ess, chi2 = map(float, np.mean(rows, axis=0))
        sinking, staying = self._errors
        squared_bias = bias(self.pool, reached / len(rows))
        return StepFigures(
            tokens=tokens,
            tokens_drawn=self.size * cost,
            draws=self.size,
            variance=sinking / self.size + staying - squared_bias,
            squared_bias=squared_bias,
            lost=lost,
            ess_share=ess,
            chi2=None if lost else chi2,
        )


def folded(p: Floats, costs: Floats, sizes: Mapping[float, int]) -> float:
    """Expected tokens of i.i.d. draws from p, each component once an update; `sizes` -> how many updates have it."""
    with np.errstate(divide="ignore"):
        log_missed = np.log1p(-np.minimum(p, 1.0))  # -inf where p = 1
    return float(sum(n * (costs @ -np.expm1(size * log_missed)) for size, n in sizes.items() if size > 0))
