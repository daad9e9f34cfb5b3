"""A preset's prompt and its verifier, together: who answers as the prompt asks is judged by what is answered.

The sets are prepared from rows in the hub's columns, read from the files that the preset's configuration names, and
judged by the function that verl loads from that configuration.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verl", reason="verl is not installed: install costaware-bench[verl]")

from pyarrow import parquet
from test_verl_data import PUBLISHED, from_file, write

from suites.verl import SETTINGS, data
from suites.verl.cluster.compose import compose
from suites.verl.cluster.presets import PRESETS
from suites.verl.data.prompts import FORMATS

pytestmark = [pytest.mark.verl, pytest.mark.xdist_group("verifier")]
PAPER = sorted(name for name, preset in PRESETS.items() if preset.world is None)


def reply(prompt: str, answer: str) -> str:
    """What an obedient model says; it reads the prompt, and knows nothing of our files."""
    if r"\boxed{}" in prompt:
        return f"First I get 7, or Answer: 8.\nSo it is $\\boxed{{{answer}}}$."
    if "Answer: $Answer" in prompt:
        return f"First I get \\boxed{{7}}.\nAnswer: ${answer}$"
    assert '"####"' in prompt
    return f"First I get \\boxed{{7}}.\n#### {answer}"


@pytest.mark.parametrize("answer_format", FORMATS)
@pytest.mark.parametrize("preset", PAPER)
def test_obedient_answer_is_judged_by_what_it_says(preset: str, answer_format: str, tmp_path: Path) -> None:
    from verl.trainer.ppo.reward import get_custom_reward_fn

    found = PRESETS[preset]
    for name in (found.training, *found.benchmarks):
        file = write(tmp_path / f"{name}.jsonl", [PUBLISHED[name.lower()](n) for n in (12, 1234)])
        from_file(name, file, tmp_path, answer_format)
    config = compose(found, SETTINGS["grpo"], replace(found.settings, data=str(tmp_path)), {})
    judge = get_custom_reward_fn(config)
    for file in (*config.data.train_files, *config.data.val_files):
        for row in parquet.read_table(file).to_pylist():
            prompt, gold = row["prompt"][-1]["content"], row["reward_model"]["ground_truth"]
            assert score(judge, row, reply(prompt, gold)) == 1, (file, prompt)
            assert score(judge, row, reply(prompt, "13")) == 0, (file, prompt)


def score(judge: Any, row: dict[str, Any], response: str) -> float:
    """As verl's reward manager asks."""
    told = judge(
        data_source=row["data_source"],
        solution_str=response,
        ground_truth=row["reward_model"]["ground_truth"],
        extra_info=row["extra_info"] | {"num_turns": None, "rollout_reward_scores": {}},
    )
    assert told["acc"] == told["score"]
    value: float = told["score"]
    return value


@pytest.mark.parametrize("preset", PAPER)
def test_every_set_of_a_preset_can_be_prepared(preset: str) -> None:
    found = PRESETS[preset]
    assert data.find(found.training).name == found.training
    for name, problems in found.benchmarks.items():
        recipe = data.find(name)
        assert (recipe.name, recipe.problems[1]) == (name, problems)  # `data_source`, and so the metric acc/NAME
