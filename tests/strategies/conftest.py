"""Hypothesis examples are the same in every run; plugins that a test loads are gone after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from strategies import registry

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("repeatable")


@pytest.fixture
def plugins() -> Iterator[None]:
    """A registry that forgets what the test registers."""
    registry.entries()  # built-ins first
    kept = dict(registry._entries), dict(registry._plugins)
    yield
    registry._entries.clear()
    registry._entries.update(kept[0])
    registry._plugins.clear()
    registry._plugins.update(kept[1])
