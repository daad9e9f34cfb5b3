"""What each method would have cost on a log: the quantities of `costaware predict`, over all its steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from strategies import proxies, theory
from strategies.builtin.uniform import Uniform
from strategies.errors import WrongUse
from strategies.method import Method
from strategies.types import Floats, IIDStrategy, Pool, WithoutReplacement
from suites.replay.design import Design, StepFigures
from suites.replay.iid import IID
from suites.replay.included import Sized, Whole
from suites.replay.log import Log
from suites.replay.simulated import Simulated
from suites.replay.terms import Terms


@dataclass(frozen=True)
class Row:
    """One method over all steps of a log. None where a quantity has no meaning for the method, or no step gives one.

    Totals over steps are ratios of sums, means over steps are weighted by the steps' tokens.

    Args:
        tokens_share: tokens of the step's updates, duplicates folded within each, as a share of one pass over the pool.
        tokens_share_drawn: the same with multiplicity, the paper's count.
        relative_variance: Var(one step's estimate) / |gbar|^2, gradients taken as orthogonal; mean over steps.
        saving: 1 - tokens / tokens(baseline) of one update each, at equal error; see `compare`.
        j_ratio: sum over steps of J(p) / sum over steps of J(p*).
        iid_gain: 1 - J / J(uniform): against i.i.d. uniform draws, which nobody trains with. Not a saving.
        chi2: chi-square distance of the cost-biased p from p*, mean over steps weighted by J(p*): j_ratio - 1.
        lost_mass: share of the sum of G in components that can't be drawn.
        ess_share: (sum w)^2 / (m sum w^2) of a draw's weights; mean over steps.
        relative_bias: |E estimate - gbar|^2 / |gbar|^2; mean over steps.
        draws: components drawn, with multiplicity.
    """

    method: str
    tokens_share: float
    tokens_share_drawn: float
    relative_variance: float | None
    saving: float | None
    j_ratio: float | None
    iid_gain: float | None
    chi2: float | None
    lost_mass: float
    ess_share: float | None
    relative_bias: float | None
    draws: float

    @property
    def quantities(self) -> dict[str, float | None]:
        """All but the method's name."""
        return {name: value for name, value in asdict(self).items() if name != "method"}


def compare(log: Log, methods: Sequence[Method], terms: Terms, done: Callable[[], None] = lambda: None) -> list[Row]:
    """One row a method, in the order of `methods`; `done` is called after each.

    The saving asks: one update of the baseline processes t tokens and errs by V around the full gradient; how many
    tokens does an update of the method take that errs by V as well? For `none` with mini-batches of B,

        V = (1/B - 1/N) N/(N-1) (sum G^2/N - |gbar|^2) = sum G^2/N^2 (N/B - 1),    t = B/N sum c.

    The method's update is a draw of its own, of the size at which its error (closed form in `iid` and `included`) is V:

        i.i.d.         m = (S - |gbar|^2) / V,               t = sum_i c_i (1 - (1 - p_i)^m)
        pps            sum G^2/N^2 (1/pi_i(m) - 1) = V,      t = sum_i pi_i(m) c_i
        none, nonzero  share = sum_{pi>0} G^2/N^2 / (V + sum_{pi>0} G^2/N^2),  t = share sum_i pi_i c_i

    For a biased method, the error is variance plus squared bias: what it leaves out is no gain in precision. In a step
    without any gradient no error sets a size: there, both take an update of their own size.

    Raises:
        WrongUse: a method or proxy needs a feature that the log lacks, or `terms` do not fit the log.
    """
    judge = terms.judge(log)
    worlds = []
    for step in log.steps:
        pool = step.pool.with_norms(proxies.norms(judge, step.pool.features, "the log"))
        share = terms.share(pool, step.label)
        worlds.append(_World(pool, share, *design(terms.baseline, pool, terms.seed).update(share)))
    rows = []
    for method in methods:
        rows.append(_row(method, worlds, terms))
        done()
    return rows


def lacking(method: Method, features: Collection[str]) -> None:
    """Raise WrongUse where the method's strategy or proxy reads a feature that is not among these."""
    for need in (*method.strategy.needs, *proxies.get(method.proxy).needs):
        if need not in features:
            has = ", ".join(sorted(features))
            raise WrongUse(f"{method} needs the feature {need}, which the log lacks (it has: {has})")


def design(method: Method, pool: Pool, seed: int) -> Design:
    """The closed form that fits the method's strategy; a simulation where it draws in a way of its own."""
    lacking(method, pool.features)
    strategy = method.strategy
    draw = type(strategy).draw
    if isinstance(strategy, IIDStrategy) and draw is IIDStrategy.draw:
        return IID(method, pool, seed)
    if isinstance(strategy, WithoutReplacement) and draw is WithoutReplacement.draw:
        return (Sized if strategy.sampled_form is None else Whole)(method, pool, seed)
    return Simulated(method, pool, seed)


@dataclass(frozen=True, eq=False)
class _World:
    """One step as every method meets it: the judging pool, B/N, and tokens and error of the baseline's update."""

    pool: Pool
    share: float
    tokens: float
    error: float

    @property
    def weight(self) -> float:
        return float(self.pool.costs.sum())

    @property
    def square(self) -> float:
        return theory.mean_square(self.pool)

    def tokens_of(self, method: Design) -> float | None:
        """Tokens of an update of the method that errs as the baseline's does."""
        return method.tokens_at(self.error) if self.square > 0 else method.update(self.share)[0]


def _row(method: Method, worlds: Sequence[_World], terms: Terms) -> Row:
    designs = [design(method, world.pool, terms.seed) for world in worlds]
    steps = [one.step(terms.updates) for one in designs]
    weights = [world.weight for world in worlds]
    squares = np.array([world.square for world in worlds])
    best = [theory.J_star(world.pool) for world in worlds]
    uniform = [theory.suboptimality(Uniform().probabilities(world.pool), world.pool).chi2 for world in worlds]
    J, J_uniform = _cost([step.chi2 for step in steps], best), _cost(uniform, best)
    j_ratio = J / sum(best) if J is not None and any(best) else None
    equal = _sum([world.tokens_of(one) for world, one in zip(worlds, designs, strict=True)])
    with np.errstate(divide="ignore", invalid="ignore"):  # 0/0 in a step without gradient, which has no say
        variance = _mean(np.array([step.variance for step in steps]) / squares, weights)
        bias = _mean(np.array([step.squared_bias for step in steps]) / squares, weights)
    return Row(
        method=str(method),
        tokens_share=sum(step.tokens for step in steps) / sum(weights),
        tokens_share_drawn=sum(step.tokens_drawn for step in steps) / sum(weights),
        relative_variance=variance,
        saving=_less(equal, sum(world.tokens for world in worlds)),
        j_ratio=j_ratio,
        iid_gain=None if J_uniform is None else _less(J, J_uniform),
        chi2=None if j_ratio is None else j_ratio - 1,
        lost_mass=_lost(steps, worlds),
        ess_share=_mean(np.array([step.ess_share for step in steps]), weights),
        relative_bias=bias,
        draws=sum(step.draws for step in steps),
    )


def _sum(values: Sequence[float | None]) -> float | None:
    """None where one of them has no meaning."""
    return None if None in values else sum(value for value in values if value is not None)


def _cost(chi2: Sequence[float | None], best: Sequence[float]) -> float | None:
    """sum over steps of J(p) = J(p*) (1 + chi2)."""
    return _sum([None if distance is None else J * (1 + distance) for distance, J in zip(chi2, best, strict=True)])


def _less(value: float | None, base: float) -> float | None:
    return None if value is None or base <= 0 else 1 - value / base


def _mean(values: Floats, weights: Sequence[float]) -> float | None:
    """Weighted mean over the steps that have a finite value; None where none has."""
    there = np.isfinite(values)
    return float(np.average(values[there], weights=np.array(weights)[there])) if there.any() else None


def _lost(steps: Sequence[StepFigures], worlds: Sequence[_World]) -> float:
    return sum(step.lost for step in steps) / (sum(float(world.pool.norms.sum()) for world in worlds) or 1.0)
