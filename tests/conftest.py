"""What the tests share: the optional parts of the machine, each with a reason where it is missing.

COSTAWARE_NO_SKIP (comma-separated, e.g. `verl,shared_data`) makes a missing part an error: continuous integration sets
it, so that a broken installation can't pass as a skip. `--run-slow` adds the tests that take minutes.
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED_DATA = ROOT.parent / "shared" / "data"


def _imports(name: str) -> Callable[[], bool]:
    def present() -> bool:
        try:
            importlib.import_module(name)
        except ImportError:
            return False
        return True

    return present


def _programs(*names: str) -> Callable[[], bool]:
    """Whether all of these are installed; Debian keeps daemons outside of a user's PATH."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    return lambda: all(shutil.which(name, path=path) for name in names)


PARTS = {
    "verl": (_imports("verl"), "verl is not installed: install costaware-bench[verl]"),
    "slurm": (
        _programs("slurmctld", "slurmd", "sbatch", "munged"),
        "Slurm is not installed: apt install slurmctld slurmd slurm-client munge",
    ),
    "slurm_accounts": (
        _programs("slurmdbd", "mariadbd"),
        "Slurm's accounting is not installed: apt install slurmdbd mariadb-server-core mariadb-client-core",
    ),
    "browser": (_programs("chromium"), "Chromium is not installed: apt install chromium"),
    "shared_data": (SHARED_DATA.is_dir, "the rollout logs of ../shared/data are not on this machine"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--run-slow", action="store_true", help="also run the tests marked slow: minutes each")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if not getattr(config.option, "numprocesses", None):
        config.option.dist = "no"  # pytest-benchmark takes addopts' --dist for several processes and measures nothing
    # A shell that starts us in the background has Ctrl-C ignored, and the programs that tests interrupt inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "slow: takes minutes; run with --run-slow")
    for name, (_, reason) in PARTS.items():
        config.addinivalue_line("markers", f"{name}: skipped where {reason}")
    for name in filter(None, os.environ.get("COSTAWARE_NO_SKIP", "").split(",")):
        if name not in PARTS:
            raise pytest.UsageError(f"COSTAWARE_NO_SKIP names {name!r}; known: {sorted(PARTS)}")
        present, reason = PARTS[name]
        if not present():
            raise pytest.UsageError(f"COSTAWARE_NO_SKIP asks for the tests of {name}, but {reason}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--run-slow"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="takes minutes: --run-slow"))
    for name, (present, reason) in PARTS.items():
        marked = [item for item in items if item.get_closest_marker(name)]
        if marked and not present():
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def shared_data() -> Path:
    """The folder of real rollout logs; mark the test with `@pytest.mark.shared_data`."""
    return SHARED_DATA
