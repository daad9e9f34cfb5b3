"""The sets that verl's trainer learns from and is judged on: `costaware data prepare` makes a parquet file of each.

One module a set; each has a `RECIPE`. Light to import.
"""

from __future__ import annotations

from strategies.errors import unknown
from suites.verl.data import aime, aime24, amc, amc23, dapo, gsm8k, math500
from suites.verl.data.recipe import Recipe

SETS: dict[str, Recipe] = {
    module.RECIPE.key: module.RECIPE for module in (dapo, aime, amc, math500, gsm8k, aime24, amc23)
}


def find(name: str) -> Recipe:
    """The recipe of that name, in whatever case.

    Raises:
        WrongUse: there is none; the nearest is named.
    """
    if name.lower() not in SETS:
        raise unknown("data set", name, SETS)
    return SETS[name.lower()]
