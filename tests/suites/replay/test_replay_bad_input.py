"""Bad logs: one clear line with file and place, exit 2, nothing written; --skip-bad drops and counts."""

import json

import pytest
from replay_records import rollout

from bench.cli import main

GOOD = [rollout(1.0, uid="x_0_0"), rollout(0.0, "2+2=", "", uid="x_1_0")]

BAD_LINES = {
    "truncated": ('{"input": "2+2=", "out', "cut off or not JSON (Unterminated string starting at)"),
    "not an object": ("[1, 2]", "[1, 2] is not an object"),
    "null": ("null", "null is not an object"),
    "missing column": (json.dumps({"input": "a", "score": 1.0, "uid": "x"}), "no column 'output': this record has"),
    "NaN reward": (json.dumps(rollout(float("nan"), uid="x")), "score is NaN: it must be finite"),
    "infinite reward": (json.dumps(rollout(float("-inf"), uid="x")), "score is -Infinity: it must be finite"),
    "huge reward": (json.dumps(rollout(10**400, uid="x")), "it must be finite"),
    "text reward": (json.dumps(rollout("1.0", uid="x")), 'score is "1.0": it must be a number or true/false'),
    "null reward": (json.dumps(rollout(None, uid="x")), "score is null: it must be a number or true/false"),
    "reward per token": (json.dumps(rollout([0, 1], uid="x")), "score is [0, 1]: it must be"),
    "mixed rewards": (json.dumps(rollout(True, uid="x")), "mixed types: score is true, true/false, but was a number"),
    "mixed ids": (json.dumps(rollout(1.0, uid=7)), "mixed types: uid is 7, a number, but was text before"),
    "null response": (json.dumps(rollout(1.0, output=None, uid="x")), "output is null: it must be text or a list"),
    "list for text": (json.dumps(rollout(1.0, prompt=[1], uid="x")), "input is [1], a list, but was text before"),
    "no text at all": (json.dumps(rollout(1.0, "", "", uid="x")), "prompt and response are both empty"),
    "deep": ("[" * 100_000, "nested too deeply"),
}


@pytest.fixture
def predict(capsys):
    """Runs `costaware predict`; returns (exit code, stdout, stderr)."""

    def run(*args):
        with pytest.raises(SystemExit) as left:
            main(["predict", *map(str, args)])
        return (left.value.code, *capsys.readouterr())

    return run


def refused(result):
    """The one line of an error with exit code 2."""
    code, out, error = result
    assert code == 2
    assert out == ""
    assert error.startswith("costaware: error: ")
    assert error.count("\n") == 1
    return error


@pytest.mark.parametrize(("line", "why"), BAD_LINES.values(), ids=BAD_LINES.keys())
def test_a_bad_line_is_named_with_file_and_line(write, predict, line, why):
    path = write("log.jsonl", [*GOOD, line])
    error = refused(predict(path))
    assert f"{path}, line 3: " in error
    assert why in error


@pytest.mark.parametrize(("line", "why"), BAD_LINES.values(), ids=BAD_LINES.keys())
def test_skip_bad_drops_and_counts_it(write, predict, line, why):
    path = write("log.jsonl", [*GOOD, line, line])
    code, out, _ = predict(path, "--skip-bad", "--json", "--strategy", "pstar")
    assert code == 0
    assert json.loads(out)["skipped"] == 2
    assert json.loads(out)["rollouts"] == 2


def test_bad_records_at_the_start_set_no_example(write, predict):
    header = {"run": "grpo", "seed": 1}
    odd = rollout(True, prompt=[1], output=None)
    path = write("log.jsonl", [header, odd, *GOOD])
    why = "no column for the prompt and the response and the reward: it has run, seed; say which with --columns prompt="
    assert why in refused(predict(path))
    code, out, _ = predict(path, "--skip-bad", "--json", "--strategy", "pstar")
    assert (code, json.loads(out)["skipped"]) == (0, 2)


def test_a_list_that_is_no_chat_is_no_prompt(write, predict):
    error = refused(predict(write("log.jsonl", [rollout(1.0, prompt=[1])])))
    assert "line 1: input is a list, but not of chat messages" in error


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ([], "log.jsonl: no rollouts, it is empty"),
        (["", "  "], "log.jsonl: no rollouts, it is empty"),
        ([{"input": "a", "output": "b", "mark": 1}], "no column for the reward: it has input, output, mark; say which"),
        ([rollout(1.0, "a"), rollout(0.0, "b")], "each of the 2 groups has one rollout"),
        ([rollout(0.5), rollout(0.5)], "the rewards are equal within each of the 1 groups"),
    ],
)
def test_a_log_without_use_is_refused(write, predict, records, why):
    assert why in refused(predict(write("log.jsonl", records)))


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--columns", "reward=acc"], "no column 'acc' (--columns reward=acc): it has input, output, score, uid"),
        (["--columns", "prompt_tokens=score"], "token counts come in pairs"),
        (["--strategy", "pps:proxy=surprise"], "needs the feature surprise, which the log lacks"),
        (["--strategy", "pstr"], "did you mean 'pstar'"),
        (["--baseline", "none:draws=0.5"], "you mean pps:inner=uniform,draws=0.5"),
        (["--norms", "surprize"], "did you mean 'surprise'"),
        (["--minibatch", "2"], "log.jsonl has 2 rollouts"),
        (["--minibatch", "-1"], "minibatch=-1"),
        (["--updates", "0"], "updates=0: must be at least 1"),
        (["--check", "5"], "needs at least 30 draws"),
    ],
)
def test_what_can_not_be_asked_of_a_log_is_refused(write, predict, args, why):
    assert why in refused(predict(write("log.jsonl", GOOD), *args))


def test_nothing_there_and_nothing_that_can_be_read(tmp_path, predict):
    assert "no such file or folder" in refused(predict(tmp_path / "nosuch.jsonl"))
    assert "no rollout log in this folder" in refused(predict(tmp_path))
    (tmp_path / "log.parquet").write_bytes(b"PAR1 and no more")
    assert "not a readable parquet file" in refused(predict(tmp_path / "log.parquet"))


def test_all_records_bad_is_an_error_even_where_they_are_skipped(write, predict):
    error = refused(predict(write("log.jsonl", ["7", "8"]), "--skip-bad"))
    assert "all 2 records are bad (line 1: 7 is not an object)" in error


def test_a_bad_log_leaves_the_output_of_an_earlier_one_alone(write, predict, tmp_path):
    out = tmp_path / "out"
    assert predict(write("good.jsonl", GOOD), "--out", out, "--strategy", "pstar")[0] == 0
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    assert set(before) == {"predict.json", "predict.csv", "predict.svg", "predict.pdf"}
    refused(predict(write("bad.jsonl", ["7"]), "--out", out))
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before


def test_files_that_are_not_its_own_are_not_replaced(write, predict, tmp_path):
    (tmp_path / "predict.csv").write_text("mine\n")
    error = refused(predict(write("log.jsonl", GOOD), "--out", tmp_path))
    assert "predict.csv there was not written by `costaware predict`" in error
    assert (tmp_path / "predict.csv").read_text() == "mine\n"
