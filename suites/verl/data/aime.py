"""AIME 1983-2024: the American Invitational Mathematics Examination; answers are 0 to 999."""

from suites.verl.data.recipe import Columns, Recipe

RECIPE = Recipe(
    name="AIME",
    doc="evaluation: AIME 1983-2024",
    hub="di-zhang-fdu/AIME_1983_2024",
    split="train",  # the only one that is there
    problems=(933, 933),
    copies=(Columns("Question", "Answer"), Columns("problem", "answer")),
)
