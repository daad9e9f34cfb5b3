"""Logs for the tests of replay."""

import json

import pytest


@pytest.fixture
def write(tmp_path):
    """Writes records (or raw lines) to a file, one a line, and returns its path."""

    def to(name, records):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return path

    return to
