"""One tidy view of any set of run directories: what was planned, what happened, and every measurement."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bench import packs
from bench.rundir import RunDir, read_json
from bench.spec import RunSpec
from bench.tables import KEYS, Recorded, Runs, points_table, runs_table
from strategies.errors import WrongUse

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Records:
    """Records of any number of runs.

    Attributes:
        runs: a row per planned or found run: run, task, method, seed, repeat, dir (None where there is none: absent, or
            from a pack), budget, state (`missing` where planned but absent), why, attempts, wall_s, metrics (name ->
            direction, scale; the headline first), settings, command (does this run again), versions, git.
        points: a row per measurement: run, task, method, seed, repeat, step, phase, metric, value, sd, n, generated,
            forward, backward, backward_drawn, draws, diagnostics (dict), wall_s. What was not finite is NaN.
        baselines: task -> method that the sweep names as its baseline.
        sources: run id -> spec and records of each run.
    """

    runs: pd.DataFrame
    points: pd.DataFrame
    baselines: Mapping[str, str]
    sources: Mapping[str, tuple[RunSpec, Recorded]] = field(default_factory=dict)

    def trials(self, run: str) -> pd.DataFrame | None:
        """What each trial of a synthetic run cost to reach each level, None where nothing says so."""
        return self.sources[run][1].trials() if run in self.sources else None

    def to_parquet(self, path: str | Path) -> None:
        """One file with a row per point (runs without points have one row), tables in it as JSON text."""
        runs = self.runs.rename(columns={"wall_s": "run_wall_s"})
        table = runs.merge(self.points, on=list(KEYS), how="left")
        for column in ("metrics", "settings", "versions", "git", "diagnostics"):
            table[column] = [json.dumps(cell) if isinstance(cell, dict) else None for cell in table[column]]
        table.to_parquet(path, index=False)

    def to_pack(self, path: Path, trials: Mapping[str, pd.DataFrame]) -> int:
        """One small file that `load` reads like a directory (`bench.packs.write`); returns its bytes."""
        return packs.write(path, self, trials)


def load(sources: Iterable[str | Path]) -> Records:
    """Read sweep directories, single run directories, directories of either, and packs (`bench.packs`).

    A sweep's grid is what its sweep.json plans: missing cells show, and runs of an earlier plan don't.

    Raises:
        WrongUse: no such directory or pack, nothing in it, or two different runs of one cell (task, method, seed,
            repeat).
    """
    runs, baselines = runs_in(sources)
    _refuse_mixtures(runs)
    return Records(runs_table(runs), points_table(runs), baselines, runs)


def runs_in(sources: Iterable[str | Path]) -> tuple[Runs, dict[str, str]]:
    """Every planned or found run, and the baselines of the sweeps; what `load` makes its tables of.

    A run that is in several places (one id is one spec, so the records are the same) is kept once, from the first place
    where it is finished. That is worth a word, but not among packs, which sweeps with common rows make.
    """
    runs: Runs = {}
    baselines: dict[str, str] = {}
    twice: Counter[tuple[Path, Path]] = Counter()
    for planned, named in _found(sources):
        for run, (spec, found) in planned.items():
            if run in runs and not _same_place(runs[run][1], found):
                if not _both_packed(runs[run][1], found):
                    twice[runs[run][1].path.parent, found.path.parent] += 1
                if _is_ok(found) and not _is_ok(runs[run][1]):
                    runs[run] = spec, found
            runs.setdefault(run, (spec, found))
        for task, method in named.items():
            if baselines.setdefault(task, method) != method:
                what = f"{task}: two baselines are named, {baselines[task]} and {method}"
                warnings.warn(f"{what}; compared with {baselines[task]}", stacklevel=2)
    for (first, second), number in twice.items():
        what = "1 run is" if number == 1 else f"{number} runs are"
        warnings.warn(f"{what} in {first} and {second}: kept once", stacklevel=2)
    return runs, baselines


def _found(sources: Iterable[str | Path]) -> Iterator[tuple[Runs, dict[str, str]]]:
    for top in map(Path, sources):
        if top.is_file():
            pack = packs.Pack(top)
            yield pack.runs(), pack.baselines
        else:
            for planned, named in map(runs_of, discover(top)):
                yield dict(planned), named


def _same_place(a: Recorded, b: Recorded) -> bool:
    return a.path.resolve() == b.path.resolve()


def _both_packed(a: Recorded, b: Recorded) -> bool:
    return isinstance(a, packs.PackedRun) and isinstance(b, packs.PackedRun)


def _is_ok(found: Recorded) -> bool:
    status = found.status()
    return status is not None and status.state == "ok"


def planned_runs(sweep: Path) -> dict[str, RunSpec]:
    """run id -> spec of every run that DIR/sweep.json plans."""
    return {tree["run"]: RunSpec.from_json(tree) for tree in read_json(sweep / "sweep.json")["runs"]}


def discover(top: Path) -> Iterator[Path]:
    """`top` or what lies right in it: directories with a sweep.json or a spec.json."""

    def holds(path: Path) -> bool:
        return (path / "sweep.json").is_file() or (path / "spec.json").is_file()

    if not top.is_dir():
        raise WrongUse(f"{top}: no such directory")
    found = [top] if holds(top) else sorted(path for path in top.iterdir() if holds(path))
    if not found:
        raise WrongUse(f"{top}: holds no sweep and no run (sweep.json, spec.json)")
    yield from found


def runs_of(directory: Path) -> tuple[dict[str, tuple[RunSpec, RunDir]], dict[str, str]]:
    """The runs of one sweep or run directory by id, and the baseline that the sweep names for each task."""
    if not (directory / "sweep.json").is_file():
        run = RunDir(directory)
        spec = run.spec()
        return {spec.run_id: (spec, run)}, {}
    planned = planned_runs(directory)
    found = {run: (spec, RunDir(directory / run)) for run, spec in planned.items()}
    return found, dict(read_json(directory / "sweep.json")["baselines"])


def _refuse_mixtures(runs: Runs) -> None:
    cells: dict[tuple[str, str, int, int], Path] = {}
    for spec, found in runs.values():
        cell = (spec.task, spec.method, spec.seed, spec.repeat)
        if cell in cells:
            where = f"{cells[cell]} and {found.path}"
            raise WrongUse(f"{where} are {spec.task} with {spec.method} under other settings: give them one at a time")
        cells[cell] = found.path
