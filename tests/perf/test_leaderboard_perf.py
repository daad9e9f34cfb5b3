"""Reading 10,000 runs of 100 points and comparing them, against reading the same lines one by one into dicts.

    python -m pytest tests/perf/test_leaderboard_perf.py -s

Aimed at: records and rows in 10 s and 1.5 GiB on two cores, half of what a whole site may take. Figures depend on the
machine and on what else it does: none is asserted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from many_records import write
from pytest_benchmark.fixture import BenchmarkFixture

from bench.records import load

ROOT = Path(__file__).parents[2]
WHOLE = """
import resource, sys, time
from bench.records import load
from leaderboard.board import board
begun = time.perf_counter()
records = load([sys.argv[1]])
read = time.perf_counter()
rows = board(records).rows
print(len(rows), read - begun, time.perf_counter() - read, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("many"))


def line_by_line(directory: Path) -> pd.DataFrame:
    """Every line of every points.jsonl as a dict, then a table: the plain way."""
    files = sorted(directory.glob("*/points.jsonl"))
    return pd.DataFrame([json.loads(line) for file in files for line in file.read_text().splitlines()])


def test_reading(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """A tenth of the runs, both ways in one process, by its CPU time."""
    directory = write(tmp_path, tasks=2)
    begun = time.process_time()
    plain = line_by_line(directory)
    once = time.process_time() - begun
    spent: list[float] = []

    def timed() -> int:
        begun = time.process_time()
        points = load([directory]).points
        spent.append(time.process_time() - begun)
        return len(points)

    assert benchmark.pedantic(timed, rounds=3, warmup_rounds=1) == len(plain)
    ours = min(spent)
    print(f"\n{len(plain):,} points: {ours:.2f} CPU-s with specs and statuses, plain points {once / ours:.1f}x that")


def test_ten_thousand_runs(benchmark: BenchmarkFixture, many: Path) -> None:
    """In a process of its own, so that its memory is its own."""

    def command() -> str:
        words = [sys.executable, "-c", WHOLE, str(many)]
        return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    rows, read, compared, memory = map(float, benchmark.pedantic(command, rounds=1).split())
    assert rows == 500
    print(f"\n10,000 runs x 100 points: read in {read:.1f} s, {rows:.0f} rows in {compared:.1f} s, {memory:.2f} GiB")
