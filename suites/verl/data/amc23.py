"""AMC 2023: the 40 problems that Qwen2.5-Math is evaluated on."""

from suites.verl.data.recipe import Columns, Recipe

RECIPE = Recipe(
    name="AMC23",
    doc="evaluation: AMC 12 2023 alone (part of AMC)",
    hub="math-ai/amc23",
    problems=(40, 40),
    copies=(Columns("problem", "answer"), Columns("question", "answer")),
)
