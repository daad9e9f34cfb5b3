from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from strategies import WrongUse
from suites import task as tasks
from suites import verl
from suites.verl.cluster.presets import PRESETS as CLUSTER
from suites.verl.settings import PRESETS, Stage

ROOT = Path(__file__).resolve().parents[3]
WITHOUT_VERL = """
import sys
from importlib.machinery import PathFinder
class WithoutVerl(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] == "verl" else super().find_spec(name, path, target)
sys.meta_path[sys.meta_path.index(PathFinder)] = WithoutVerl
"""


def without_verl(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_VERL + code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_every_setting_has_every_preset() -> None:
    names = [info.name for info in verl.infos()]
    assert len(names) == len(set(names)) == 4 * len(PRESETS | CLUSTER) + 1
    assert {"verl/grpo", "verl/grpo+zvf@tiny", "verl/cispo@full", "verl/variance"} <= set(names)
    assert all(info.doc for info in verl.infos())


def test_tasks_are_listed_without_verl_and_say_what_to_install() -> None:
    code = """
from suites import task
print(len([info for info in task.infos() if info.name.startswith("verl/")]))
for name in ("verl/grpo", "verl/variance"):
    try:
        task.make(name)
    except task.MissingExtra as missing:
        print(missing)
"""
    assert without_verl(code).split("\n") == [
        str(4 * len(PRESETS | CLUSTER) + 1),
        *["install costaware-bench[verl]"] * 2,
    ]


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("verl/gpro", {}, "did you mean 'verl/grpo'"),
        ("verl/grpo@smal", {}, "unknown task"),
        ("verl/grpo", {"lr_": 1}, "did you mean 'lr'"),
        ("verl/grpo", {"recenter": "mean"}, "known: none, support"),
        ("verl/grpo", {"loss": "cispo"}, "loss is part of the task's name; known: grpo, grpo\\+zvf, cispo"),
        ("verl/grpo", {"ppo_mini_batch_size": 5}, "must divide train_batch_size=32"),
        ("verl/grpo", {"rollout_n": 1}, "rollout_n=1: must be at least 2"),
        ("verl/grpo", {"budget": 0}, "budget=0: must be finite and > 0"),
        ("verl/grpo", {"lr": "nan"}, "lr=nan: must be finite"),
        ("verl/grpo", {"device": "tpu"}, "known: auto, cpu, cuda"),
        ("verl/variance", {"plans": "many"}, "type int"),
    ],
)
def test_wrong_use_is_refused_in_one_line(name: str, settings: dict[str, object], message: str) -> None:
    with pytest.raises(WrongUse, match=message.replace("(", r"\(")) as refused:
        tasks.make(name, settings)
    assert "\n" not in str(refused.value)


@pytest.mark.skipif(not importlib.util.find_spec("verl"), reason="needs the extra: install costaware-bench[verl]")
def test_settings_differ_as_their_names_say() -> None:
    stage: dict[str, Stage] = {
        setting: tasks.make(f"verl/{setting}").stage for setting in ("grpo", "grpo+zvf", "cispo", "cispo+zvf")
    }
    assert [(s.loss, s.zvf) for s in stage.values()] == [
        ("vanilla", False),
        ("vanilla", True),
        ("cispo", False),
        ("cispo", True),
    ]
    assert {s.budget for s in stage.values()} == {tasks.make("verl/grpo").default_budget}
    assert tasks.make("verl/grpo@small").stage == stage["grpo"]


@pytest.mark.skipif(not importlib.util.find_spec("verl"), reason="needs the extra: install costaware-bench[verl]")
def test_preview_shows_settings_and_budget() -> None:
    task = tasks.make("verl/cispo", {"lr": 1e-4})
    preview = task.preview(1000)
    assert (preview.config["lr"], preview.config["loss"]) == (1e-4, "cispo")
    assert preview.estimate == {"backward": 1000}
    assert task.preview(None).estimate == {"backward": task.default_budget}
