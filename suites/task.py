"""What a suite gives the bench: tasks, which turn a method and two seed streams into a stream of Points."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from strategies.errors import WrongUse, unknown
from strategies.method import Method

SUITES = ("synthetic", "replay", "verl")


class MissingExtra(Exception):
    """This machine can't run the task; the message says what to install (the cell reads "not run: ...")."""


@dataclass(frozen=True)
class Metric:
    """How a metric is read: does more of it mean better, and on which scale are equal steps equal progress?"""

    direction: Literal["up", "down"]
    scale: Literal["linear", "log"]


@dataclass(frozen=True)
class Ledger:
    """Cumulative tokens of a run. `backward` is the headline.

    generated: sampled from the policy, dropped groups included. forward: old/reference log-probs and proxies.
    backward: really processed by the actor's update, duplicates folded within one update. backward_drawn: sum of c over
    draws with multiplicity, the paper's count. draws: components drawn.
    """

    generated: float = 0.0
    forward: float = 0.0
    backward: float = 0.0
    backward_drawn: float = 0.0
    draws: float = 0.0


@dataclass(frozen=True)
class Point:
    """One measurement: the metric's mean over n replicates with their sd, at a step and a state of the ledger."""

    step: int
    phase: Literal["train", "eval"]
    metric: str
    value: float
    ledger: Ledger
    sd: float | None = None
    n: int = 1
    diagnostics: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """One run: who draws, in which world, with how much, and where the task may keep files of its own.

    `world_seed` is the same for every method (runs pair by it); `draw_seed` is the method's own.
    """

    method: Method
    world_seed: np.random.SeedSequence
    draw_seed: np.random.SeedSequence
    budget: float | None  # backward tokens; None is the task's default
    workdir: Path


def seeds(
    task: str, method: Method, seed: int, repeat: int = 0
) -> tuple[np.random.SeedSequence, np.random.SeedSequence]:
    """The (world, draw) seed sequences of a run.

    The world knows task and seed only, so that runs pair by them; `repeat` > 0 redraws in the same world (A/A).
    """

    def stream(*words: object) -> np.random.SeedSequence:
        digest = hashlib.sha256("\0".join(map(str, words)).encode()).digest()
        return np.random.SeedSequence(int.from_bytes(digest[:16], "big"))

    return stream("world", task, seed), stream("draw", task, seed, method, repeat)


@dataclass(frozen=True)
class Preview:
    """What a run would do: its whole configuration, and what it would take (tokens by kind, GPU-hours; rough)."""

    config: Mapping[str, Any]
    estimate: Mapping[str, float]


class Task(ABC):
    """A world with a budget. `metrics` names what it measures, the headline metric first."""

    name: str
    metrics: Mapping[str, Metric]
    default_budget: float | None = None

    def check(self, method: Method) -> None:
        """Raise WrongUse, before anything starts, where this task can't mean anything with `method`."""

    def prepare(self) -> None:
        """Make what all runs of this world on a machine start from (a warm start), if it isn't there; with progress.

        Called once before the runs, where a user sees it. A run makes for itself what it finds missing.
        """

    def preview(self, budget: float | None) -> Preview:
        """What a run with this budget (None: the task's own) would do, without doing it; WrongUse where it can't."""
        tokens = budget if budget is not None else self.default_budget
        return Preview({}, {} if tokens is None else {"backward": tokens})

    def recorded(self, workdir: Path) -> int:
        """How many Points a run continued from `workdir` has on record already; 0 starts over (the default)."""
        return 0

    @abstractmethod
    def run(self, request: Request) -> Iterator[Point]:
        """Yield Points in order, from point number `recorded(request.workdir)` on."""


@dataclass(frozen=True)
class TaskInfo:
    """A line of `costaware list tasks`."""

    name: str
    doc: str


def infos() -> list[TaskInfo]:
    """Every task of every suite, without importing what running them takes."""
    return [info for suite in SUITES for info in _suite(suite).infos()]


def make(name: str, settings: Mapping[str, Any] | None = None) -> Task:
    """The task of that name, e.g. `synthetic/least-squares`, with `settings` over its defaults.

    Raises:
        WrongUse: unknown suite, task or setting (the nearest match is named), or a bad value.
        MissingExtra: the machine lacks an optional dependency of the suite.
    """
    suite, slash, _ = name.partition("/")
    if suite not in SUITES or not slash:
        raise unknown("task", name, [info.name for info in infos()])
    task: Task = _suite(suite).make(name, dict(settings or {}))
    return task


def _suite(suite: str) -> Any:
    """The suite's package: it has `infos() -> list[TaskInfo]` and `make(name, settings) -> Task`; imports lazily."""
    return importlib.import_module(f"suites.{suite}")


def configured(defaults: Any, settings: Mapping[str, Any], owner: str) -> Any:
    """`defaults` (a frozen dataclass) with `settings` over it, each value turned into its field's type.

    Raises:
        WrongUse: a setting it does not have (the nearest match is named), or a value of another type.
    """
    values: dict[str, Any] = {}
    kinds = {f.name: type(getattr(defaults, f.name)) for f in dataclasses.fields(defaults)}
    for key, value in settings.items():
        if key not in kinds:
            raise unknown(f"setting of {owner}", key, kinds)
        values[key] = _cast(key, value, kinds[key], owner)
    return dataclasses.replace(defaults, **values)


def _cast(key: str, value: Any, kind: type, owner: str) -> Any:
    try:
        if kind is bool:
            return {"true": True, "false": False}[str(value).lower()]
        if kind is int and float(value) != int(float(value)):
            raise ValueError
        return value if kind is type(None) else kind(float(value) if kind is int else value)
    except (KeyError, TypeError, ValueError):
        raise WrongUse(f"{key}={value}: {owner} needs a value of type {kind.__name__} there") from None
