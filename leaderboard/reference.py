"""The results that ship: packs in `leaderboard/reference/`, one a sweep, and how a board becomes one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path

import pandas as pd

from leaderboard.board import Board
from leaderboard.race import Race, trial_costs

NAME = "@reference"


def expand(sources: Iterable[Path]) -> list[Path]:
    """The sources with `@reference` replaced by the packs that ship."""
    return [path for source in sources for path in (packs() if str(source) == NAME else [source])]


def packs() -> list[Path]:
    """Every pack of the package, by name."""
    return sorted(Path(str(files("leaderboard"))).glob("reference/*.zip"))


def pack(board: Board, path: Path) -> int:
    """Write all that this board stands on into one file that `costaware leaderboard` reads; returns its bytes.

    Trials are kept at the 15 levels of each race: read back, the pack gives the same rows, but for the rounding of
    single costs to 0.5%.
    """
    kept: dict[str, list[pd.DataFrame]] = {}
    for race in board.races.values():
        for run, trials in _at_levels(race):
            kept.setdefault(run, []).append(trials)
    return board.records.to_pack(path, {run: pd.concat(parts) for run, parts in kept.items()})


def _at_levels(race: Race) -> Iterator[tuple[str, pd.DataFrame]]:
    """(run, trials at the race's levels) of each run that has trials."""
    if race.levels is None:
        return
    level = race.scale.values(race.levels)
    for run, trials in race.trials.items():
        number, cost = trial_costs(trials, "cost", race.scale, race.levels)
        iterations = trial_costs(trials, "iterations", race.scale, race.levels)[1]
        columns = {"level": level.repeat(len(number)), "trial": list(number) * len(level)}
        yield (
            run,
            pd.DataFrame(
                {"metric": race.metric, **columns, "cost": cost.T.ravel(), "iterations": iterations.T.ravel()}
            ),
        )
