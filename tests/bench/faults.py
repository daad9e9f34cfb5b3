"""Helpers of these tests: the command in a real process, and strategies that misbehave."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(os.environ.get("DT", Path(__file__).parents[2]))
TASK = "synthetic/least-squares"
SMALL = {"n": 200, "dim": 4, "trials": 20}  # a run takes some 10 ms once torch is loaded
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
    options = {"capture_output": True, "text": True, "timeout": 120, "env": ENVIRONMENT, "cwd": ROOT} | options
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


def sweep_file(folder: Path, methods: list[str], seeds: int = 1, extra: str = "", name: str = "small") -> Path:
    """A sweep of one small synthetic task; `extra` joins the task's table."""
    settings = ", ".join(f"{key} = {value}" for key, value in SMALL.items())
    file = folder / f"{name}.toml"
    file.write_text(
        f'title = "small"\nseeds = {seeds}\nmethods = {methods!r}\nbaseline = "uniform"\n'
        f'[[tasks]]\nname = "{TASK}"\nsettings = {{ {settings} }}\n{extra}\n'
    )
    return file
