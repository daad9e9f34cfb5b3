"""Sweeps: a TOML file that says which tasks meet which methods, with how many seeds."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from bench.resources import Resources, from_table
from bench.spec import RunSpec, specify
from strategies import WrongUse, parse
from strategies.errors import unknown


@dataclass(frozen=True)
class Entry:
    """One task of a sweep; what a `[[tasks]]` table may hold. What it leaves out it takes from the top of the file.

    Args:
        name: the task.
        methods: spec strings; the baseline is added where it is missing.
        baseline: the method that all others are measured against.
        seeds: runs per method, seeds 0, 1, ...
        aa: also run the baseline again with the same worlds and other draws (the A/A row).
        budget: backward tokens of a run; None is the task's own.
        settings: the task's settings.
        resources: limits of a run.
    """

    name: str
    methods: tuple[str, ...] = ()
    baseline: str = ""
    seeds: int = 1
    aa: bool = True
    budget: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    resources: Resources = field(default_factory=Resources)


@dataclass(frozen=True)
class Sweep:
    """A grid of runs."""

    name: str
    title: str
    entries: tuple[Entry, ...]

    @property
    def baselines(self) -> dict[str, str]:
        """task -> baseline."""
        return {entry.name: entry.baseline for entry in self.entries}

    def runs(self) -> Iterator[tuple[RunSpec, Resources]]:
        """Every run of the grid."""
        for entry in self.entries:
            cells = [(method, 0) for method in entry.methods] + [(entry.baseline, 1)] * entry.aa
            parsed = {method: parse(method) for method in entry.methods}
            for seed in range(entry.seeds):
                for method, repeat in cells:
                    spec = specify(entry.name, parsed[method], seed, repeat, entry.budget, entry.settings)
                    yield spec, entry.resources

    def with_methods(self, specs: tuple[str, ...]) -> Sweep:
        """The same sweep with more methods for every task."""
        added = [str(parse(spec)) for spec in specs]
        grown = (replace(entry, methods=tuple(dict.fromkeys([*entry.methods, *added]))) for entry in self.entries)
        return replace(self, entries=tuple(grown))

    def with_resources(self, words: tuple[str, ...]) -> Sweep:
        """The same sweep with `key=value` words over every task's resources."""
        grown = (replace(entry, resources=entry.resources.overridden(words)) for entry in self.entries)
        return replace(self, entries=tuple(grown))

    def with_rollouts(self, files: tuple[Path, ...]) -> Sweep:
        """The same sweep with a replay of each log, under the methods of the sweep's own replay if it has one."""
        own = next((entry for entry in self.entries if entry.name.startswith("replay/")), None)
        like = own or Entry("", self.entries[0].methods, "none", aa=False)
        kept = {key: value for key, value in like.settings.items() if key != "rollouts"}
        added = (
            _checked(replace(like, name=f"replay/{file.stem}", settings={**kept, "rollouts": str(file)}), str(file))
            for file in files
        )
        return _unique(replace(self, entries=(*self.entries, *added)), "--rollouts")


def shipped() -> dict[str, Traversable]:
    """name -> file of the sweeps that come with the package."""
    files = (resources.files("bench") / "sweeps").iterdir()
    return {file.name.removesuffix(".toml"): file for file in files if file.name.endswith(".toml")}


def load(name: str, seeds: int | None = None) -> Sweep:
    """A shipped sweep by its name, or any by the path of its TOML file.

    Args:
        name: `quick`, or `my/sweep.toml`.
        seeds: instead of the file's top-level `seeds`; a task that sets its own keeps it.

    Raises:
        WrongUse: no such sweep, bad TOML, an unknown key (the nearest match is named), a bad value; with the file.
    """
    file: Traversable | None = Path(name) if name.endswith(".toml") else shipped().get(name)
    if file is None:
        raise unknown("sweep", name, [*shipped(), "FILE.toml"])
    try:
        tree = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WrongUse(f"{name}: can't be read as TOML: {error}") from error
    if seeds is not None:
        tree["seeds"] = seeds
    return _sweep(Path(file.name).stem, tree, name)


def _sweep(name: str, tree: dict[str, Any], where: str) -> Sweep:
    title, tables = tree.pop("title", name), tree.pop("tasks", [])
    if not isinstance(tables, list) or not tables:
        raise WrongUse(f"{where}: has no [[tasks]]")
    known = [f.name for f in fields(Entry) if f.name not in ("name", "settings")]
    for key in tree:
        if key not in known:
            raise WrongUse(f"{where}: {unknown('key', key, [*known, 'title', 'tasks'])}")
    entries = tuple(_entry(_over(tree, table), where) for table in tables)
    return _unique(Sweep(name, str(title), entries), where)


def _over(tree: dict[str, Any], table: dict[str, Any]) -> dict[str, Any]:
    """A task's table over the top of the file; `resources` key by key."""
    both = [part.get("resources", {}) for part in (tree, table)]
    merged = {"resources": both[0] | both[1]} if all(isinstance(part, dict) for part in both) else {}
    return {**tree, **table, **merged}


def _entry(table: dict[str, Any], where: str) -> Entry:
    where = f"{where}: task {table.get('name', '?')}"
    for key in ("name", "methods", "baseline"):
        if not table.get(key):
            raise WrongUse(f"{where}: has no {key}")
    made = from_table(Entry, table, where)
    resources = Resources.from_table(table.get("resources", {}), f"{where}: resources")
    return _checked(replace(made, resources=resources), where)


def _checked(entry: Entry, where: str) -> Entry:
    """The entry with canonical methods, the baseline among them."""
    if entry.seeds < 1:
        raise WrongUse(f"{where}: seeds={entry.seeds}: must be at least 1")
    if not all(isinstance(method, str) for method in entry.methods):
        raise WrongUse(f"{where}: methods={list(entry.methods)!r}: must be spec strings")
    try:
        baseline = str(parse(entry.baseline))
        methods = dict.fromkeys([baseline, *(str(parse(method)) for method in entry.methods)])
    except WrongUse as error:
        raise WrongUse(f"{where}: {error}") from error
    return replace(entry, baseline=baseline, methods=tuple(methods))


def _unique(sweep: Sweep, where: str) -> Sweep:
    names = [entry.name for entry in sweep.entries]
    for name in names:
        if names.count(name) > 1:
            raise WrongUse(f"{where}: task {name} appears twice: a board can't tell the two apart")
    return sweep
