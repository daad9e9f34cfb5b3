"""GSM8K (arXiv 2110.14168): grade-school word problems; a solution ends in `#### answer`."""

from typing import Any

from suites.replay.files import BadRecord, shown
from suites.verl.data.recipe import Columns, Recipe, plain


def after_hashes(solution: Any) -> str:
    """What stands behind the last ####, without thousands separators."""
    _, hashes, answer = str(solution).rpartition("####")
    if not hashes:
        raise BadRecord(f"has no #### before its answer ({shown(solution)})")
    return plain(answer.replace(",", ""))


RECIPE = Recipe(
    name="GSM8K",
    doc="evaluation: the test set of GSM8K",
    hub="openai/gsm8k",
    config="main",
    problems=(1319, 1319),
    copies=(Columns("question", "answer"),),
    gold=after_hashes,
    stems=("gsm8k_test",),
)
