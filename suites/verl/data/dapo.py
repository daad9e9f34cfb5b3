"""DAPO-Math-17k (arXiv 2503.14476): competition problems with integer answers, English and Chinese.

The hub's copy holds 1.79 million rows, each problem about a hundred times; open-r1's processed copy has 17,398. A few
problems come with two different answers; those are left out.
"""

from suites.verl.data.recipe import PREPARED, Columns, Recipe

RECIPE = Recipe(
    name="DAPO-Math-17k",
    doc="training: competition problems with integer answers (DAPO, arXiv 2503.14476)",
    hub="BytedTsinghua-SIA/DAPO-Math-17k",
    split="train",
    role="train",
    problems=(17_300, 17_450),  # by others' counts 17,391 to 17,405, as one cleans
    copies=(PREPARED, Columns("prompt", "solution")),  # the second is open-r1/DAPO-Math-17k-Processed
    stems=("dapo-math-17k-processed",),
    rows=1_791_700,
)
