"""What becomes of a log: columns, pools, groups, costs, features."""

import math
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from replay_records import rollout

from strategies import WrongUse
from suites.replay import columns
from suites.replay.costs import CHARACTERS_PER_TOKEN
from suites.replay.log import read


def shape(log):
    return [(step.label, len(step.pool), step.groups) for step in log.steps]


# ---------------------------------------------------------------- pools and groups


@pytest.mark.shared_data
def test_verls_dump_has_eight_groups_of_four_in_each_of_four_steps(shared_data):
    log = read([shared_data / "verl_dump"])
    assert shape(log) == [(f"step {step}", 32, 8) for step in (1, 2, 3, 4)]
    for step in log.steps:
        assert np.bincount(step.pool.groups).tolist() == [4] * 8


@pytest.mark.shared_data
def test_prompts_alone_would_merge_two_groups_of_that_dump(shared_data):
    log = read([shared_data / "verl_dump"], {"group": "input"})
    assert [step.groups for step in log.steps] == [8, 7, 8, 7]


def test_equal_partial_credit_scores_have_advantage_exactly_zero(write):
    score = 0.20000000298023224  # what verl writes for 0.2
    path = write(
        "1.jsonl",
        [rollout(score, uid=f"a_{k}_0") for k in range(5)] + [rollout(1.0, uid="b_0_0"), rollout(0.0, uid="b_1_0")],
    )
    (step,) = read([path]).steps
    assert step.pool.norms[:5].tolist() == [0.0] * 5
    assert (step.pool.norms[5:] > 0).all()
    assert step.zero_variance == 5


def test_the_group_is_the_uid_up_to_its_first_underscore_unless_a_column_is_given(write):
    path = write("1.jsonl", [rollout(k % 2, uid=f"a_{k // 2}") for k in range(4)])
    assert read([path]).steps[0].groups == 1
    assert read([path], {"group": "uid"}).steps[0].groups == 2


def test_without_uid_a_group_column_counts_and_else_the_prompt(write):
    records = [rollout(k % 2, prompt="same", group=k // 2) for k in range(4)]
    assert read([write("a.jsonl", records)]).steps[0].groups == 2
    for record in records:
        del record["group"]
    assert read([write("b.jsonl", records)]).steps[0].groups == 1


def test_groups_live_within_a_step_and_steps_may_interleave(write):
    path = write("log.jsonl", [rollout(k % 4 > 1, step=1 + k % 2) for k in range(8)])
    log = read([path])
    assert shape(log) == [("step 1", 4, 1), ("step 2", 4, 1)]
    assert log.steps[0].pool.features["reward"].tolist() == [0, 1, 0, 1]


def test_steps_come_in_numeric_order_and_shards_of_a_step_belong_together(write):
    for shard in "ab":
        path = write(f"run/{shard}.jsonl", [rollout(k % 2, step=step) for step in (10, 9) for k in range(2)])
    assert shape(read([path.parent])) == [("step 9", 4, 1), ("step 10", 4, 1)]


def test_two_runs_folders_are_two_runs(write):
    paths = [write(f"{run}/1.jsonl", [rollout(k % 2, step=1) for k in range(2)]).parent for run in ("one", "two")]
    assert shape(read(paths)) == [("step 1", 2, 1), ("step 1", 2, 1)]


def test_a_file_without_steps_is_one_pool(write):
    paths = [write(name, [rollout(k % 2) for k in range(2)]) for name in ("a.jsonl", "b.jsonl")]
    assert shape(read(paths)) == [("a.jsonl", 2, 1), ("b.jsonl", 2, 1)]


def test_single_sample_groups_have_advantage_zero_and_are_counted(write):
    log = read([write("log.jsonl", [rollout(1.0, "p"), rollout(0.0, "p"), rollout(1.0, "alone")])])
    assert log.steps[0].singletons == 1
    assert log.steps[0].pool.norms[2] == 0


# ---------------------------------------------------------------- columns


def test_columns_are_named_where_their_names_are_not_common(write):
    path = write("log.jsonl", [{"q": "2+2=", "a": "4", "ok": k == 0, "id": "x"} for k in range(2)])
    log = read([path], columns.parse("prompt=q, response=a, reward=ok, group=id"))
    assert log.steps[0].pool.features["reward"].tolist() == [1, 0]


def test_three_formats_give_the_same_pool(write, tmp_path):
    records = [rollout(float(k % 3 == 0), f"p{k // 4}", "x" * k, step=1) for k in range(8)]
    frame = pd.DataFrame(records)
    paths = [write("lines/log.jsonl", records), tmp_path / "log.json", tmp_path / "log.parquet"]
    frame.to_json(paths[1], orient="records")
    frame.to_parquet(paths[2])
    first, *others = (read([path]).steps[0].pool for path in paths)
    for pool in others:
        assert pool.costs.tolist() == first.costs.tolist()
        assert pool.norms.tolist() == first.norms.tolist()


def test_a_chat_counts_by_its_contents(write):
    chat = [{"role": "user", "content": "12"}, {"role": "user", "content": [{"type": "text", "text": "345"}]}]
    log = read([write("log.jsonl", [rollout(k, chat, "") for k in range(2)])])
    assert log.steps[0].pool.costs.tolist() == [len("12\n345") / CHARACTERS_PER_TOKEN] * 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("promt=q", "unknown key of --columns 'promt': did you mean 'prompt'"),
        ("prompt", "'prompt' is not key=NAME"),
        ("prompt=", "is not key=NAME"),
        ("prompt=a,prompt=b", "prompt is given twice"),
    ],
)
def test_columns_that_can_not_be_read_are_refused(text, why):
    with pytest.raises(WrongUse, match=why):
        columns.parse(text)


# ---------------------------------------------------------------- costs


def test_characters_stand_in_for_tokens_and_the_log_says_so(write):
    log = read([write("log.jsonl", [rollout(0, "ab", ""), rollout(1, "ab", "ccc")])])
    assert log.by_characters
    np.testing.assert_allclose(log.steps[0].pool.costs, np.array([2, 5]) / CHARACTERS_PER_TOKEN)
    np.testing.assert_allclose(log.steps[0].pool.features["length"], np.array([0, 3]) / CHARACTERS_PER_TOKEN)


def test_token_counts_of_the_log_go_before_characters_and_texts_are_not_needed(write):
    records = [{"score": k, "group": 0, "prompt_tokens": 5, "response_tokens": 10 * k} for k in range(2)]
    log = read([write("log.jsonl", records)])
    assert not log.by_characters
    assert log.steps[0].pool.costs.tolist() == [5, 15]  # a response of no tokens costs its prompt


@pytest.fixture
def tokenizer(tmp_path):
    """A folder with a tokenizer that splits at blanks."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    made = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def test_a_tokenizer_counts_tokens_from_a_folder_or_file_and_goes_before_the_logs_counts(write, tokenizer):
    records = [rollout(k % 2, "a b c", "d " * k, prompt_tokens=99, response_tokens=99) for k in range(600)]
    path = write("logs/log.jsonl", records)
    for name in (tokenizer, tokenizer / "tokenizer.json"):
        log = read([path], tokenizer=str(name))
        assert log.steps[0].pool.costs.tolist() == [3 + k for k in range(600)]
        assert log.units == (f"tokens of {name}",)


def test_a_tokenizer_that_is_none_is_refused(write, tmp_path):
    path = write("log.jsonl", [rollout(k) for k in range(2)])
    with pytest.raises(WrongUse, match=r"no tokenizer\.json in this folder"):
        read([path], tokenizer=str(tmp_path))
    with pytest.raises(WrongUse, match=r"not a tokenizer\.json"):
        read([path], tokenizer=str(path))


def test_a_tokenizer_that_can_not_be_fetched_is_one_clear_line(write):
    path = write("log.jsonl", [rollout(k) for k in range(2)])
    ask = [sys.executable, "-m", "bench.cli", "predict", path, "--tokenizer", "nobody/nothing"]
    done = subprocess.run(ask, capture_output=True, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    assert done.returncode == 2
    assert done.stderr.startswith("costaware: error: --tokenizer nobody/nothing: not here, and can't be fetched from")
    assert done.stderr.count("\n") == 1


# ---------------------------------------------------------------- features


def test_a_feature_column_is_found_by_its_name_or_given(write):
    path = write("log.jsonl", [rollout(k, grad_norm=1.0 + k, h=2.0 * k) for k in range(2)])
    pool = read([path], {"mean_entropy": "h"}).steps[0].pool
    assert pool.features["grad_norm"].tolist() == [1, 2]
    assert pool.features["mean_entropy"].tolist() == [0, 2]


def test_log_probabilities_give_surprise_and_score_norm(write):
    path = write("log.jsonl", [rollout(0, logprobs=[math.log(0.5), math.log(0.25), 0.0]), rollout(1, logprobs=[])])
    features = read([path]).steps[0].pool.features
    np.testing.assert_allclose(features["surprise"], [(0.5 + 0.75) / 3, 0])
    np.testing.assert_allclose(features["score_norm"], [math.hypot(0.5, 0.75) / 3, 0])


# ---------------------------------------------------------------- unusual, and legal


def test_lines_of_a_million_characters_are_processed(write):
    path = write("log.jsonl", [rollout(k, output="x" * 10**6) for k in range(2)])
    assert read([path]).steps[0].pool.costs[0] == (10**6 + 4) / CHARACTERS_PER_TOKEN
