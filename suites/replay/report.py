"""The answer of `costaware predict`: what was read, one row a method, and what a reader must know to read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from strategies import registry
from strategies.method import Method, parse
from suites.replay.comparison import Row
from suites.replay.log import Log, Step
from suites.replay.terms import Terms

BUILT_IN = "strategies.builtin."
VARIANTS = ("smoothed:alpha=0.05", "smoothed:alpha=0.1", "pps:draws=0.5")  # beside every strategy at its defaults


def default_methods(log: Log, plugins: Sequence[registry.Plugin] = ()) -> list[Method]:
    """Every built-in and every strategy of `plugins` at its defaults, with `VARIANTS`; by name.

    Those whose features the log lacks are left out: nobody asked for them.
    """
    origins = {plugin.path for plugin in plugins}
    names = [e.name for e in registry.entries() if e.origin.startswith(BUILT_IN) or e.origin in origins]
    methods = map(parse, sorted([*names, *VARIANTS]))
    return [method for method in methods if set(method.strategy.needs) <= log.features]


@dataclass(frozen=True)
class Report:
    """A comparison with its circumstances."""

    log: Log
    terms: Terms
    rows: Sequence[Row]

    def total(self, count: str) -> int:
        """Sum over the steps of one of their counts: groups, singletons, zero_variance."""
        return sum(int(getattr(step, count)) for step in self.log.steps)

    @property
    def rollouts(self) -> int:
        """Rollouts of all steps."""
        return sum(len(step.pool) for step in self.log.steps)

    @property
    def nonzero(self) -> int:
        """Rollouts with an advantage other than 0."""
        return sum(_nonzero(step) for step in self.log.steps)

    @property
    def tokens(self) -> float:
        """Tokens of one pass over all rollouts."""
        return sum(float(step.pool.costs.sum()) for step in self.log.steps)

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "rollouts": self.rollouts,
            "groups": self.total("groups"),
            "steps": len(self.log.steps),
            "nonzero": self.nonzero,
            "zero_variance_share": self.total("zero_variance") / self.rollouts,
            "tokens": self.tokens,
            "pools": [_counts(step) for step in self.log.steps],
            "cost_units": list(self.log.units),
            "single_sample_groups": self.total("singletons"),
            "skipped": self.log.skipped,
            "baseline": str(self.terms.baseline),
            "updates": self.terms.updates,
            "minibatch": self.terms.minibatch or None,
            "norms": self.terms.judge(self.log),
            "notes": self.notes(),
            "methods": [{"method": row.method, **row.quantities} for row in self.rows],
        }

    def notes(self) -> list[str]:
        """What a reader must know, a sentence or two each."""
        singles = self.total("singletons")
        notes = [
            f"tokens: of {self.terms.updates} updates a step, each rollout once an update; as drawn: with "
            "multiplicity. Both as a share of one pass over all rollouts.",
            f"saving: tokens of one update against {self.terms.baseline} at equal error. It is a ceiling: it knows "
            "only the noise of choosing rollouts, not that of the prompts, and takes each update as a draw of its own.",
        ]
        if self.log.by_characters:
            notes.append(
                f"Costs are {' and '.join(self.log.units)}: no --tokenizer, and no token counts in the log. Shares and "
                "ratios do not depend on the factor, but text that takes more tokens a character counts too little."
            )
        if singles:
            notes.append(f"{singles} groups have one rollout: its advantage is 0, there is nothing to compare it with.")
        if self.log.skipped:
            notes.append(f"{self.log.skipped} bad records were dropped (--skip-bad).")
        if any(row.lost_mass > 0 for row in self.rows):
            notes.append("A method with lost mass is biased: equal error counts that, the relative variance does not.")
        return notes


def _nonzero(step: Step) -> int:
    return int(np.count_nonzero(step.pool.features["advantage"]))


def _counts(step: Step) -> dict[str, Any]:
    tokens = float(step.pool.costs.sum())
    return {
        "step": step.label,
        "rollouts": len(step.pool),
        "groups": step.groups,
        "nonzero": _nonzero(step),
        "tokens": tokens,
    }
