"""The row of a board: its fields are the keys of leaderboard.json, in this order."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Level:
    """What one level takes: share q of the baseline's gain, the metric's value there, and the saving in reaching it."""

    q: float
    value: float
    saving: float | None
    low: float | None
    high: float | None
    compared: int  # replicates
    missed: int  # of them, by the method; they stand at its budget


@dataclass(frozen=True)
class PeakTarget:
    """The paper's rule at `delta` below the baseline's peak: saving over the hits alone, `hits` of `pairs` seeds."""

    delta: float  # on the metric's scale: 0.01 is a point of accuracy
    saving: float | None
    hits: int
    pairs: int


@dataclass(frozen=True)
class Row:
    """One (task, metric, method) of a board. Savings are shares (0.2 = 20% fewer tokens than the baseline)."""

    task: str
    metric: str | None  # None where no run of the task got far enough to say what it measures
    method: str
    baseline: str | None
    aa: bool  # the baseline run again with other draw seeds
    seeds: int  # finished
    state: str  # ok, partial (some seeds finished), or what became of the runs
    kind: str = "measured"  # or "predicted" (replay)
    headline: bool = True  # the task's first metric
    direction: str | None = None
    scale: str | None = None
    states: dict[str, int] = field(default_factory=dict)  # state -> planned runs in it
    why: str = ""  # the reason of the first run that did not finish
    runs: tuple[str, ...] = ()
    saving: float | None = None
    saving_low: float | None = None
    saving_high: float | None = None
    bound: bool = False  # the saving is an upper limit: the method stops short of some level
    levels: int = 15
    levels_reached: int | None = None
    levels_compared: int | None = None
    missed_share: float | None = None  # of the comparisons: the method misses the level and stands at its budget
    dropped: int | None = None  # (replicate, level) pairs that the baseline itself misses
    replicates: int | None = None
    replicate: str | None = None  # seed or trial
    note: str = ""  # why there is no saving, interval or tier
    saving_drawn: float | None = None  # on the paper's count of tokens, duplicates counted
    saving_by_axis: dict[str, float] = field(default_factory=dict)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    p_adjusted: float | None = None
    grey: bool | None = None
    tier: int | None = None
    peak_saving: float | None = None
    hits: int | None = None
    pairs: int | None = None  # seeds compared by the peak rule: hits of pairs
    peak_gain_pp: float | None = None
    peak_gain_pp_low: float | None = None
    peak_gain_pp_high: float | None = None
    aa_half_width: float | None = None  # of the A/A row's interval, as a log ratio: savings within it are grey
    aa_peak_gain_pp: float | None = None  # what the baseline gains on itself by drawing again
    peak_targets: tuple[PeakTarget, ...] = ()
    own_peak_saving: float | None = None  # each method to 99% of its own peak
    own_peak_saving_low: float | None = None
    own_peak_saving_high: float | None = None
    equal_tokens_gain: float | None = None  # at the most tokens both spent; in progress, see leaderboard.gains
    equal_tokens_gain_low: float | None = None
    equal_tokens_gain_high: float | None = None
    area_gain: float | None = None  # of the areas under the curves, a mean gain in progress
    area_gain_low: float | None = None
    area_gain_high: float | None = None
    probability_of_improvement: float | None = None  # share of the replicates in which the method takes fewer tokens
    probability_of_improvement_low: float | None = None
    probability_of_improvement_high: float | None = None
    predicted: float | None = None
    n_seeds_5pp: int | None = None
    n_seeds_10pp: int | None = None
    by_level: tuple[Level, ...] = ()
    diagnostics: dict[str, float | None] = field(default_factory=dict)  # of a replay row's prediction

    @property
    def is_baseline(self) -> bool:
        return self.method == self.baseline and not self.aa

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; what is not finite is None."""
        tree: dict[str, Any] = finite(asdict(self))
        return tree


def finite(value: Any) -> Any:
    """The same value with None for NaN and inf, tuples as lists.

    >>> finite({"a": (1.0, float("nan"))})
    {'a': [1.0, None]}
    """
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
