"""`--check N`: the closed forms against N real draws a step, split into updates as an engine splits them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from strategies import proxies
from strategies.errors import WrongUse
from strategies.method import Method
from strategies.types import Floats
from suites.replay.comparison import design
from suites.replay.design import Design
from suites.replay.log import Log, Step
from suites.replay.simulated import Simulated
from suites.replay.terms import Terms

FALSE_ALARM = 0.001  # chance that a check of right closed forms fails, over all its comparisons
FEWEST = 30  # draws below which a mean is not near enough to normal
EXACT = 1e-9  # relative difference allowed where draws do not vary


@dataclass(frozen=True)
class Comparison:
    """One quantity of one method on one step: closed form against the mean of real draws."""

    method: str
    step: str
    quantity: str
    closed_form: float
    measured: float
    standard_error: float

    @property
    def z(self) -> float | None:
        """Standard errors between the two; None where draws do not vary: then they must be equal."""
        varies = self.standard_error > EXACT * abs(self.measured)
        return (self.measured - self.closed_form) / self.standard_error if varies else None


@dataclass(frozen=True)
class Verdict:
    """All comparisons, the |z| above which one of so many is no chance (Bonferroni), and what has no closed form."""

    comparisons: Sequence[Comparison]
    threshold: float
    unchecked: Sequence[str]

    @property
    def off(self) -> list[Comparison]:
        """Those that differ by more than chance."""
        return [comparison for comparison in self.comparisons if not self.agrees(comparison)]

    def agrees(self, comparison: Comparison) -> bool:
        """Whether the difference may be chance."""
        if comparison.z is None:
            return math.isclose(comparison.measured, comparison.closed_form, rel_tol=EXACT, abs_tol=EXACT)
        return abs(comparison.z) <= self.threshold

    def to_json(self) -> dict[str, Any]:
        """All of it, with the verdict on each comparison."""
        rows = [{**asdict(one), "z": one.z, "ok": self.agrees(one)} for one in self.comparisons]
        return {"ok": not self.off, "threshold": self.threshold, "unchecked": self.unchecked, "comparisons": rows}


def verify(log: Log, methods: Sequence[Method], terms: Terms, draws: int) -> Verdict:
    """Draw `draws` times a step with every method that has a closed form, and compare.

    A randomized strategy's figures are themselves averages over perturbations, so they are not checked.

    Raises:
        WrongUse: fewer than 30 draws.
    """
    from scipy import stats

    if draws < FEWEST:
        raise WrongUse(f"check={draws}: needs at least {FEWEST} draws for a mean that can be judged")
    comparisons: list[Comparison] = []
    unchecked: dict[str, None] = {}
    for step in log.steps:
        pool = step.pool.with_norms(proxies.norms(terms.judge(log), step.pool.features, "the log"))
        for method in methods:
            closed = design(method, pool, terms.seed)
            if isinstance(closed, Simulated) or closed.randomized:
                unchecked[str(method)] = None
            else:
                comparisons += _compared(step, closed, Simulated(method, pool, terms.seed, draws), terms.updates)
    threshold = float(stats.norm.isf(FALSE_ALARM / 2 / max(len(comparisons), 1)))
    return Verdict(comparisons, threshold, list(unchecked))


def _compared(step: Step, closed: Design, drawn: Simulated, updates: int) -> Iterator[Comparison]:
    figures, sample = closed.step(updates), drawn.sample(closed.size, updates)
    pairs: dict[str, tuple[float, Floats]] = {
        "tokens": (figures.tokens, sample.tokens),
        "tokens drawn": (figures.tokens_drawn, sample.tokens_drawn),
        "squared error": (figures.variance + figures.squared_bias, sample.errors),
    }
    for quantity, (expected, values) in pairs.items():
        error = float(values.std(ddof=1) / np.sqrt(len(values)))
        yield Comparison(str(closed.method), step.label, quantity, expected, float(values.mean()), error)
