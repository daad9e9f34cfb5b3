"""One tidy view of any set of run directories: what was planned, what happened, and every measurement."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.rundir import RunDir, Status, read_json
from bench.spec import RunSpec
from strategies.errors import WrongUse

if TYPE_CHECKING:
    import pandas as pd

Runs = dict[str, tuple[RunSpec, RunDir]]  # by run id
KEYS = ("run", "task", "method", "seed", "repeat")
LEDGER = ("generated", "forward", "backward", "backward_drawn", "draws")
POINT = ("step", "phase", "metric", "value", "sd", "n", *LEDGER, "diagnostics", "wall_s")
RUN = ("dir", "budget", "state", "why", "attempts", "wall_s", "metrics", "settings", "command", "versions", "git")


@dataclass(frozen=True, eq=False)
class Records:
    """Records of any number of runs.

    Attributes:
        runs: a row per planned or found run: run, task, method, seed, repeat, dir (None where there is none), budget,
            state (`missing` where planned but absent), why, attempts, wall_s, metrics (name -> direction, scale; the
            headline first), settings, command (does this run again), versions, git.
        points: a row per measurement: run, task, method, seed, repeat, step, phase, metric, value, sd, n, generated,
            forward, backward, backward_drawn, draws, diagnostics (dict), wall_s. What was not finite is NaN.
        baselines: task -> method that the sweep names as its baseline.
    """

    runs: pd.DataFrame
    points: pd.DataFrame
    baselines: Mapping[str, str]

    def trials(self, run: str) -> pd.DataFrame | None:
        """What each trial of a synthetic run cost to reach each level (trials.parquet), None where there is none."""
        import pandas as pd

        found = self.runs.loc[self.runs["run"] == run, "dir"]
        if found.empty or found.iloc[0] is None:
            return None
        file = Path(found.iloc[0]) / "trials.parquet"
        return pd.read_parquet(file) if file.is_file() else None

    def to_parquet(self, path: str | Path) -> None:
        """One file with a row per point (runs without points have one row), tables in it as JSON text."""
        runs = self.runs.rename(columns={"wall_s": "run_wall_s"})
        table = runs.merge(self.points, on=list(KEYS), how="left")
        for column in ("metrics", "settings", "versions", "git", "diagnostics"):
            table[column] = [json.dumps(cell) if isinstance(cell, dict) else None for cell in table[column]]
        table.to_parquet(path, index=False)


def load(dirs: Iterable[str | Path]) -> Records:
    """Read sweep directories, single run directories, and directories of either.

    A sweep's grid is what its sweep.json plans: missing cells show, and runs of an earlier plan don't.

    Raises:
        WrongUse: no such directory, nothing in it, or two different runs of one cell (task, method, seed, repeat).
    """
    runs, baselines = runs_in(dirs)
    _refuse_mixtures(runs)
    return _tables(runs, baselines)


def runs_in(dirs: Iterable[str | Path]) -> tuple[Runs, dict[str, str]]:
    """Every planned or found run, and the baselines of the sweeps; what `load` makes its tables of."""
    runs: Runs = {}
    baselines: dict[str, str] = {}
    for top in map(Path, dirs):
        for directory in discover(top):
            planned, named = _runs_of(directory)
            for run, found in planned.items():
                if run in runs and runs[run][1].path.resolve() != found[1].path.resolve():
                    warnings.warn(f"run {run} is in {runs[run][1].path} and {found[1].path}: kept once", stacklevel=2)
                runs.setdefault(run, found)
            for task, method in named.items():
                baselines.setdefault(task, method)
    return runs, baselines


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


def _runs_of(directory: Path) -> tuple[Runs, dict[str, str]]:
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


def _tables(runs: Runs, baselines: Mapping[str, str]) -> Records:
    import pandas as pd

    rows: list[dict[str, Any]] = []
    points: list[dict[str, Any]] = []
    for run, (spec, found) in runs.items():
        keys = {"run": run, **{key: getattr(spec, key) for key in KEYS[1:]}}
        rows.append(keys | _run_row(spec, found))
        points += [keys | {column: point.get(column) for column in POINT} for point in found.points()]
    table = pd.DataFrame(points, columns=[*KEYS, *POINT])
    table = table.astype(dict.fromkeys(("value", "sd", *LEDGER, "wall_s"), "float64"))
    overview = pd.DataFrame(rows, columns=[*KEYS, *RUN]).astype({"budget": "float64"})
    overview["dir"] = pd.Series([row["dir"] for row in rows], dtype="object")  # keeps None, which a text column lacks
    return Records(overview, table, dict(baselines))


def _run_row(spec: RunSpec, found: RunDir) -> dict[str, Any]:
    status = found.status()
    row: dict[str, Any] = {"dir": str(found.path) if found.path.is_dir() else None, "state": "missing", "why": ""}
    row |= {"attempts": 0, "wall_s": float("nan"), "metrics": {}, "versions": {}, "git": {}}
    if isinstance(status, Status):
        row |= asdict(status)
    budget = spec.budget if spec.budget is not None else row.get("budget")
    return row | {"budget": budget, "settings": dict(spec.settings), "command": spec.command}
