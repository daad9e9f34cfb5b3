"""Reading 10,000 runs of 100 points and comparing them, against reading the same lines one by one into dicts.

    python -m pytest tests/perf/test_leaderboard_perf.py -s

Aimed at: records and figures of the statistics in 15 s and 1.5 GiB. Figures depend on the machine and on what else it
does: none is asserted.
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
begun = time.process_time()
records = load([sys.argv[1]])
read = time.process_time()
rows = board(records).rows
print(len(rows), read - begun, time.process_time() - read, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("many"))


def line_by_line(directory: Path) -> pd.DataFrame:
    """Every line of every points.jsonl as a dict, then a table: the plain way."""
    files = sorted(directory.glob("*/points.jsonl"))
    return pd.DataFrame([json.loads(line) for file in files for line in file.read_text().splitlines()])


def test_reading(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """A tenth of the runs, both ways in one process."""
    directory = write(tmp_path, tasks=2)
    begun = time.process_time()
    plain = line_by_line(directory)
    once = time.process_time() - begun
    records = benchmark.pedantic(load, args=([directory],), rounds=3, warmup_rounds=1)
    assert len(records.points) == len(plain)
    ours = benchmark.stats.stats.median
    print(f"\n{len(plain):,} points: {ours:.2f} s with specs and statuses, {once / ours:.1f}x as fast as plain points")


def test_ten_thousand_runs(benchmark: BenchmarkFixture, many: Path) -> None:
    """In a process of its own, so that its memory is its own."""

    def command() -> str:
        words = [sys.executable, "-c", WHOLE, str(many)]
        return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    rows, read, compared, memory = map(float, benchmark.pedantic(command, rounds=1).split())
    assert rows == 500
    print(f"\n10,000 runs x 100 points: read in {read:.1f} s, {rows:.0f} rows in {compared:.1f} s, {memory:.2f} GiB")
