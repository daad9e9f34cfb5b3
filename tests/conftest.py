"""What the tests share: the optional parts of the machine, each with a reason where it is missing.

COSTAWARE_NO_SKIP (comma-separated, e.g. `verl,shared_data`) turns those skips into failures: continuous integration
sets it, so that a broken installation can't pass as a skip.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED_DATA = ROOT.parent / "shared" / "data"
NEEDS = {
    "verl": (
        lambda: importlib.util.find_spec("verl") is not None,
        "verl is not installed: install costaware-bench[verl]",
    ),
    "shared_data": (SHARED_DATA.is_dir, "the rollout logs of ../shared/data are not on this machine"),
}


def pytest_configure(config: pytest.Config) -> None:
    for name, (_, reason) in NEEDS.items():
        config.addinivalue_line("markers", f"{name}: skipped where {reason}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    required = set(filter(None, os.environ.get("COSTAWARE_NO_SKIP", "").split(",")))
    if unknown := required - set(NEEDS):
        raise pytest.UsageError(f"COSTAWARE_NO_SKIP names {sorted(unknown)}; known: {sorted(NEEDS)}")
    for name, (present, reason) in NEEDS.items():
        if not present():
            for item in items:
                if item.get_closest_marker(name):
                    if name in required:
                        raise pytest.UsageError(f"{reason}, and COSTAWARE_NO_SKIP asks for its tests")
                    item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def shared_data() -> Path:
    """The folder of real rollout logs; mark the test with `@pytest.mark.shared_data`."""
    return SHARED_DATA
