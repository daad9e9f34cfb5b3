"""AIME 2024. DAPO's copy has each of the 30 problems 32 times: here mean@32 comes from sampling 32 responses."""

from suites.verl.data.recipe import PREPARED, Columns, Recipe

RECIPE = Recipe(
    name="AIME24",
    doc="evaluation: AIME 2024 alone (part of AIME)",
    hub="BytedTsinghua-SIA/AIME-2024",
    split="train",  # the only one that is there
    problems=(30, 30),
    copies=(PREPARED, Columns("problem", "answer"), Columns("Problem", "Answer")),
    stems=("aime_2024",),
    rows=960,
)
