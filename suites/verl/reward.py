"""verl's reward function for mathematics: `reward.custom_reward_function.path=pkg://suites.verl.reward`.

1 where the stated answer is the right one, else 0; math-verify decides what plain comparison does not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from suites.verl.answers import LONGEST, stated
from suites.verl.grader import Grader

MODULE, FUNCTION = "pkg://suites.verl.reward", "compute_score"  # as verl's config names them
ASKED = "answer_format"  # in extra_info: the convention that the prompt asks for
_INTEGER = re.compile(r"[-+]?[0-9]{1,30}")


class _GivenUp(Exception):
    """No verdict: raised so that it isn't remembered."""


def compute_score(
    data_source: str, solution_str: str, ground_truth: Any, extra_info: Mapping[str, Any] | None = None, **_: Any
) -> dict[str, float]:
    """{"score", "acc"}, both 1.0 for a right answer and 0.0 for a wrong one, called by verl in any thread.

    Whatever a response holds, it scores 0 within the grader's time rather than raise.

    Args:
        data_source: the name of the set; not used.
        solution_str: the response.
        ground_truth: the right answer, LaTeX or plain.
        extra_info: of the row; `answer_format` is the convention of its prompt.

    Raises:
        NoVerifier: math-verify does not start, so that no answer at all could be judged.
    """
    right = float(correct(solution_str, str(ground_truth), str((extra_info or {}).get(ASKED, "boxed"))))
    return {"score": right, "acc": right}


def correct(response: str, gold: str, asked: str = "boxed") -> bool:
    """Whether a response answers with `gold`; `asked` is the convention of the prompt (`suites.verl.answers`)."""
    answer = stated(response, asked)
    gold = gold.strip()
    if answer.value and answer.value == gold:
        return True
    if len(answer.value) > LONGEST:
        return False
    if _INTEGER.fullmatch(answer.value) and _INTEGER.fullmatch(gold):
        return int(answer.value) == int(gold)
    try:
        return _verdict(gold, answer.text)
    except _GivenUp:
        return False


@lru_cache(maxsize=10_000)  # the rollouts of a group repeat each other's answers
def _verdict(gold: str, text: str) -> bool:
    verdict = _grader().agrees(gold, text)
    if verdict is None:
        raise _GivenUp
    return verdict


@cache
def _grader() -> Grader:
    return Grader()
