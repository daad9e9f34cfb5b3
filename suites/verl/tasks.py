"""The tasks of the in-process engine. Importing this imports torch; verl itself comes in when a run starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from strategies import Method
from suites.task import Metric, Point, Preview, Request, Task
from suites.verl import checkpoint
from suites.verl.sampling import refuse
from suites.verl.settings import Stage, World
from suites.verl.warmstart import warm_start


class PolicyOptimization(Task):
    """One policy-optimization stage, from the warmed-up policy to the budget.

    Args:
        name: of the task.
        world: reasoning task and model.
        stage: how the policy is trained.
    """

    def __init__(self, name: str, world: World, stage: Stage) -> None:
        self.name, self.world, self.stage = name, world, stage
        self.metrics = {f"acc/{world.chain.name}": Metric("up", "linear")}
        self.default_budget = stage.budget

    def check(self, method: Method) -> None:
        refuse(method, self.stage.loss_agg_mode, self.stage.entropy_coeff, self.stage.kl_loss_coef)

    def prepare(self) -> None:
        warm_start(self.world)

    def preview(self, budget: float | None) -> Preview:
        return replace(super().preview(budget), config=asdict(self.stage))

    def recorded(self, workdir: Path) -> int:
        return checkpoint.recorded(workdir)

    def run(self, request: Request) -> Iterator[Point]:
        from suites.verl.training import Training

        yield from Training(self.world, self.stage, request, warm_start(self.world)).points()
