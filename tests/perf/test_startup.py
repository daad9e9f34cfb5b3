"""How long a user waits for the command to say something."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("words", [["--help"], ["list"]], ids=lambda words: words[0])
def test_startup(benchmark: BenchmarkFixture, words: list[str]) -> None:
    """Aimed at: `--help` under 0.3 s, `list` under 1 s."""

    def command() -> int:
        done = subprocess.run([sys.executable, "-m", "bench.cli", *words], cwd=ROOT, capture_output=True, check=True)
        return len(done.stdout)

    assert benchmark.pedantic(command, rounds=5, warmup_rounds=1) > 0
