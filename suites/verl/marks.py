"""When a run is evaluated: at marks of its backward budget, the same for every method and engine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Marks:
    """Marks at 0, 1/n, ..., n/n of a budget; each is due at the first step past it.

    A step that passes several is evaluated once. budget: backward tokens. evaluations: n.
    """

    budget: float
    evaluations: int

    def due(self, mark: int, spent: float) -> bool:
        """Whether the mark number `mark` has been reached."""
        return spent / self.budget * self.evaluations >= mark

    def after(self, spent: float) -> int:
        """The number of the first mark beyond what is spent."""
        return int(spent / self.budget * self.evaluations) + 1

    def done(self, mark: int) -> bool:
        """Whether the whole budget has been evaluated when `mark` comes next."""
        return mark > self.evaluations
