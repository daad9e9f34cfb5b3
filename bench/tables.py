"""From runs to the two tables of `bench.records`: built by column, as a dict for each of a million points is slow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from bench.rundir import Status
from bench.spec import RunSpec

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

KEYS = ("run", "task", "method", "seed", "repeat")
LEDGER = ("generated", "forward", "backward", "backward_drawn", "draws")
POINT = ("step", "phase", "metric", "value", "sd", "n", *LEDGER, "diagnostics", "wall_s")
RUN = ("dir", "budget", "state", "why", "attempts", "wall_s", "metrics", "settings", "command", "versions", "git")
NUMBERS = ("step", "value", "sd", "n", *LEDGER, "wall_s")
WHOLE = ("step", "n")  # integers, where every point has one


class Recorded(Protocol):
    """Where one run's records are: its own directory, or a pack of many."""

    @property
    def path(self) -> Path: ...

    @property
    def directory(self) -> str | None:
        """The run's directory, None where there is none."""

    def status(self) -> Status | None: ...

    def points(self) -> list[dict[str, Any]]: ...

    def trials(self) -> pd.DataFrame | None:
        """What each trial of a synthetic run cost to reach each level, None where nothing says so."""


Runs = dict[str, tuple[RunSpec, Recorded]]  # by run id


def points_table(runs: Runs) -> pd.DataFrame:
    """A row a measurement: KEYS and POINT; numbers are float64 with NaN for what was not finite."""
    import pandas as pd

    shared: dict[Any, Any] = {}  # equal texts once: each line of JSON makes its own
    parts: dict[str, list[Any]] = {name: [] for name in POINT}
    lengths = []
    for _, found in runs.values():
        points = found.points()
        lengths.append(len(points))
        for name in NUMBERS:
            parts[name].append(np.array([point.get(name) for point in points], dtype=np.float64))
        for name in ("phase", "metric"):
            parts[name] += [shared.setdefault(text, text) for text in (point.get(name) for point in points)]
        parts["diagnostics"] += [point.get("diagnostics") for point in points]
    columns: dict[str, Any] = {name: _repeated(runs, name, lengths) for name in KEYS}
    for name in POINT:
        columns[name] = np.concatenate([np.empty(0), *parts[name]]) if name in NUMBERS else _objects(parts[name])
        if name in WHOLE and np.isfinite(columns[name]).all():
            columns[name] = columns[name].astype(np.int64)
    return pd.DataFrame(columns, copy=False)


def runs_table(runs: Runs) -> pd.DataFrame:
    """A row a run: KEYS and RUN."""
    import pandas as pd

    rows = [_run_row(run, spec, found) for run, (spec, found) in runs.items()]
    table = pd.DataFrame(rows, columns=[*KEYS, *RUN]).astype({"budget": "float64"})
    table["dir"] = pd.Series([row["dir"] for row in rows], dtype="object")  # keeps None, which a text column lacks
    return table


def _repeated(runs: Runs, name: str, lengths: Sequence[int]) -> Any:
    """A key of each run as often as the run has points."""
    values = [run if name == "run" else getattr(spec, name) for run, (spec, _) in runs.items()]
    whole = name in ("seed", "repeat")
    return np.repeat(np.array(values, dtype=np.int64) if whole else _objects(values), np.array(lengths, dtype=np.int64))


def _objects(values: Sequence[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _run_row(run: str, spec: RunSpec, found: Recorded) -> dict[str, Any]:
    row: dict[str, Any] = {"run": run, **{key: getattr(spec, key) for key in KEYS[1:]}}
    row |= {"dir": found.directory, "state": "missing", "why": "", "attempts": 0, "wall_s": float("nan")}
    row |= {"metrics": {}, "versions": {}, "git": {}}
    status = found.status()
    if status is not None:
        row |= vars(status)
    budget = spec.budget if spec.budget is not None else row.get("budget")
    return row | {"budget": budget, "settings": dict(spec.settings), "command": spec.command}
