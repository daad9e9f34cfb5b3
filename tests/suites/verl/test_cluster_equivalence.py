"""On the same rollouts, model and draw, an update by verl's own engine is one by the in-process engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(__file__).with_name("one_update.py")


@pytest.mark.verl
@pytest.mark.parametrize(
    ("loss", "method", "ranks"),
    [("grpo", "none", 1), ("grpo", "pstar", 1), ("cispo", "none", 1), ("cispo", "pps:draws=0.5", 2)],
)
def test_one_update_is_the_same(loss: str, method: str, ranks: int, tmp_path: Path) -> None:
    from suites.verl.cluster.cpu import ENVIRONMENT

    alone = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    meeting = {"DIST_INIT_METHOD": f"file://{tmp_path / 'store'}", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    words = [sys.executable, str(PROGRAM), str(tmp_path / "model"), loss, method, str(ranks)]
    done = subprocess.run(words, env=os.environ | ENVIRONMENT | alone | meeting, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["moved"] > 0.01
    assert found["apart"] < 1e-3  # of what the update moved; float32, summed in another order
    assert found["fed"] == found["ledger"]  # the actor's own input
    assert found["fillers"] < 0.01 * found["fed"]
    assert found["drawn"] == (64 if "draws" in method else 128)
