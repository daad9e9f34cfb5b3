"""Policy optimization with verl: `verl/<setting>[@preset]`, and `verl/variance`.

The preset decides the engine: in this process with verl's advantages and losses, or verl's own trainer on a cluster.

Light to import: what runs a task is imported when it runs, so that the tasks are listed, and refused by name, on
machines without verl.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from strategies.errors import WrongUse, unknown
from suites.task import MissingExtra, Task, TaskInfo, configured
from suites.verl.cluster import presets as cluster
from suites.verl.settings import DEFAULT_PRESET, PRESETS, Study

SETTINGS: dict[str, dict[str, Any]] = {
    "grpo": {},
    "grpo+zvf": {"zvf": True},
    "cispo": {"loss": "cispo", "clip_ratio_low": 1.0, "clip_ratio_high": 4.0},
}
SETTINGS["cispo+zvf"] = SETTINGS["cispo"] | SETTINGS["grpo+zvf"]
NAMED = frozenset({"loss", "zvf"})  # what the name says can't be set to something else
DOCS = {
    "grpo": "GRPO (arXiv 2402.03300): verl's group advantages and clipped loss",
    "grpo+zvf": "GRPO with zero-variance groups dropped and resampled (DAPO, arXiv 2503.14476)",
    "cispo": "CISPO (arXiv 2506.13585): clipped, stop-gradient ratios",
    "cispo+zvf": "CISPO with zero-variance groups dropped and resampled",
}
EXTRA = "install costaware-bench[verl]"
VARIANCE = "verl/variance"


def infos() -> list[TaskInfo]:
    """Every task of the suite; the default preset goes without its name."""
    found = [
        TaskInfo(_name(setting, preset), f"{DOCS[setting]}; {PRESETS[preset][0].chain.name}, preset {preset}")
        for setting in SETTINGS
        for preset in PRESETS
    ]
    found += [
        TaskInfo(_name(setting, preset), f"{DOCS[setting]}; preset {preset}: {info.doc}")
        for setting in SETTINGS
        for preset, info in cluster.PRESETS.items()
    ]
    return [*found, TaskInfo(VARIANCE, "variance times tokens of every design and proxy, on fixed pools of rollouts")]


def make(name: str, settings: Mapping[str, Any]) -> Task:
    """The task of that name with `settings` (fields of `Stage`) over its preset.

    Raises:
        WrongUse: unknown task or setting, or a bad value.
        MissingExtra: verl or transformers is not installed.
    """
    if name == VARIANCE:
        return _variance(settings)
    setting, _, preset = name.removeprefix("verl/").partition("@")
    if setting not in SETTINGS or preset not in ("", *PRESETS, *cluster.PRESETS):
        raise unknown("task", name, [info.name for info in infos()])
    named = NAMED.intersection(settings)
    if named:
        raise WrongUse(f"{name}: {min(named)} is part of the task's name; known: {', '.join(SETTINGS)}")
    if preset in cluster.PRESETS:
        return _training(name, setting, cluster.PRESETS[preset], settings)
    world, stage = PRESETS[preset or DEFAULT_PRESET]
    stage = configured(replace(stage, **SETTINGS[setting]), settings, name)
    _need_verl()
    from suites.verl.tasks import PolicyOptimization

    return PolicyOptimization(name, world, stage)


def _training(name: str, setting: str, preset: cluster.Preset, settings: Mapping[str, Any]) -> Task:
    own = {key.removeprefix(cluster.PREFIX): value for key, value in settings.items() if key.startswith(cluster.PREFIX)}
    ours = {key: value for key, value in settings.items() if not key.startswith(cluster.PREFIX)}
    chosen = configured(preset.settings, ours, name)
    _need_verl()
    from suites.verl.cluster.task import VerlTraining

    return VerlTraining(name, preset, SETTINGS[setting], chosen, own)


def _variance(settings: Mapping[str, Any]) -> Task:
    study = configured(Study(), settings, VARIANCE)
    _need_verl()
    from suites.verl.variance import VarianceTable

    return VarianceTable(VARIANCE, *PRESETS[DEFAULT_PRESET], study)


def _need_verl() -> None:
    if not all(map(importlib.util.find_spec, ("verl", "transformers"))):
        raise MissingExtra(EXTRA)


def _name(setting: str, preset: str) -> str:
    return f"verl/{setting}" + ("" if preset == DEFAULT_PRESET else f"@{preset}")
