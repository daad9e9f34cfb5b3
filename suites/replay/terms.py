"""On what terms methods are compared."""

from __future__ import annotations

from dataclasses import dataclass

from strategies import proxies
from strategies.errors import WrongUse
from strategies.method import Method
from strategies.types import Pool
from suites.replay.log import Log


@dataclass(frozen=True)
class Terms:
    """The baseline, and how a step is cut into updates.

    Args:
        baseline: its one update sets the error at which savings are taken.
        updates: U, optimizer updates a step.
        minibatch: B, rollouts in one update of `none`; 0 is a quarter of the pool. The update of another baseline takes
            the same share B/N of its own draw.
        norms: proxy of the gradient norms by which all methods are judged; empty is `oracle` where the log has
            gradient norms, else `advantage`.
        seed: of perturbations and simulations.
    """

    baseline: Method
    updates: int = 4
    minibatch: int = 0
    norms: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.updates < 1:
            raise WrongUse(f"updates={self.updates}: must be at least 1")
        if self.minibatch < 0:
            raise WrongUse(f"minibatch={self.minibatch}: must be at least 1 rollout")

    def judge(self, log: Log) -> str:
        """The proxy by which methods are judged on this log."""
        oracle = set(proxies.get("oracle").needs) <= log.features
        return self.norms or ("oracle" if oracle else "advantage")

    def share(self, pool: Pool, label: str) -> float:
        """B/N: the part of a step's draw that one update takes."""
        if self.minibatch >= len(pool):
            raise WrongUse(
                f"minibatch={self.minibatch}: {label} has {len(pool)} rollouts, and an update with all of them has no "
                "variance to compare at"
            )
        return self.minibatch / len(pool) if self.minibatch else 0.25
