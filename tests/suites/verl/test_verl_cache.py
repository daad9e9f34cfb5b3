from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from suites.verl.cache import cached, fingerprint, untrained  # noqa: E402
from suites.verl.places import cache_dir  # noqa: E402
from suites.verl.settings import SMALL, TINY  # noqa: E402
from suites.verl.warmstart import train  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
WORKER = """
import sys, time
from pathlib import Path
from suites.verl.cache import cached, untrained
from suites.verl.settings import TINY

def train():
    with Path(sys.argv[1]).open("a") as log:
        log.write("trained\\\\n")
    time.sleep(1)
    return untrained(TINY)

print(float(cached("raced", TINY, train).embedding.sum()))
"""


def test_workers_that_start_together_train_once(tmp_path: Path) -> None:
    environment = os.environ | {"COSTAWARE_CACHE": str(tmp_path / "cache")}
    log = tmp_path / "log"
    command = [sys.executable, "-c", WORKER.replace("\\\\n", "\\n"), str(log)]
    workers = [
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    weights = {worker.communicate()[0] for worker in workers}
    assert log.read_text().count("trained") == 1
    assert len(weights) == 1
    assert not list((tmp_path / "cache").glob("*.part"))


def test_name_follows_the_content() -> None:
    names = {fingerprint(world) for world in (TINY, SMALL, replace(TINY, warm_start=SMALL.warm_start))}
    assert len(names) == 3
    assert fingerprint(TINY) == fingerprint(replace(TINY))
    assert fingerprint(TINY, {"budget": 1}) != fingerprint(TINY)


def test_cache_lies_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_dir() != tmp_path / "costaware"  # the session's own comes first
    monkeypatch.delenv("COSTAWARE_CACHE")
    assert cache_dir() == tmp_path / "costaware"


def test_training_is_deterministic_and_leaves_the_global_generator_alone() -> None:
    short = replace(TINY, warm_start=replace(TINY.warm_start, steps=5))
    torch.manual_seed(3)
    before = torch.get_rng_state()
    one, other = train(short), train(short)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_a_cached_policy_is_not_trained_again() -> None:
    def refuse() -> None:
        raise AssertionError("trained again")

    first = cached("once", TINY, lambda: untrained(TINY))
    again = cached("once", TINY, refuse)
    assert torch.equal(first.embedding, again.embedding)
