"""Synthetic tasks: convex and other problems whose optimum, gradient norms and theory are known (DESIGN.md, section 5).

    task = make("synthetic/least-squares", {"trials": 100})

All trials of a run advance together as one batched computation; they are the replicates of every Point.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strategies.errors import unknown
from suites.synthetic.recipes import RECIPES
from suites.synthetic.settings import Settings
from suites.task import Task, TaskInfo, configured


def infos() -> list[TaskInfo]:
    """The tasks of this suite."""
    return [TaskInfo(f"synthetic/{name}", recipe.doc) for name, recipe in RECIPES.items()]


def make(name: str, settings: Mapping[str, Any]) -> Task:
    """The task `synthetic/...` with `settings` over the defaults of `Settings`.

    Raises:
        WrongUse: unknown task or setting (the nearest match is named), or a bad value.
    """
    recipe = RECIPES.get(name.removeprefix("synthetic/"))
    if recipe is None:
        raise unknown("task", name, [info.name for info in infos()])
    configuration = configured(Settings(), settings, name)
    from suites.synthetic.task import SyntheticTask  # torch is needed from here on

    return SyntheticTask(name, recipe, configuration)
