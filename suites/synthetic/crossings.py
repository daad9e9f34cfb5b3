"""When each trial first reached each level of a metric: `trials.parquet`, kept up to date while the run goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from strategies.types import Floats

PER_DECADE = 20
LEVELS = 10.0 ** (np.arange(1 * PER_DECADE, -8 * PER_DECADE - 1, -1) / PER_DECADE)  # the same for every method


class Crossings:
    """Costs and iterations at which the running best of each trial reaches each level, linearly interpolated.

    `cost` and `iterations` are (levels, trials), NaN where a level has not been reached.
    """

    def __init__(self, trials: int, levels: Floats = LEVELS) -> None:
        self.levels = levels
        self.cost, self.iterations = np.full((2, len(levels), trials), np.nan)
        self._best, self._at = np.full(trials, np.inf), (np.zeros(trials), 0.0)

    def update(self, values: Floats, cost: Floats, iterations: int) -> None:
        """Take in the (trials,) values at cumulative (trials,) costs after so many iterations."""
        best = np.minimum(self._best, values)
        level, trial = np.nonzero((self.levels[:, None] >= best) & (self.levels[:, None] < self._best))
        before, cost_before, steps_before = self._best[trial], self._at[0][trial], self._at[1]
        share = np.ones(len(trial))  # of the way since the last measurement; the first one starts from nowhere
        started = np.isfinite(before)
        share[started] = (before - self.levels[level])[started] / (before - best[trial])[started]
        self.cost[level, trial] = cost_before + share * (cost[trial] - cost_before)
        self.iterations[level, trial] = steps_before + share * (iterations - steps_before)
        self._best, self._at = best, (cost.copy(), float(iterations))


def write(path: Path, crossings: dict[str, Crossings]) -> None:
    """One row a (metric, level, trial): cost in backward tokens, iterations; NaN where the level was never reached."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = []
    for metric, each in crossings.items():
        levels, trials = each.cost.shape
        columns = {
            "metric": pa.array([metric] * (levels * trials), pa.string()),
            "level": np.repeat(each.levels, trials),
            "trial": np.tile(np.arange(trials, dtype=np.int32), levels),
            "cost": each.cost.ravel(),
            "iterations": each.iterations.ravel(),
        }
        tables.append(pa.table(columns))
    part = path.with_suffix(".part")
    pq.write_table(pa.concat_tables(tables), part, compression="zstd")
    part.replace(path)
