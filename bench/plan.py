"""From a sweep to a directory of runs: checked first, then written to DIR/sweep.json, the grid that records show."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import filelock

from bench.records import planned_runs
from bench.rundir import LOCK, read_json, write_json
from bench.spec import RunSpec
from strategies import WrongUse, parse
from suites import task as suites

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.sweep import Sweep


def check(sweep: Sweep) -> None:
    """Refuse, before anything is written, what can't work on any machine.

    A method that one task refuses and another takes stays: its cell reads "not run" with the reason. So does a task
    whose extra is missing here.

    Raises:
        WrongUse: a task, setting or log that can't be used, a baseline that its task refuses, or a method that every
            task refuses.
    """
    refusals: dict[str, str] = {}
    taken: set[str] = set()
    for entry in sweep.entries:
        try:
            task = suites.make(entry.name, entry.settings)
        except suites.MissingExtra:
            taken.update(entry.methods)
            continue
        for method in entry.methods:
            try:
                task.check(parse(method))
                taken.add(method)
            except WrongUse as refusal:
                refusals[method] = f"{entry.name}: {refusal}"
                if method == entry.baseline:
                    raise WrongUse(refusals[method]) from refusal
    for method, why in refusals.items():
        if method not in taken:
            raise WrongUse(why)


@contextmanager
def claimed(directory: Path, patience_s: float = 2) -> Iterator[None]:
    """Hold the lock of a sweep's directory, made if need be, so that one command at a time works on it.

    Raises:
        WrongUse: it can't be written to, or another command holds it.
    """
    make_writable(directory)
    try:
        with filelock.FileLock(directory / LOCK).acquire(timeout=patience_s):
            yield
    except filelock.Timeout:
        raise WrongUse(f"{directory}: another command works on it; see `costaware status {directory}`") from None


def make_writable(directory: Path) -> None:
    """Make `directory` if need be; WrongUse where nothing can be written there."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):  # asks the file system: mode bits prove nothing
            pass
    except OSError as error:
        raise WrongUse(f"{directory}: can't be written to ({error.strerror}); choose another --out") from error


def write(directory: Path, sweep: Sweep, runs: Iterable[RunSpec], command: str) -> int:
    """Write DIR/sweep.json; returns how many runs of an earlier plan it had to leave out.

    The grid may grow: runs planned earlier (more seeds, another --strategy) stay in it. Not so what one board can't
    hold beside the new runs: the same task with other settings, budget or A/A repeat, the same method from a strategy
    file that was edited. What is left out keeps its directory.
    """
    new = {spec.run_id: spec for spec in runs}
    old, baselines = _earlier(directory)
    fits = _fitting(new.values(), sweep.baselines)
    kept = {run: spec for run, spec in old.items() if run not in new and fits(spec)}
    grid = [spec.to_json() | {"run": run} for run, spec in (new | kept).items()]
    baselines |= sweep.baselines
    tree = {"name": sweep.name, "title": sweep.title, "command": command, "baselines": baselines, "runs": grid}
    write_json(directory / "sweep.json", tree)
    return len(old.keys() - new.keys() - kept.keys())


def _fitting(new: Iterable[RunSpec], baselines: Mapping[str, str]) -> Callable[[RunSpec], bool]:
    """Whether a run of an earlier plan can stand beside the new ones."""
    new = list(new)
    cells = {_cell(spec) for spec in new}
    worlds = {spec.task: _world(spec) for spec in new}
    codes = {(spec.task, spec.method): _code(spec) for spec in new}

    def fits(spec: RunSpec) -> bool:
        return (
            _cell(spec) not in cells
            and worlds.get(spec.task, _world(spec)) == _world(spec)
            and codes.get((spec.task, spec.method), _code(spec)) == _code(spec)
            and (spec.repeat == 0 or baselines.get(spec.task, spec.method) == spec.method)
        )

    return fits


def _earlier(directory: Path) -> tuple[dict[str, RunSpec], dict[str, str]]:
    if not (directory / "sweep.json").is_file():
        return {}, {}
    return planned_runs(directory), dict(read_json(directory / "sweep.json")["baselines"])


def _cell(spec: RunSpec) -> tuple[str, str, int, int]:
    return spec.task, spec.method, spec.seed, spec.repeat


def _world(spec: RunSpec) -> tuple[Any, ...]:
    settings = {key: value for key, value in spec.settings.items() if key not in spec.files}
    return settings, spec.budget, spec.files


def _code(spec: RunSpec) -> list[str]:
    return sorted(plugin.sha256 for plugin in spec.plugins)
