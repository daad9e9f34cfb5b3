"""`costaware leaderboard` from the outside."""

from __future__ import annotations

import json
import signal
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.cli import main

Racers = Callable[..., tuple[np.ndarray, np.ndarray]]


def run(*args: str | Path) -> int | str | None:
    with pytest.raises(SystemExit) as left:
        main([str(arg) for arg in args])
    return left.value.code


def test_writes_the_site(sweep: Any, racers: Racers, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for method in ("none", "fast"):
        sweep.run(method, *racers(1.0))
    assert run("leaderboard", sweep.write(), "--out", tmp_path / "site") == 0
    assert "2 rows from 2 of 2 runs" in capsys.readouterr().out
    names = {path.name for path in (tmp_path / "site").iterdir()}
    files = {"index.html", "leaderboard.json", "leaderboard.csv", "runs.csv", "points.parquet"}
    assert names == files | {"figures", "tasks", "cells", "assets"}


def test_json_goes_to_stdout_alone(sweep: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep.planned("none")
    assert run("leaderboard", sweep.write(), "--out", tmp_path / "site", "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["method"] == "none"


@pytest.mark.parametrize("made", [True, False])
def test_a_directory_without_records_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], made: bool
) -> None:
    where = tmp_path / "nothing"
    if made:
        where.mkdir()
    assert run("leaderboard", where, "--out", tmp_path / "site") == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("costaware: error:")
    assert str(where) in error
    assert not (tmp_path / "site").exists()


def test_serve_shows_the_site_until_interrupted(
    sweep: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep.planned("none")
    pages = []

    def read(url: str) -> None:
        def ask() -> None:
            try:
                with urllib.request.urlopen(url, timeout=60) as answer:
                    pages.append(answer.read())
            finally:
                signal.raise_signal(signal.SIGINT)

        threading.Thread(target=ask).start()

    monkeypatch.setattr("webbrowser.open", read)
    assert run("leaderboard", sweep.write(), "--out", tmp_path / "site", "--serve") == 0
    assert pages == [(tmp_path / "site" / "index.html").read_bytes()]
    assert "http://127.0.0.1:" in capsys.readouterr().out
