"""Replay: rollout logs of a run that already happened -> what each strategy would have cost on them.

A pool is one step's rollouts; norms are |advantage|, made per prompt group; costs are tokens. Per method: tokens,
variance, and the saving at equal error, in closed form where there is one (`comparison.compare` states all formulas).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strategies.errors import WrongUse
from suites.task import Task, TaskInfo, configured

SYNTHETIC = "replay/synthetic"


def infos() -> list[TaskInfo]:
    """The task that ships; any other name takes a log of its own."""
    doc = "predicted tokens on a made-up rollout log; replay/NAME with rollouts=FILE predicts them on yours"
    return [TaskInfo(SYNTHETIC, doc)]


def make(name: str, settings: Mapping[str, Any]) -> Task:
    """The replay task of that name.

    Raises:
        WrongUse: a bad setting, a missing log, or a name other than `replay/synthetic` without `rollouts`.
    """
    from suites.replay.files import sources
    from suites.replay.task import Replay, Settings

    chosen = configured(Settings(), settings, name)
    if chosen.rollouts:
        sources([chosen.rollouts])
    elif name != SYNTHETIC:
        raise WrongUse(f"task {name}: which log? set rollouts=FILE; {SYNTHETIC} ships with the package")
    return Replay(name, chosen)
