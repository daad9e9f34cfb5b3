"""`costaware predict`, as typed."""

import csv
import json

import pytest
from replay_records import rollout

from bench.cli import main
from suites.replay.task import SHIPPED

KEYS = {"rollouts", "groups", "steps", "nonzero", "zero_variance_share", "tokens", "methods"}
METHOD_KEYS = {
    "method", "tokens_share", "tokens_share_drawn", "relative_variance", "saving", "j_ratio", "iid_gain", "chi2",
    "lost_mass", "ess_share",
}  # fmt: skip
DEFAULTS = {
    "none", "nonzero", "uniform", "variance", "pstar", "smoothed:alpha=0.01", "smoothed:alpha=0.05",
    "smoothed:alpha=0.1", "inverse-sqrt-cost", "indicator", "noisy:sigma2=0.1", "knapsack:bias=0.05", "pps",
    "pps:draws=0.5",
}  # fmt: skip


@pytest.fixture
def predict(capsys):
    """Runs `costaware predict`; returns what it printed, after checking its exit code."""

    def run(*args, code=0):
        with pytest.raises(SystemExit) as left:
            main(["predict", *map(str, args)])
        out, error = capsys.readouterr()
        assert left.value.code == code, error
        return out

    return run


@pytest.fixture
def predicted(predict):
    """The same with --json; returns the tree and its methods by name."""

    def run(*args):
        tree = json.loads(predict(*args, "--json"))
        return tree, {method["method"]: method for method in tree["methods"]}

    return run


@pytest.mark.shared_data
def test_the_math_log(predicted, shared_data):
    tree, methods = predicted(shared_data / "rollouts_math_qwen2.5_100x8.jsonl")
    assert tree.keys() >= KEYS
    assert (tree["rollouts"], tree["groups"], tree["steps"], tree["nonzero"]) == (800, 100, 1, 80)
    assert tree["zero_variance_share"] == pytest.approx(0.9)
    assert methods.keys() == DEFAULTS
    assert all(method.keys() >= METHOD_KEYS for method in methods.values())
    ratios = {
        "uniform": 8.03, "variance": 1.043, "inverse-sqrt-cost": 10.03, "pstar": 1.0, "smoothed:alpha=0.01": 1.006,
        "smoothed:alpha=0.05": 1.029, "smoothed:alpha=0.1": 1.060,
    }  # fmt: skip
    for name, ratio in ratios.items():
        assert methods[name]["j_ratio"] == pytest.approx(ratio, abs=0.005 if ratio > 2 else 0.0005), name
        assert methods[name]["chi2"] == pytest.approx(methods[name]["j_ratio"] - 1)
    for name in ("none", "nonzero", "pps", "pps:draws=0.5", "knapsack:bias=0.05", "noisy:sigma2=0.1"):
        assert methods[name]["j_ratio"] is None
        assert methods[name]["chi2"] is None
    assert methods["nonzero"]["tokens_share"] == pytest.approx(0.167, abs=0.0005)
    assert methods["pstar"]["tokens_share_drawn"] == pytest.approx(1.517, abs=0.0005)
    assert methods["pstar"]["tokens_share"] == pytest.approx(0.55, abs=0.005)
    assert methods["pstar"]["relative_variance"] == pytest.approx(0.081, abs=0.0005)
    assert methods["none"]["relative_variance"] == methods["nonzero"]["relative_variance"] == 0


@pytest.mark.shared_data
def test_the_gsm8k_log(predicted, shared_data):
    tree, methods = predicted(shared_data / "rollouts_gsm8k_gpt3_1319x4.jsonl")
    assert (tree["rollouts"], tree["groups"], tree["nonzero"]) == (5276, 1319, 2924)
    assert methods["nonzero"]["tokens_share"] == pytest.approx(0.535, abs=0.0005)
    assert methods["pstar"]["tokens_share_drawn"] == pytest.approx(0.916, abs=0.0005)


@pytest.mark.shared_data
def test_a_dump_of_verl(predicted, shared_data):
    tree, _ = predicted(shared_data / "verl_dump")
    assert (tree["rollouts"], tree["groups"], tree["steps"]) == (128, 32, 4)
    assert [(pool["rollouts"], pool["groups"]) for pool in tree["pools"]] == [(32, 8)] * 4


def test_the_text_leads_with_tokens_and_variance_and_says_what_the_saving_is(predict):
    text = " ".join(predict(SHIPPED).split())
    assert "512 rollouts in 64 groups, 4 steps of 128 rollouts in 16 groups each" in text
    assert "are in groups of equal rewards" in text
    header = text.index("method tokens variance as drawn saving")
    assert header < text.index("pstar")
    assert "It is a ceiling: it knows only the noise of choosing rollouts, not that of the prompts" in text
    assert "Costs are characters / 3.2: no --tokenizer, and no token counts in the log." in text


def test_single_sample_groups_are_told_in_one_note(write, predict):
    path = write("log.jsonl", [rollout(1, "p"), rollout(0, "p"), rollout(1, "q"), rollout(1, "r")])
    text = " ".join(predict(path, "--strategy", "pstar").split())
    assert text.count("2 groups have one rollout: its advantage is 0") == 1


def test_given_strategies_replace_the_defaults(predicted):
    _, methods = predicted(SHIPPED, "--strategy", "pstar", "--strategy", "pps:draws=0.25", "--strategy", "pstar")
    assert list(methods) == ["pstar", "pps:draws=0.25"]


def test_a_plugin_joins_the_defaults_and_its_features_are_read(write, predicted):
    plugin = write("mine.py", PLUGIN.splitlines())
    log = write("log.jsonl", [rollout(k % 2, difficulty=1.0 + k) for k in range(8)])
    _, methods = predicted(log, "--plugin", plugin)
    assert methods.keys() == DEFAULTS | {"by-difficulty"}
    _, methods = predicted(SHIPPED, "--plugin", plugin)  # that log has no difficulty, and nobody asked
    assert methods.keys() == DEFAULTS


PLUGIN = """
from dataclasses import dataclass
from strategies import IIDStrategy, proportional, register

@register("by-difficulty")
@dataclass(frozen=True)
class ByDifficulty(IIDStrategy):
    needs = ("difficulty",)

    def probabilities(self, pool):
        return proportional(pool.norms * pool.features["difficulty"])
"""


def test_methods_are_judged_by_measured_norms_where_the_log_has_them(write, predicted):
    log = write("log.jsonl", [rollout(k % 2, grad_norm=1.0 + k) for k in range(8)])
    ask = ("--strategy", "pstar", "--strategy", "pstar:proxy=oracle")
    tree, methods = predicted(log, *ask)
    assert tree["norms"] == "oracle"
    assert methods["pstar:proxy=oracle"]["j_ratio"] == pytest.approx(1)
    assert methods["pstar"]["j_ratio"] > 1.1
    tree, methods = predicted(log, *ask, "--norms", "advantage")
    assert tree["norms"] == "advantage"
    assert methods["pstar"]["j_ratio"] == pytest.approx(1)


def test_updates_and_minibatch_are_heeded(predicted):
    few, many = (predicted(SHIPPED, "--strategy", "pstar", "--updates", u)[1]["pstar"] for u in (1, 16))
    assert (
        few["tokens_share"]
        < many["tokens_share"]
        < many["tokens_share_drawn"]
        == pytest.approx(few["tokens_share_drawn"])
    )
    small, large = (predicted(SHIPPED, "--strategy", "pstar", "--minibatch", b)[1]["pstar"] for b in (8, 100))
    assert small["saving"] > large["saving"]  # close to the whole pool, a plain mini-batch hardly errs


def test_the_check_is_shown_and_counted(predict):
    ask = (SHIPPED, "--strategy", "pstar", "--strategy", "noisy", "--check", 50)
    tree = json.loads(predict(*ask, "--json"))
    assert tree["check"]["ok"]
    assert tree["check"]["unchecked"] == ["noisy:sigma2=0.1"]
    assert len(tree["check"]["comparisons"]) == 4 * 3
    assert "check: 12 of 12 closed forms agree with real draws" in predict(*ask)


def test_a_check_that_fails_exits_with_one_and_names_what_is_off(predict, monkeypatch):
    from suites.replay.iid import IID

    right = IID.step
    monkeypatch.setattr(IID, "step", lambda self, updates: right(self, updates + 1))  # a wrong number of updates
    text = predict(SHIPPED, "--strategy", "pstar", "--check", 200, code=1)
    assert "pstar step 1 tokens" in " ".join(text.split())


def test_out_holds_the_table_and_a_figure_and_may_be_written_again(predict, predicted, tmp_path):
    out = tmp_path / "answer"
    tree, methods = predicted(SHIPPED)
    for _ in range(2):
        predict(SHIPPED, "--out", out)
    saved = json.loads((out / "predict.json").read_text())
    assert saved["made_by"] == "costaware predict"
    assert saved["methods"] == tree["methods"]
    with (out / "predict.csv").open(newline="") as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    assert rows.keys() == methods.keys()
    assert float(rows["pstar"]["saving"]) == methods["pstar"]["saving"]
    assert rows["none"]["j_ratio"] == ""
    svg = (out / "predict.svg").read_text()
    for name in DEFAULTS:
        assert name in svg
    assert (out / "predict.pdf").read_bytes().startswith(b"%PDF")
