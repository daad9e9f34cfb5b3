"""What changed between two boards: planted changes are found, noise is called noise, and what can't be told says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bench.cli import main
from leaderboard.board import Board, board
from leaderboard.diff import Change, changes, table

Racers = Callable[..., tuple[np.ndarray, np.ndarray]]
Make = Callable[..., Any]


@pytest.fixture
def make(sweep: Any, racers: Racers, tmp_path: Path) -> Make:
    """A sweep of its own directory: method -> rate, with a little noise that `salt` decides."""

    def made(name: str, salt: int = 0, seeds: range = range(6), noise: float = 0.005, **rates: float) -> Any:
        path = tmp_path / name
        path.mkdir()
        writer = type(sweep)(path)
        for seed in seeds:
            for i, (method, rate) in enumerate({"none": 1.0, **rates}.items()):
                writer.run(method, *racers(rate, noise=noise, seed=1000 * salt + 100 * i + seed), seed=seed)
        return writer

    return made


def compare(before: Any, after: Any) -> dict[str, Change]:
    boards: list[Board] = [board(writer.records()) for writer in (before, after)]
    return {change.method: change for change in changes(*boards)}


def test_a_board_against_itself_is_the_same(make: Make) -> None:
    runs = make("a", fast=1.5)
    found = compare(runs, runs)
    assert {change.kind for change in found.values()} == {"same"}
    assert table(list(found.values())) == "2 same"


def test_a_planted_change_is_found_and_noise_is_not(make: Make) -> None:
    found = compare(make("a", better=1.25, steady=1.5), make("b", salt=1, better=2.0, steady=1.5))
    assert found["none"].kind == "same"
    better, steady = found["better"], found["steady"]
    assert (better.kind, steady.kind) == ("moved", "within noise")
    assert better.cost == pytest.approx(1.25 / 2.0 - 1, abs=0.05)  # it needs 1 / 2 where it needed 1 / 1.25
    assert better.cost_low is not None
    assert better.cost_high is not None
    assert better.cost_low < better.cost < better.cost_high < 0
    assert steady.cost_low is not None
    assert steady.cost_high is not None
    assert steady.cost_low < 0 < steady.cost_high


def test_same_seeds_are_paired_and_others_are_welchs(make: Make) -> None:
    paired = compare(make("a", fast=1.4), make("b", salt=1, fast=1.5))["fast"]
    unpaired = compare(make("c", fast=1.4), make("d", salt=1, seeds=range(6, 15), fast=1.5))["fast"]
    assert paired.before is not None
    assert unpaired.after is not None
    assert (unpaired.before and unpaired.before.replicates, unpaired.after.replicates) == (6, 9)
    for change in (paired, unpaired):
        old, new = (np.log1p(-np.array([row.saving])) for row in (change.before, change.after) if row)
        assert change.cost == pytest.approx(float(np.expm1(new - old)[0]))
        assert change.p is not None
        assert 0 < change.p < 1
        assert change.p_adjusted == change.p  # the only comparison of its board


def test_welch_is_the_textbooks(make: Make) -> None:
    before, after = make("a", fast=1.4), make("b", salt=1, seeds=range(6, 15), fast=1.5)
    boards = [board(writer.records()) for writer in (before, after)]
    a, b = (made.races["verl/grpo@tiny", "acc"].ratios()["fast", 0].per_replicate for made in boards)
    change = next(change for change in changes(*boards) if change.method == "fast")
    assert change.p == pytest.approx(stats.ttest_ind(b, a, equal_var=False).pvalue)


def test_new_gone_and_changed_states(make: Make, racers: Racers) -> None:
    before, after = make("a", fast=1.5, old=1.1), make("b", fast=1.5)
    before.planned("late")
    after.run("late", *racers(1.2))
    before.run("torn", state="timeout", why="60 s were not enough")
    after.run("torn", state="failed", why="ValueError: no")
    after.run("fresh", *racers(1.2))
    found = compare(before, after)
    assert {method: change.kind for method, change in found.items()} == {
        "none": "same",
        "fast": "same",
        "old": "gone",
        "fresh": "new",
        "late": "state",
        "torn": "state",
    }
    text = table(list(found.values()))
    assert "0 of 1 -> 1 of 1" in text
    assert text.endswith("2 state, 1 new, 1 gone, 2 same")


def test_one_seed_and_bounds_can_not_be_told(make: Make, racers: Racers) -> None:
    one = compare(make("a", seeds=range(1), fast=1.5), make("b", salt=1, seeds=range(1), fast=2.0))["fast"]
    assert (one.kind, one.p) == ("can't be told", None)
    before, after = make("c", fast=1.5), make("d")
    for seed in range(6):
        after.run("fast", *racers(3.0, top=0.5, seed=seed), seed=seed)
    bound = compare(before, after)["fast"]
    assert (bound.kind, bound.cost_low) == ("can't be told", None)


def test_all_comparisons_are_one_family(make: Make) -> None:
    rates = {f"m{i}": 1.2 + 0.1 * i for i in range(5)}
    found = compare(make("a", **rates), make("b", salt=1, **rates))
    p = np.array([change.p for change in found.values() if change.p is not None])
    adjusted = np.array([change.p_adjusted for change in found.values() if change.p_adjusted is not None])
    assert len(p) == 5
    assert adjusted.min() == pytest.approx(min(1.0, 5 * p.min()))


def run(*args: str | Path) -> int | str | None:
    with pytest.raises(SystemExit) as left:
        main([str(arg) for arg in args])
    return left.value.code


def test_the_command_prints_a_table_or_json(make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = make("a", fast=1.25).write(), make("b", salt=1, fast=2.0).write()
    assert run("leaderboard", before, after, "--diff") == 0
    out = capsys.readouterr().out
    assert f"{before} -> {after}" in out
    assert "moved (p < 0.001)" in out
    assert run("leaderboard", before, after, "--diff", "--json") == 0
    tree = json.loads(capsys.readouterr().out)
    moved = tree["changes"][0]
    assert (moved["method"], moved["kind"]) == ("fast", "moved")
    assert moved["after"]["saving"] > moved["before"]["saving"]
    assert not (tmp_path / "site").exists()


def test_two_boards_are_asked_for(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("leaderboard", make("a").write(), "--diff") == 2
    assert "compares two boards, 1 given" in capsys.readouterr().err
