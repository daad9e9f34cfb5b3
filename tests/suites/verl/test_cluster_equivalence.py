"""On the same rollouts, model and draw, an update by verl's own engine is one by the in-process engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.verl, pytest.mark.xdist_group("equivalence")]
ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(__file__).with_name("one_update.py")
CASES = ("grpo/none/1", "grpo/pstar/1", "cispo/none/1", "cispo/pps:draws=0.5/2")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What both engines made of each case."""
    from suites.verl.cluster.cpu import ENVIRONMENT

    here = tmp_path_factory.mktemp("equivalence")
    alone = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    meeting = {"DIST_INIT_METHOD": f"file://{here / 'store'}", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    words = [sys.executable, str(PROGRAM), str(here / "model"), *CASES]
    done = subprocess.run(words, env=os.environ | ENVIRONMENT | alone | meeting, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return dict(zip(CASES, lines, strict=True))


@pytest.mark.parametrize("case", CASES)
def test_one_update_is_the_same(case: str, found: dict[str, dict[str, Any]]) -> None:
    update = found[case]
    assert update["moved"] > 0.01
    assert update["apart"] < 1e-3  # of what the update moved; float32, summed in another order
    assert update["fed"] == update["ledger"]  # the actor's own input
    assert update["fillers"] < 0.01 * update["fed"]
    assert update["drawn"] == (64 if "draws" in case else 128)
