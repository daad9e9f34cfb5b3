"""Sweep directories in the records' own format, with curves whose savings are known."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import ArrayLike

from bench.records import Records, load
from bench.rundir import RunDir, Status
from bench.spec import RunSpec

UP = {"acc": {"direction": "up", "scale": "linear"}}
DOWN = {"excess_error": {"direction": "down", "scale": "log"}}


class SweepWriter:
    """Writes runs into DIR as the bench does, then reads them back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.specs: list[RunSpec] = []
        self.baselines: dict[str, str] = {}

    def run(
        self,
        method: str,
        tokens: ArrayLike = (),
        values: ArrayLike = (),
        *,
        task: str = "verl/grpo@tiny",
        seed: int = 0,
        repeat: int = 0,
        metrics: Mapping[str, Mapping[str, str]] = UP,
        state: str = "ok",
        why: str = "",
        sd: float | None = None,
        n: int = 1,
        diagnostics: Mapping[str, Any] | Callable[[int], Mapping[str, Any]] | None = None,
        trials: pd.DataFrame | None = None,
    ) -> RunDir:
        """One run whose headline metric takes `values` after `tokens` backward tokens."""
        spec = RunSpec(task, method, seed, repeat)
        self.specs.append(spec)
        directory = RunDir(self.path / spec.run_id)
        directory.prepare(spec)
        metric = next(iter(metrics), None)
        lines = [
            _line(
                spec,
                step,
                metric,
                float(x),
                float(y),
                sd,
                n,
                diagnostics(step) if callable(diagnostics) else diagnostics or {},
            )
            for step, (x, y) in enumerate(zip(np.asarray(tokens), np.asarray(values), strict=True))
        ]
        directory.points_file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        directory.write_status(Status(state, why, metrics=metrics))  # type: ignore[arg-type]
        if trials is not None:
            trials.to_parquet(directory.path / "trials.parquet")
        return directory

    def planned(self, method: str, **where: Any) -> None:
        """A run of the plan that never started."""
        self.specs.append(RunSpec(where.pop("task", "verl/grpo@tiny"), method, **where))

    def write(self, baselines: Mapping[str, str] | None = None) -> Path:
        """sweep.json; the baseline of every task is `none` unless said."""
        named = {spec.task: "none" for spec in self.specs} if baselines is None else baselines
        tree = {
            "name": "test",
            "title": "test",
            "command": "costaware sweep test",
            "baselines": dict(named),
            "runs": [{**spec.to_json(), "run": spec.run_id} for spec in self.specs],
        }
        (self.path / "sweep.json").write_text(json.dumps(tree))
        return self.path

    def records(self, baselines: Mapping[str, str] | None = None) -> Records:
        return load([self.write(baselines)])


def _line(
    spec: RunSpec, step: int, metric: str | None, x: float, y: float, sd: float | None, n: int, d: Mapping[str, Any]
) -> dict[str, Any]:
    value = y if np.isfinite(y) else None
    ledger = {"generated": 2 * x, "forward": x, "backward": x, "backward_drawn": 1.5 * x, "draws": step}
    point = {"run": spec.run_id, "step": step, "phase": "eval", "metric": metric, "value": value, "sd": sd, "n": n}
    return {**point, **ledger, "diagnostics": dict(d), "wall_s": float(step)}


@pytest.fixture
def sweep(tmp_path: Path) -> SweepWriter:
    path = tmp_path / "runs"
    path.mkdir()
    return SweepWriter(path)


@pytest.fixture(scope="session")
def sweep_writer() -> type[SweepWriter]:
    """For fixtures that outlive one test."""
    return SweepWriter


@pytest.fixture(scope="session")
def racers() -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """(tokens, values) of a run that learns `rate` times as fast as rate 1: every level costs 1/rate of its tokens."""

    def racer(
        rate: float = 1.0, noise: float = 0.0, seed: int = 0, budget: float = 1e6, points: int = 21, top: float = 0.65
    ) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        tokens = np.linspace(0, budget, points)
        values = 0.4 + (top - 0.4) * -np.expm1(-4 * rate * tokens / 1e6)
        values[1:] += rng.normal(0, noise, points - 1) if noise else 0.0
        return tokens, values

    return racer
