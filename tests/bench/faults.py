"""Helpers of these tests: the command in a real process, and strategies that misbehave."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from bench import records

ROOT = Path(__file__).parents[2]
TASK = "replay/synthetic"  # the quickest: it does not load torch
SYNTHETIC = """
name = "synthetic/least-squares"
settings = { n = 100, dim = 2, trials = 8 }
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}

PLUGIN = """
import os, signal, sys, time
from dataclasses import dataclass
import numpy as np
from strategies import IIDStrategy, register

@register("{name}")
@dataclass(frozen=True)
class Misbehaved(IIDStrategy):
    "Uniform, after it did something else."
    reads_norms = False

    def probabilities(self, pool):
        {act}
        return np.full(len(pool), 1 / len(pool))
"""


def costaware(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    command = [sys.executable, "-m", "bench.cli", *map(str, words)]
    options = {"capture_output": True, "text": True, "timeout": 300, "env": ENVIRONMENT, "cwd": ROOT} | options
    return subprocess.run(command, check=False, **options)


def started(*words: str | Path) -> subprocess.Popen[bytes]:
    """Start the command in a process group of its own, so that a test can end it with all that belongs to it."""
    command = [sys.executable, "-m", "bench.cli", *map(str, words)]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, env=ENVIRONMENT, cwd=ROOT, stdout=quiet, stderr=quiet, start_new_session=True)


def plugin(folder: Path, name: str, act: str) -> Path:
    """A strategy file whose strategy does `act` before it answers."""
    file = folder / f"{name}.py"
    file.write_text(PLUGIN.format(name=name, act=act))
    return file


def sweep_file(folder: Path, methods: list[str], seeds: int = 1, task: str = f"name = {TASK!r}") -> Path:
    """`small.toml`: a sweep of one task; `task` is what its table holds."""
    file = folder / "small.toml"
    head = f'title = "small"\nseeds = {seeds}\nmethods = {methods!r}\nbaseline = "uniform"\n'
    file.write_text(f"{head}[[tasks]]\n{task}\n")
    return file


def tables(directory: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Points and runs without what may differ between two executions."""
    found = records.load([directory])
    points = found.points.drop(columns="wall_s").sort_values(["run", "metric", "step"], ignore_index=True)
    runs = found.runs.drop(columns=["dir", "attempts", "wall_s", "git", "versions"]).sort_values(
        "run", ignore_index=True
    )
    return points, runs
