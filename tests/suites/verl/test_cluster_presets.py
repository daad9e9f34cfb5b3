from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from strategies import WrongUse, parse
from suites import task as tasks
from suites import verl
from suites.task import Task
from suites.verl.cluster.presets import ACTOR, PRESETS

pytestmark = pytest.mark.verl
PAPER = [name for name in PRESETS if name.startswith("paper")]


def made(name: str, **settings: Any) -> Task:
    return tasks.make(name, {key.replace("__", "."): value for key, value in settings.items()})


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("setting", verl.SETTINGS)
def test_every_configuration_holds_against_verls_schema(setting: str, preset: str, cache: Path) -> None:
    preview = made(f"verl/{setting}@{preset}").preview(None)
    config = preview.config["verl"]
    actor = config["actor_rollout_ref"]["actor"]
    assert actor["policy_loss"]["loss_mode"] == ("cispo" if "cispo" in setting else "vanilla")
    assert config["algorithm"]["filter_groups"]["enable"] == ("zvf" in setting)
    assert actor["loss_agg_mode"] == "seq-mean-token-mean"
    assert config["actor_rollout_ref"]["rollout"]["val_kwargs"]["n"] == preview.config["eval_n"]
    assert config["trainer"]["device"] == ("cpu" if preset == "cpu-smoke" else "cuda")
    assert all(value > 0 for value in preview.estimate.values())


@pytest.mark.parametrize("preset", PAPER)
def test_paper_presets_are_the_papers_where_it_says_something(preset: str) -> None:
    config = made(f"verl/grpo@{preset}").preview(None).config
    assert config["recenter"] == "support"  # appendix G.2
    assert config["eval_n"] == 32  # section 5.4
    assert list(made(f"verl/grpo@{preset}").metrics) == ["acc/AIME", "acc/AMC", "acc/MATH500", "acc/GSM8K"]
    assert config["verl"]["actor_rollout_ref"]["rollout"]["name"] == "vllm"
    attention = config["verl"]["actor_rollout_ref"]["model"]["override_config"]["attn_implementation"]
    assert attention == "flash_attention_2"


def test_estimate_follows_the_budget() -> None:
    task, filtered = made("verl/grpo@paper-1.5b"), made("verl/grpo+zvf@paper-1.5b")
    one, two = task.preview(1e9).estimate, task.preview(2e9).estimate
    assert two["steps"] == pytest.approx(2 * one["steps"], abs=1)
    assert two["backward"] == 2 * one["backward"] == 2e9
    assert two["evaluation"] == one["evaluation"]
    assert filtered.preview(1e9).estimate["generated"] == 2 * one["generated"]
    assert one["gpu_hours"] < two["gpu_hours"] < 2 * one["gpu_hours"]


def test_dry_run_prints_configuration_and_estimate() -> None:
    from bench.cli import cli

    words = [
        "run",
        "verl/grpo@paper-1.5b",
        "--strategy",
        "pstar",
        "--set",
        "verl.actor_rollout_ref.actor.optim.lr=2e-6",
    ]
    shown = CliRunner().invoke(cli, [*words, "--dry-run"], catch_exceptions=False).output
    assert "verl.actor_rollout_ref.actor.optim.lr=2e-06" in shown.splitlines()
    assert "gpu_hours" in shown
    tree = json.loads(CliRunner().invoke(cli, [*words, "--dry-run", "--json"], catch_exceptions=False).output)
    assert tree["config"]["verl"]["actor_rollout_ref"]["actor"]["optim"]["lr"] == 2e-6
    assert tree["estimate"]["gpu_hours"] > 0


def test_dry_run_of_a_sweep_adds_the_runs_estimates_up(tmp_path: Path) -> None:
    from bench.cli import cli
    from bench.meter import si

    file = tmp_path / "two.toml"
    task = 'name = "verl/grpo@paper-1.5b"\nresources = { gpus = 8, timeout_min = 1440 }'
    file.write_text(f'methods = ["none", "pstar"]\nbaseline = "none"\naa = false\n[[tasks]]\n{task}\n')
    words = ["sweep", str(file), "--cluster", "slurm", "--dry-run", "--out", str(tmp_path)]
    shown = CliRunner().invoke(cli, words, catch_exceptions=False).output
    one = made("verl/grpo@paper-1.5b").preview(None).estimate
    assert f"{si(2 * one['backward'])} backward tokens; about {si(2 * one['gpu_hours'])} GPU-hours" in shown


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"verl__actor_rollout_ref__actor__optim__lrr": 1}, "'lrr': did you mean 'lr'"),
        ({"verl__actor_rollout_ref__actor__optim__lr": "fast"}, "lr=fast: verl needs float"),
        ({"verl__trainer__v1__trainer_mode": "sync"}, "leave it out"),
        ({"verl__data__train_batch_size": 100}, "ppo_mini_batch_size=32: must divide"),
        ({"verl__actor_rollout_ref__actor__loss_agg_mode": "token-mean"}, "biases the gradient"),
        ({"verl__actor_rollout_ref__actor__use_kl_loss": True}, "does not weight that term"),
        ({"verl__actor_rollout_ref__actor__entropy_coeff": 0.01}, "does not weight that term"),
        ({"verl__actor_rollout_ref__actor__strategy": "megatron"}, "known: fsdp, fsdp2"),
        ({"verl__actor_rollout_ref__rollout__n": 1}, "at least 2 responses"),
        ({"verl__actor_rollout_ref__actor__checkpoint__async_save": True}, "when its checkpoint is whole"),
        ({"evaluation": 3}, "did you mean 'evaluations'"),
        ({"recenter": "mean"}, "known: none, support"),
        ({"budget": -1}, "must be finite"),
    ],
)
def test_what_can_not_work_is_refused_in_one_line(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(WrongUse, match=message.replace("(", r"\(")) as refused:
        made("verl/grpo@paper-1.5b", **settings).check(parse("pstar"))
    assert "\n" not in str(refused.value)


def test_terms_that_verl_does_not_weight_go_without_sampling() -> None:
    made("verl/grpo@paper-1.5b", **{f"verl.{ACTOR}use_kl_loss": True}).check(parse("none"))


def test_proxies_that_verl_has_no_feature_for_are_refused() -> None:
    task = made("verl/grpo@paper-1.5b")
    for method in ("pstar", "pps:proxy=surprise,draws=0.5", "knapsack", "nonzero", "smoothed"):
        task.check(parse(method))
    with pytest.raises(WrongUse, match="grad_norm, which verl's trainer does not compute"):
        task.check(parse("pstar:proxy=oracle"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("verl/grpo@paper-1.5b", "dapo-math-17k.parquet is not there: run `costaware data prepare`"),
        ("verl/grpo@paper-8b", "nodes=2: submit it with --cluster slurm --resource nodes=2, or start ray"),
    ],
)
def test_a_machine_that_is_not_ready_says_what_is_missing(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("COSTAWARE_RAY", "SLURM_JOB_NUM_NODES"):
        monkeypatch.delenv(variable, raising=False)
    task, method = made(name, data=str(tmp_path)), parse("pstar")
    with pytest.raises(tasks.MissingExtra, match=message):
        list(task.run(tasks.Request(method, *tasks.seeds(name, method, 0), None, tmp_path)))
