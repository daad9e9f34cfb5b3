"""The verifier of the procedural task, as verl's `custom_reward_function`."""

from __future__ import annotations

from typing import Any

from suites.verl.reasoning import verdict


def compute_score(data_source: str, solution_str: str, ground_truth: str, **_: Any) -> dict[str, float]:
    """The score of a response, which is its accuracy too."""
    score = verdict(solution_str, ground_truth)
    return {"score": score, "acc": score}
