"""Packs: a board made of one is the board of the directories, and what a pack can't hold is refused."""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bench.cli import main
from bench.records import load
from bench.rundir import Status
from leaderboard.board import board
from leaderboard.reference import expand, pack, packs

DOWN = {"excess_error": {"direction": "down", "scale": "log"}}
Racers = Callable[..., tuple[np.ndarray, np.ndarray]]


def run(*args: str | Path) -> int | str | None:
    with pytest.raises(SystemExit) as left:
        main([str(arg) for arg in args])
    return left.value.code


@pytest.fixture
def raced(sweep: Any, racers: Racers) -> Any:
    for seed in range(3):
        for i, (method, rate) in enumerate({"none": 1.0, "fast": 2.0}.items()):
            tokens, values = racers(rate, noise=0.01, seed=10 * i + seed)
            values[7] = np.nan
            sweep.run(method, tokens, values, seed=seed, diagnostics={"J": 1 / rate, "chi2": None})
    sweep.run("broken", state="failed", why="ValueError: no")
    sweep.planned("late")
    return sweep


def crossings(rate: float, seed: int, trials: int = 60) -> pd.DataFrame:
    """Costs of `trials` trials at levels 1, 10^-1/20, ...; the hardest are out of reach, the easiest is free."""
    level = 10 ** (-np.arange(0, 50) / 20.0)
    cost = np.exp(np.random.default_rng(seed).normal(0, 0.3, trials))[:, None] / rate / level
    cost[:, 45:], cost[:, 0] = np.nan, 0.0
    columns = {"level": np.tile(level, trials), "trial": np.repeat(np.arange(trials, dtype=np.int32), len(level))}
    return pd.DataFrame({"metric": "excess_error", **columns, "cost": cost.ravel(), "iterations": cost.ravel() / 7})


def test_a_pack_gives_the_same_records_and_rows(raced: Any, tmp_path: Path) -> None:
    directory = raced.write()
    made = board(load([directory]))
    size = pack(made, tmp_path / "raced.zip")
    assert size == (tmp_path / "raced.zip").stat().st_size < 100_000
    again = board(load([tmp_path / "raced.zip"]))
    assert [row.to_json() for row in again.rows] == [row.to_json() for row in made.rows]
    pd.testing.assert_frame_equal(again.records.points, made.records.points)
    left, right = (made.records.runs.drop(columns="dir") for made in (made, again))
    pd.testing.assert_frame_equal(left, right)
    assert again.records.runs["dir"].isna().all()
    assert again.records.baselines == made.records.baselines


def test_packing_twice_gives_the_same_bytes(raced: Any, tmp_path: Path) -> None:
    made = board(load([raced.write()]))
    pack(made, tmp_path / "a.zip")
    pack(board(load([tmp_path / "a.zip"])), tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_trials_are_kept_at_the_boards_levels(sweep: Any, tmp_path: Path) -> None:
    tokens = np.geomspace(1, 20, 30)
    for i, (method, rate) in enumerate({"uniform": 1.0, "pstar": 1.25}.items()):
        where = {"task": "synthetic/x", "metrics": DOWN, "n": 60, "sd": 0.1, "trials": crossings(rate, i)}
        sweep.run(method, tokens, 1 / rate / tokens, **where)
    made = board(load([sweep.write({"synthetic/x": "uniform"})]))
    pack(made, tmp_path / "x.zip")
    again = board(load([tmp_path / "x.zip"]))
    for before, after in zip(made.rows, again.rows, strict=True):
        # rounding has an sd of 0.3% a trial and arm, and is the same at every level: 4 sd over 60 pairs
        assert (before.replicates, before.levels_compared, before.dropped) == (60, after.levels_compared, after.dropped)
        for name in ("saving", "saving_low", "saving_high"):
            assert getattr(after, name) == pytest.approx(getattr(before, name), abs=4 * 0.003 * np.sqrt(2 / 60))
    trials = again.records.trials(again.rows[1].runs[0])
    assert trials is not None
    assert trials["level"].nunique() == 15


def test_a_pack_holds_no_trace_of_the_machine(raced: Any, tmp_path: Path) -> None:
    found = raced.run("pstar", [0, 1], [0.1, 0.2])
    git = {"commit": "c0ffee", "dirty": False, "root": "/secret/place"}
    metrics = {"acc": {"direction": "up", "scale": "linear"}}
    found.write_status(Status("ok", host="secret-host", started="2026-01-01", git=git, metrics=metrics))
    pack(board(load([raced.write()])), tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        text = archive.read("pack.json").decode()
        assert {info.date_time[0] for info in archive.infolist()} == {1980}
    assert "secret" not in text
    assert str(tmp_path) not in text
    packed = load([tmp_path / "x.zip"]).runs.set_index("method").loc["pstar"]
    assert packed["git"] == {"commit": "c0ffee", "dirty": False}
    assert packed["command"] == "costaware run verl/grpo@tiny --strategy pstar --seed 0"


def test_packs_and_directories_mix_and_a_finished_run_is_preferred(raced: Any, racers: Racers, tmp_path: Path) -> None:
    pack(board(load([raced.write()])), tmp_path / "x.zip")
    other = type(raced)(tmp_path / "other")
    other.path.mkdir()
    other.run("broken", *racers(1.5))
    other.run("fast", *racers(2.0), seed=7)
    with pytest.warns(UserWarning, match=r"1 run is in .*x\.zip and .*other: kept once"):
        found = load([tmp_path / "x.zip", other.write()]).runs
    states = found.groupby("method", sort=False)["state"].agg(list).to_dict()
    assert states["broken"] == ["ok"]
    assert len(states["fast"]) == 4


def test_runs_that_are_under_way_are_not_packed(raced: Any, tmp_path: Path) -> None:
    found = raced.run("pstar", [0, 1], [0.1, 0.2])
    found.write_status(Status("running"))
    with found.lock():
        assert run("leaderboard", raced.write(), "--pack", tmp_path / "x.zip") == 2
    assert not (tmp_path / "x.zip").exists()


def test_the_command_makes_and_reads_packs(raced: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("leaderboard", raced.write(), "--pack", tmp_path / "x.zip") == 0
    assert "8 runs in" in capsys.readouterr().out
    assert run("leaderboard", tmp_path / "x.zip", "--out", tmp_path / "site", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["method"] for row in rows} == {"none", "fast", "broken", "late"}
    assert (tmp_path / "site" / "index.html").is_file()


def test_warnings_are_lines_like_errors(raced: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pack(board(load([raced.write()])), tmp_path / "x.zip")
    other = raced.write({"verl/grpo@tiny": "fast"})
    assert run("leaderboard", tmp_path / "x.zip", other, "--out", tmp_path / "site") == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    assert lines == [
        "costaware: warning: verl/grpo@tiny: two baselines are named, none and fast; compared with none",
        f"costaware: warning: 8 runs are in {tmp_path / 'x.zip'} and {other}: kept once",
    ]


@pytest.mark.parametrize("content", [b"no archive", b""])
def test_another_file_is_one_clear_line(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.zip"
    file.write_bytes(content)
    assert run("leaderboard", file, "--out", tmp_path / "site") == 2
    assert "neither a directory of runs nor a pack" in capsys.readouterr().err


def test_reference_stands_for_the_packs_that_ship(tmp_path: Path) -> None:
    assert expand([tmp_path, Path("@reference")]) == [tmp_path, *packs()]


def test_the_results_that_ship_are_whole() -> None:
    made = board(load(expand([Path("@reference")])))
    runs = made.records.runs
    assert set(runs["state"]) == {"ok"}
    assert {path.stem for path in packs()} >= {"race", "synthetic-paper"}
    assert sum(path.stat().st_size for path in packs()) < 2e6
    assert all(git["commit"] and git["dirty"] is False for git in runs["git"])
    assert all(command.startswith("costaware run ") for command in runs["command"])
    assert all(spec.run_id == run for run, (spec, _) in made.records.sources.items())
    race = board(load([path for path in packs() if path.stem == "race"]))
    raced = [row for row in race.rows if not row.is_baseline]
    assert min(row.seeds for row in raced) >= 5
    assert {row.aa for row in raced} == {True, False}
    assert all(row.saving_low is not None for row in raced)


def test_packs_may_share_runs_without_a_word(raced: Any, tmp_path: Path) -> None:
    made = board(load([raced.write()]))
    for name in ("a.zip", "b.zip"):
        pack(made, tmp_path / name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(load([tmp_path / "a.zip", tmp_path / "b.zip"]).runs) == 8
