"""Learning curves with the noise of `verl/grpo`, in any number of seeds, through the leaderboard's own code.

    value(seed, k) = offset(seed) + start + gain * shape(rate * exp(run) * tokens_k / budget) + evaluation(k)

    offset ~ N(0, OFFSET^2)   the seed's world (problems of the evaluation): the same for every method
    run ~ N(0, RUN^2)         how fast one run learns
    evaluation ~ N(0, EVALUATION^2)

`measured` finds the three in records; the constants are its values on the race that ships (`costaware sweep race
--seeds 5 --strategy inverse-sqrt-cost`, 9 rows x 5 seeds), pooled over rows. A test holds them to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leaderboard.curves import Curve, Floats, levels_of
from leaderboard.race import Race
from leaderboard.stats import Arm, Ratios, log_ratios

OFFSET, RUN, EVALUATION = 0.015, 0.04, 0.008
START, GAIN, BEND = 0.415, 0.245, 1.2  # of `none`: accuracy from 0.415 to 0.66, learning slows down by e^-1.2
BUDGET, POINTS = 4e5, 21


@dataclass(frozen=True)
class Noise:
    """Standard deviations: of seeds' offsets, of the log rate of a run, of one evaluation."""

    offset: float = OFFSET
    run: float = RUN
    evaluation: float = EVALUATION


def shape(t: Floats) -> Floats:
    """0 at 0, 1 at 1, concave: (1 - e^(-bend t)) / (1 - e^-bend)."""
    return np.expm1(-BEND * t) / np.expm1(-BEND)


def runs(
    rng: np.random.Generator, offset: Floats, rate: float = 1.0, noise: Noise = Noise(), points: int = POINTS
) -> list[Curve]:
    """A run for each of the offsets, evaluated at equally spaced costs."""
    n, tokens = len(offset), np.linspace(0, BUDGET, points)
    speed = rate * np.exp(rng.normal(0, noise.run, (n, 1)))
    clean = START + GAIN * shape(speed * tokens / BUDGET)
    values = offset[:, None] + clean + rng.normal(0, noise.evaluation, (n, points))
    return [Curve(tokens, y, BUDGET) for y in values]


def arm(curves: list[Curve], levels: Floats) -> Arm:
    cost = np.array([curve.reach(levels) for curve in curves])
    return Arm(np.arange(len(curves)), cost, np.array([curve.end for curve in curves]))


def race(rng: np.random.Generator, n: int, rates: tuple[float, ...], noise: Noise = Noise()) -> list[Ratios]:
    """The ratios of a method at each rate to one baseline at rate 1, in n seeds, all in the same worlds."""
    offset = rng.normal(0, noise.offset, n)
    base = runs(rng, offset, noise=noise)
    levels = levels_of(base)
    assert levels is not None
    reached = arm(base, levels)
    return [log_ratios(arm(runs(rng, offset, rate, noise), levels), reached) for rate in rates]


def measured(found: Race) -> Noise:
    """The noise in records.

    offset: sd over seeds of the first evaluation, which precedes any training. evaluation: the second differences of a
    smooth curve's evaluations have 6 times their variance; pooled over rows, seeds and steps after the second. run:
    half of the variance of the log cost ratio d within rows (a pair has two runs), without what evaluation noise alone
    puts into d, which is simulated.
    """
    assert found.baseline is not None
    first = [curve.y[0] for curve in found.curves((found.baseline, 0), "backward").values()]
    curves = [curve for entry in found.series for curve in found.curves(entry, "backward").values()]
    evaluation = np.sqrt(np.mean(np.concatenate([np.diff(curve.y, 2)[2:] ** 2 for curve in curves])) / 6)
    rows = [ratios.per_replicate for entry, ratios in found.ratios().items() if entry != (found.baseline, 0)]
    spread = float(np.mean([d.var(ddof=1) for d in rows]))
    still = Noise(float(np.std(first, ddof=1)), 0.0, float(evaluation))
    rng = np.random.default_rng(0)
    alone = np.mean([race(rng, len(rows[0]), (1.3,), still)[0].per_replicate.var(ddof=1) for _ in range(300)])
    return Noise(still.offset, float(np.sqrt(max(spread - alone, 0.0) / 2)), still.evaluation)
