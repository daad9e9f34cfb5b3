"""MATH500 (arXiv 2305.20050): 500 problems of the test set of MATH; answers are LaTeX."""

from suites.verl.data.recipe import Columns, Recipe

RECIPE = Recipe(
    name="MATH500",
    doc="evaluation: 500 test problems of MATH",
    hub="HuggingFaceH4/MATH-500",
    problems=(500, 500),
    copies=(Columns("problem", "answer"),),
    stems=("math_500",),
)
