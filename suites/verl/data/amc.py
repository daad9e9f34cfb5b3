"""AMC: the 83 problems of AMC 12, 2022 and 2023, that have a number as their answer."""

from suites.verl.data.recipe import Columns, Recipe

RECIPE = Recipe(
    name="AMC",
    doc="evaluation: AMC 12, 2022 and 2023",
    hub="AI-MO/aimo-validation-amc",
    split="train",  # the only one that is there
    problems=(83, 83),
    copies=(Columns("problem", "answer"),),
)
