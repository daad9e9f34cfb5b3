"""The file that `costaware new-strategy` writes."""

from __future__ import annotations

from string import Template

from strategies import registry
from strategies.errors import WrongUse

_TEMPLATE = Template('''\
"""$title: say in a line what it does and why that should save tokens."""

from dataclasses import dataclass

import numpy as np

from strategies import IIDStrategy, Pool, WrongUse, proportional, register


@register("$name")
@dataclass(frozen=True)
class ${title}Strategy(IIDStrategy):
    """p_i ~ G_i / c_i^power: `costaware list` shows this line."""

    power: float = 0.5  # every parameter needs a default; on the command line: $name:power=1

    # What you declare is measured by `costaware check --plugin THIS_FILE`. The defaults are written out here.
    unbiased = True  # p_i > 0 wherever G_i > 0
    scale_invariant = True  # the unit of norms and of costs does not matter
    reads_norms = True  # False for a rule that goes by costs alone, or by features
    needs = ()  # features that you read: ("reward",) for pool.features["reward"]

    def __post_init__(self) -> None:
        if not 0 <= self.power <= 10:  # also refuses NaN
            raise WrongUse(f"power={self.power:g}: must lie in [0, 10]")

    def probabilities(self, pool: Pool) -> np.ndarray:
        cheap = (pool.costs.min() / pool.costs) ** self.power  # (N,) in (0, 1], costs in tokens
        return proportional(pool.norms * cheap)  # norms: (N,) >= 0; `proportional` makes the sum 1
''')


def source(name: str) -> str:
    """The text of a plugin file that registers a strategy as `name` and passes every check.

    Raises:
        WrongUse: a name that can't be registered, or that is taken (its origin is named).
    """
    registry.register(name)  # refuses an ill-formed name; without a class it registers nothing
    for entry in registry.entries():
        if entry.name == name:
            raise WrongUse(f"strategy {name!r} is already registered by {entry.origin}: choose another name")
    title = "".join(part.capitalize() for part in name.split("-"))
    return _TEMPLATE.substitute(name=name, title=title)
