"""The directory of one run: {spec.json, points.jsonl, status.json, log.txt}, and files of the task's own."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import filelock

from bench.faults import Fault, State
from bench.spec import RunSpec
from strategies.errors import WrongUse

if TYPE_CHECKING:
    import pandas as pd

GONE = "the process that ran it is gone"
LOCK = ".lock"
TAIL_BYTES = 65536  # more than any line has
LOCK_WAIT_S = 10.0  # a killed holder's lock is free at once; this outlasts a reader's look at it


@dataclass(frozen=True)
class Status:
    """What status.json holds. `why` is one line, empty where all is well; times are ISO 8601 in UTC."""

    state: State
    why: str = ""
    fault: Fault | None = None
    attempts: int = 1
    earlier: Sequence[str] = field(default_factory=list)  # how the attempts before this one ended, the newest last
    job: str = ""  # the batch system's job that makes this attempt, as `Attempt.key` names it
    resumes: bool = False  # the task can go on where an earlier attempt stopped
    metrics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # the headline metric first
    budget: float | None = None
    started: str = ""
    finished: str = ""
    wall_s: float = 0.0
    host: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    git: Mapping[str, Any] = field(default_factory=dict)  # commit, dirty, root of the code that ran


@dataclass(frozen=True)
class RunDir:
    """Reads and writes the files of one run."""

    path: Path

    @property
    def directory(self) -> str | None:
        """The path as text, None where nothing is there: a run that was planned and never started."""
        return str(self.path) if self.path.is_dir() else None

    @property
    def points_file(self) -> Path:
        return self.path / "points.jsonl"

    @property
    def log_file(self) -> Path:
        return self.path / "log.txt"

    def lock(self) -> filelock.BaseFileLock:
        """Held by the one process that does this run; the system frees it when that process dies."""
        return filelock.FileLock(self.path / LOCK)

    def spec(self) -> RunSpec:
        """The run's spec; WrongUse where the directory holds none."""
        return RunSpec.from_json(read_json(self.path / "spec.json"))

    def prepare(self, spec: RunSpec) -> None:
        """Make the directory and its spec.json."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self.path / "spec.json", spec.to_json())

    def recorded_status(self) -> Status | None:
        """What status.json says, None where no attempt was made."""
        try:
            tree = read_json(self.path / "status.json")
        except WrongUse:
            return None
        return Status(**{key: value for key, value in tree.items() if key in Status.__dataclass_fields__})

    def status(self) -> Status | None:
        """The status as it is: an attempt whose process is gone reads `killed`, whatever its file says."""
        status = self.recorded_status()
        if status is None or status.state != "running" or is_locked(self.path):
            return status
        return replace(status, state="killed", fault="killed", why=GONE)

    def write_status(self, status: Status) -> None:
        """Replace status.json in one step: a reader sees the old one or the new one."""
        write_json(self.path / "status.json", asdict(status))

    def points(self) -> list[dict[str, Any]]:
        """The lines of points.jsonl; a half-written last line is left out."""
        try:
            data = self.points_file.read_bytes()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        try:
            return list(json.loads(b"[" + whole[:-1].replace(b"\n", b",") + b"]"))  # half the time of line by line
        except ValueError:
            lines = whole.split(b"\n")[:-1]
            number = next(i for i, line in enumerate(lines, 1) if not _is_json(line))
            raise WrongUse(f"{self.points_file}, line {number}: not JSON; remove {self.path} and run again") from None

    def trials(self) -> pd.DataFrame | None:
        """What trials.parquet holds: what each trial of a synthetic run cost to reach each level; None without one."""
        import pandas as pd

        file = self.path / "trials.parquet"
        return pd.read_parquet(file) if file.is_file() else None

    def last_point(self) -> dict[str, Any] | None:
        """The newest whole line of points.jsonl, without reading the others."""
        try:
            with self.points_file.open("rb") as file:
                file.seek(max(0, self.points_file.stat().st_size - TAIL_BYTES))
                lines = file.read().split(b"\n")[:-1]
            return json.loads(lines[-1]) if lines else None
        except (FileNotFoundError, ValueError):
            return None

    def keep_points(self, number: int) -> None:
        """Cut points.jsonl behind its first `number` lines."""
        if self.points_file.exists():
            lines = self.points_file.read_bytes().split(b"\n")[:number]
            os.truncate(self.points_file, sum(len(line) + 1 for line in lines))

    def clear(self) -> None:
        """Remove what earlier attempts left, the task's own files above all; spec, status and log stay."""
        for path in self.path.iterdir():
            if path.name not in ("spec.json", "status.json", "log.txt", LOCK):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def is_locked(directory: Path) -> bool:
    """Whether a living process holds the lock of a run's or a sweep's directory; leaves no trace there."""
    if not (directory / LOCK).exists():
        return False
    try:
        with filelock.FileLock(directory / LOCK).acquire(timeout=0):
            return False
    except (filelock.Timeout, OSError):  # OSError: a lock that we can't even open is somebody else's
        return True


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; WrongUse where there is none or it can't be read."""
    try:
        tree = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise WrongUse(f"{path}: can't be read ({error})") from error
    if not isinstance(tree, dict):
        raise WrongUse(f"{path}: not a JSON object")
    return tree


def write_json(path: Path, tree: Mapping[str, Any]) -> None:
    """Write to a file beside `path`, then rename: `path` never holds half a document."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(json.dumps(tree, indent=1, allow_nan=False) + "\n")
        os.replace(beside, path)
    except OSError:
        with suppress(OSError):
            beside.unlink()
        raise
