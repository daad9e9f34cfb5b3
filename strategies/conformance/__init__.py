"""The conformance kit behind `costaware check`: a strategy declares properties, the kit measures them.

    >>> from strategies import conformance
    >>> [check.name for check in conformance.run("pstar") if not check.ok]
    []

Everything is seeded, so a verdict never changes. Two checks go by samples: an estimate's mean where it can't be
enumerated, and the equal behaviour of a randomized rule under a permutation. Each fails a strategy that is right with a
probability of about 1e-6, over all components together.
"""

from strategies.conformance import basics, claims  # noqa: F401  (registers the checks, in the order they are run)
from strategies.conformance.kit import Check, checks, run

__all__ = ["Check", "checks", "run"]
