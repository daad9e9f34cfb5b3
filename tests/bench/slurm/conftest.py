"""A fake cluster for the whole session, and what the tests on it share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_cluster import FakeCluster
from munged import munge


def _started(factory: pytest.TempPathFactory, name: str, **options: object) -> Iterator[FakeCluster]:
    if os.geteuid() != 0:
        assert "slurm" not in os.environ.get("COSTAWARE_NO_SKIP", ""), "a fake cluster needs root"
        pytest.skip("a fake cluster needs root")
    with munge():
        made = FakeCluster(factory.mktemp(name) / "c", **options)  # type: ignore[arg-type]
        try:
            made.start()
            yield made
        finally:
            made.stop()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeCluster]:
    """Two nodes, no accounting: squeue and scontrol know all that there is to know."""
    yield from _started(tmp_path_factory, "slurm")


@pytest.fixture(scope="session")
def accounting_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeCluster]:
    """Two nodes with slurmdbd, and a quality of service `small` of four jobs a user."""
    yield from _started(tmp_path_factory, "accounts", accounts=True)


@pytest.fixture(scope="session")
def small_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeCluster]:
    """Two nodes, and room for twenty jobs."""
    yield from _started(tmp_path_factory, "small", max_jobs=20)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where sweeps go."""
    return tmp_path / "out"


@pytest.fixture(autouse=True)
def _nothing_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test leaves on its cluster, jobs or a node that was taken out, must not keep the next one waiting."""
    yield
    for name in {"cluster", "accounting_cluster", "small_cluster"} & set(request.fixturenames):
        request.getfixturevalue(name).clear()
