"""What a user sees of long work."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from faults import ROOT

from bench import meter
from bench.pool import Job
from bench.progress import Progress
from bench.rundir import RunDir, Status


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1000, "1k"), (3_140_000, "3.14M"), (999_600, "1M"), (2e9, "2G"), (7.5e12, "7.5T")],
)
def test_counts_have_three_digits(number: float, text: str) -> None:
    assert meter.si(number) == text


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (61, "1:01"), (3600 + 62, "1:01:02")])
def test_clock(seconds: float, text: str) -> None:
    assert meter.clock(seconds) == text


def test_pace_is_rate_and_time_left() -> None:
    assert meter.pace(5000, elapsed=10, done=2, total=8) == "500/s, 0:30 left"
    assert meter.pace(0, elapsed=10, done=0, total=8) == "0/s, time left unknown"


def recorded(path: Path, backward: float, budget: float | None = None) -> Job:
    path.mkdir()
    run = RunDir(path)
    run.write_status(Status("running", budget=budget))
    run.points_file.write_text(json.dumps({"backward": backward}) + "\n" + '{"backward": 9')
    return Job(path)


def test_progress_is_read_from_the_records(tmp_path: Path) -> None:
    done, half = recorded(tmp_path / "done", 3000.0), recorded(tmp_path / "half", 500.0, budget=1000.0)
    seen: list[tuple[float, str]] = []

    class Seen(meter.Display):
        def show(self, done: float, line: str) -> None:
            seen.append((done, line))

    progress = Progress(Seen(7), 5, [done, half])
    progress.tick([done, half])
    progress.done(done)
    share, line = seen[-1]
    assert share == 6.5
    assert line.startswith("6/7 runs, 3.5k backward tokens, ")
    assert line.endswith(" left")


WORK = """
import time
from bench import meter
meter.SHOW_AFTER_S, meter.LINE_EVERY_S = 0.0, 0.1
with meter.meter("reading", 100, "lines") as advance:
    for _ in range(5):
        time.sleep(0.06)
        advance(20)
"""


def test_off_a_terminal_a_line_now_and_then() -> None:
    done = subprocess.run([sys.executable, "-c", WORK], cwd=ROOT, capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    assert 1 <= len(lines) < 5
    assert lines[0].startswith("reading: ")
    assert "of 100 lines" in lines[0]
    assert "\x1b" not in done.stderr


def test_on_a_terminal_a_bar() -> None:
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", WORK], cwd=ROOT, stderr=theirs, check=True, timeout=30)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "━" in shown
    assert "of 100 lines" in shown
