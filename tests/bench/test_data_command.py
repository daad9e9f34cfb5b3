"""`costaware data`: several sets at once, what is missing named, exit codes, and its JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from faults import ENVIRONMENT, costaware


def gsm8k(folder: Path, problems: int = 1319) -> Path:
    """A file that could be GSM8K's test set."""
    file = folder / "gsm8k_test.jsonl"
    rows = ({"question": f"What is {n}?", "answer": f"It is {n}.\n#### {n}"} for n in range(problems))
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_prepare_and_list(tmp_path: Path) -> None:
    gsm8k(tmp_path)
    env = ENVIRONMENT | {"COSTAWARE_DATA": str(tmp_path / "prepared")}
    done = costaware("data", "prepare", "--from", tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"GSM8K: 1,319 problems of 1,319 rows -> {tmp_path / 'prepared' / 'gsm8k.parquet'}\n"
    listed = json.loads(costaware("data", "list", "--json", env=env).stdout)
    states = {row["name"]: row["prepared"] and row["prepared"]["problems"] for row in listed["sets"]}
    assert states == {"gsm8k": 1319} | dict.fromkeys(("dapo-math-17k", "aime", "amc", "math500", "aime24", "amc23"))
    text = costaware("data", "list", env=env).stdout
    assert "1,319 problems, boxed" in text
    assert "not prepared" in text


def test_one_bad_set_does_not_stop_the_others(tmp_path: Path) -> None:
    gsm8k(tmp_path)
    (tmp_path / "amc.jsonl").write_text('{"problem": "?"}\n')
    words = ("data", "prepare", "amc", "aime", "gsm8k", "--from", tmp_path, "--out", tmp_path / "out")
    done = costaware(*words, "--json")
    assert done.returncode == 2
    assert done.stderr.count("costaware: error: ") == done.stderr.count("\n") == 2
    told = json.loads(done.stdout)
    assert [made["name"] for made in told["sets"]] == ["GSM8K"]
    assert "amc.jsonl, line 1" in told["failed"][0]
    assert "no copy of AIME there; it would be called aime or aime_1983_2024" in told["failed"][1]


@pytest.mark.verl
def test_no_hub_is_a_failure_with_the_mend(tmp_path: Path) -> None:
    env = ENVIRONMENT | {"HF_HUB_OFFLINE": "1"}
    done = costaware("data", "prepare", "amc", "--out", tmp_path, env=env)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    assert "--from FILE" in done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["prepare", "gsm"], "did you mean 'gsm8k'"),
        (["prepare", "--from", "nowhere"], "nowhere"),
        (["prepare", "gsm8k", "--format", "box"], "--format"),
        (["prepar"], "prepar"),
    ],
)
def test_wrong_use(words: list[str], says: str) -> None:
    done = costaware("data", *words)
    assert done.returncode == 2
    assert says in done.stderr


def test_folder_without_any_set(tmp_path: Path) -> None:
    done = costaware("data", "prepare", "--from", tmp_path)
    assert done.returncode == 2
    assert "no set is there" in done.stderr


def test_part_of_a_set_is_taken_where_that_is_said(tmp_path: Path) -> None:
    file = gsm8k(tmp_path, problems=20)
    words = ("data", "prepare", "gsm8k", "--from", file, "--out", tmp_path)
    refused = costaware(*words)
    assert refused.returncode == 2
    assert "20 distinct problems, where GSM8K has 1,319" in refused.stderr
    assert costaware(*words, "--any-count").returncode == 0


@pytest.mark.shared_data
def test_real_local_files(tmp_path: Path, shared_data: Path) -> None:
    done = costaware("data", "prepare", "--from", shared_data, "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    counts = {made["name"]: made["problems"] for made in json.loads(done.stdout)["sets"]}
    assert counts == {"GSM8K": 1319, "AIME24": 30, "AMC23": 40}
