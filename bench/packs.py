"""A pack: the records of a finished sweep in one small file, read like the directory that it was made from.

A zip archive of `pack.json` (what sweep.json, and each run's spec.json and status.json say, without the names of hosts
and directories), `points.parquet` (every measurement; diagnostics as JSON text) and, for synthetic tasks,
`trials.parquet`, at the levels that its board compares. Logs and checkpoints stay behind.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bench.rundir import Status
from bench.spec import RunSpec
from bench.tables import POINT, Runs
from strategies.errors import WrongUse

if TYPE_CHECKING:
    import pandas as pd

    from bench.records import Records

PLAN, POINTS, TRIALS = "pack.json", "points.parquet", "trials.parquet"
NOT_PACKED = ("host", "started", "finished")  # of a status; and git's root: of no use on another machine
FORMAT = 1
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same records give the same bytes
LOG_STEP = 1e-2  # costs of trials are kept to 0.5%: trials differ by 30% and more
NEVER, FREE = -(2**15), 1 - 2**15  # codes of a level that was never reached, and of one held at no cost


@dataclass(frozen=True, eq=False)
class Pack:
    """Reads one pack; WrongUse where the file is none."""

    path: Path

    @cached_property
    def plan(self) -> dict[str, Any]:
        try:
            with zipfile.ZipFile(self.path) as archive:
                tree: dict[str, Any] = json.loads(archive.read(PLAN))
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise WrongUse(
                f"{self.path}: neither a directory of runs nor a pack of them ({error}); `--pack` makes one"
            ) from error
        if tree.get("format") != FORMAT:
            raise WrongUse(f"{self.path}: a pack of format {tree.get('format')}, this version reads {FORMAT}")
        return tree

    @property
    def baselines(self) -> dict[str, str]:
        return dict(self.plan["baselines"])

    def runs(self) -> Runs:
        """run id -> spec and records, of every run of the sweep's grid."""
        return {
            tree["run"]: (RunSpec.from_json(tree["spec"]), PackedRun(self, tree["run"], tree["status"]))
            for tree in self.plan["runs"]
        }

    @cached_property
    def points(self) -> Mapping[str, list[dict[str, Any]]]:
        """run id -> points, as its points.jsonl had them."""
        found: dict[str, list[dict[str, Any]]] = {}
        table = self._table(POINTS)
        for row in [] if table is None else table.to_dict("records"):
            point = {str(name): value for name, value in row.items()}
            found.setdefault(point["run"], []).append(point | {"diagnostics": json.loads(point["diagnostics"])})
        return found

    @cached_property
    def trials(self) -> Mapping[str, pd.DataFrame]:
        """run id -> metric, level, trial, cost, iterations; NaN = never reached."""
        table = self._table(TRIALS)
        if table is None:
            return {}
        table["cost"] = _decode(table["cost"].to_numpy())
        table["iterations"] = table["cost"] / _decode(table.pop("cost_per_iteration").to_numpy())
        return {str(run): part for run, part in table.groupby("run", sort=False, observed=True)}

    def _table(self, name: str) -> pd.DataFrame | None:
        import pandas as pd

        with zipfile.ZipFile(self.path) as archive:
            return pd.read_parquet(io.BytesIO(archive.read(name))) if name in archive.namelist() else None


@dataclass(frozen=True, eq=False)
class PackedRun:
    """One run of a pack."""

    pack: Pack
    run: str
    recorded: Mapping[str, Any] | None  # its status, None where it never started

    @property
    def path(self) -> Path:
        return self.pack.path / self.run

    @property
    def directory(self) -> None:
        return None

    def status(self) -> Status | None:
        return Status(**self.recorded) if self.recorded is not None else None

    def points(self) -> list[dict[str, Any]]:
        return self.pack.points.get(self.run, [])

    def trials(self) -> pd.DataFrame | None:
        return self.pack.trials.get(self.run)


def write(path: Path, records: Records, trials: Mapping[str, pd.DataFrame]) -> int:
    """Make a pack of all runs in `records`; returns its size in bytes.

    Args:
        trials: run id -> metric, level, trial, cost, iterations, at the levels that are to be kept. All recorded levels
            of a run of 1,000 trials are megabytes.

    Raises:
        WrongUse: a run is under way, or the file can't be written.
    """
    going = list(records.runs.loc[records.runs["state"] == "running", "run"])
    if going:
        raise WrongUse(f"{path}: {len(going)} runs are under way (such as {going[0]}): pack them when they are done")
    runs = [
        {"run": run, "spec": _spec(spec), "status": _status(at.status())} for run, (spec, at) in records.sources.items()
    ]
    plan = {"format": FORMAT, "baselines": dict(records.baselines), "runs": runs}
    members = {PLAN: json.dumps(plan, indent=1, allow_nan=False).encode(), POINTS: _parquet(_points(records))}
    if trials:
        members[TRIALS] = _parquet(_compact(trials))
    try:
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                archive.writestr(zipfile.ZipInfo(name, EPOCH), data, zipfile.ZIP_DEFLATED)
    except OSError as error:
        raise WrongUse(f"{path}: can't be written ({error.strerror})") from error
    return path.stat().st_size


def _spec(spec: RunSpec) -> dict[str, Any]:
    """Its JSON, files by their names alone: a run's identity does not depend on where they lie."""
    tree = spec.to_json()
    tree["plugins"] = [{**plugin, "path": Path(plugin["path"]).name} for plugin in tree["plugins"]]
    names = {key: Path(tree["settings"][key]).name for key in spec.files if key in tree["settings"]}
    return tree | {"settings": tree["settings"] | names}


def _status(status: Status | None) -> dict[str, Any] | None:
    if status is None:
        return None
    kept = {key: value for key, value in asdict(status).items() if key not in NOT_PACKED}
    return kept | {"git": {key: value for key, value in status.git.items() if key != "root"}}


def _points(records: Records) -> pd.DataFrame:
    table = records.points[["run", *POINT]].copy()
    table["diagnostics"] = [json.dumps(cell) for cell in table["diagnostics"]]
    return table


def _compact(trials: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One table; costs as 16-bit logarithms, iterations by the cost of one, which hardly varies and takes no space."""
    import pandas as pd

    table = pd.concat([part.assign(run=run) for run, part in trials.items()], ignore_index=True)
    cost, iterations = (table[name].to_numpy(dtype=np.float64) for name in ("cost", "iterations"))
    ratio = np.divide(cost, iterations, out=np.ones(len(table)), where=iterations > 0)
    table = table.assign(cost=_encode(cost), cost_per_iteration=_encode(ratio)).drop(columns="iterations")
    return table.astype({"run": "category", "metric": "category", "trial": "int32"})


def _encode(cost: NDArray[np.float64]) -> NDArray[np.int16]:
    """Costs >= 0 as round(ln(cost) / LOG_STEP), NEVER for NaN and FREE for 0."""
    known = np.isfinite(cost) & (cost > 0)
    code = np.clip(np.round(np.log(np.where(known, cost, 1.0)) / LOG_STEP), FREE + 1, -NEVER - 1)
    return np.where(known, code, np.where(np.isnan(cost), NEVER, FREE)).astype(np.int16)


def _decode(code: NDArray[np.int16]) -> NDArray[np.float64]:
    cost = np.exp(code * LOG_STEP)
    return np.where(code == NEVER, np.nan, np.where(code == FREE, 0.0, cost))


def _parquet(table: pd.DataFrame) -> bytes:
    """The smallest that parquet makes of it: integers by their differences, texts by a dictionary."""
    buffer = io.BytesIO()
    delta = [name for name, kind in table.dtypes.items() if kind.kind == "i"]
    options: dict[str, Any] = {"column_encoding": dict.fromkeys(delta, "DELTA_BINARY_PACKED")} if delta else {}
    texts = [str(name) for name in table if name not in delta]
    table.to_parquet(buffer, index=False, compression="zstd", compression_level=19, use_dictionary=texts, **options)
    return buffer.getvalue()
