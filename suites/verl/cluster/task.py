"""The tasks of the cluster engine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strategies import Method
from suites.task import Metric, MissingExtra, Point, Preview, Request, Task
from suites.verl.cluster import allocation, compose, refusals
from suites.verl.cluster.estimate import estimate
from suites.verl.cluster.node import VARIABLE
from suites.verl.cluster.presets import Preset, Settings

if TYPE_CHECKING:
    from omegaconf import DictConfig


class VerlTraining(Task):
    """A run of verl's own trainer, from a model to the budget.

    Args:
        name: of the task.
        preset: world and defaults.
        stage: what the task's name says (`loss`, `zvf`, clipping).
        settings: the preset's, with the user's over them.
        own: the user's values by verl's dotted keys.
    """

    def __init__(
        self, name: str, preset: Preset, stage: Mapping[str, Any], settings: Settings, own: Mapping[str, Any]
    ) -> None:
        self.name, self.preset, self.stage, self.settings, self.own = name, preset, stage, settings, own
        self.metrics = {f"acc/{benchmark}": Metric("up", "linear") for benchmark in preset.benchmarks}
        self.default_budget = settings.budget

    def check(self, method: Method) -> None:
        refusals.check(self._default, method)

    def preview(self, budget: float | None) -> Preview:
        from omegaconf import OmegaConf

        settings = self._placed()
        config = self._composed(settings)
        compose.validate(config)
        tree = OmegaConf.to_container(config, resolve=True)
        spent = estimate(self.preset, config, settings, budget or settings.budget)
        return Preview({**asdict(settings), "verl": tree}, asdict(spent))

    def prepare(self) -> None:
        if self.preset.world is not None:
            from suites.verl.cluster.cpu.assets import make

            make(self.preset.world)

    def recorded(self, workdir: Path) -> int:
        from suites.verl.cluster import state

        return state.recorded(workdir)

    def run(self, request: Request) -> Iterator[Point]:
        from suites.verl.cluster.launch import launch

        self.prepare()
        settings = self._placed()
        config = self._composed(settings)
        if settings.nodes > allocation.size() and not os.environ.get(VARIABLE):
            raise MissingExtra(
                f"nodes={settings.nodes}: submit it with --cluster slurm --resource nodes={settings.nodes}, or start "
                f"ray on each node (python -m suites.verl.cluster.node --help) and name its head in {VARIABLE}"
            )
        for file in (*config.data.train_files, *config.data.val_files):
            if not Path(file).exists():
                raise MissingExtra(f"{file} is not there: run `costaware data prepare`, or set data=DIRECTORY")
        yield from launch(config, settings, self.preset, request)

    @cached_property
    def _default(self) -> DictConfig:
        """For looking at: a sweep checks every method of it, and hydra takes a third of a second."""
        return self._composed(self.settings)

    def _composed(self, settings: Settings) -> DictConfig:
        return compose.compose(self.preset, self.stage, settings, self.own)

    def _placed(self) -> Settings:
        """The settings with model and data where this machine has them."""
        if self.preset.world is None:
            return self.settings
        from suites.verl.cluster.cpu.assets import place

        folder = str(place(self.preset.world))
        return replace(self.settings, model=self.settings.model or folder, data=self.settings.data or folder)
