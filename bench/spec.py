"""RunSpec: all that decides the outcome of one run, and the identity that follows from it."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from strategies import Method, WrongUse, registry
from strategies.registry import Plugin

FILE_SETTINGS = frozenset({"rollouts"})  # settings that name a file: what counts is what it holds


@dataclass(frozen=True)
class RunSpec:
    """One run.

    Args:
        task: e.g. `synthetic/least-squares`.
        method: canonical spec string, `str(strategies.parse(...))`.
        seed: the world's seed; runs of several methods pair by (task, seed).
        repeat: > 0 draws anew in the same world (1 is the A/A repeat of the baseline).
        budget: backward tokens; None is the task's own.
        settings: the task's settings off their defaults; JSON values.
        plugins: the strategy files that the method needs.
        files: name of a setting that holds a path -> sha256 of what lies there.
    """

    task: str
    method: str
    seed: int = 0
    repeat: int = 0
    budget: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    plugins: tuple[Plugin, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "budget", plain(self.budget, "budget"))
        put(self, "settings", {key: plain(value, key) for key, value in sorted(self.settings.items())})

    def __hash__(self) -> int:
        return hash(self.run_id)

    def to_json(self) -> dict[str, Any]:
        """What spec.json holds; `files` only where there are any."""
        tree = {name: getattr(self, name) for name in self.__dataclass_fields__}  # asdict takes ten times as long
        tree |= {"settings": dict(self.settings), "files": dict(self.files)}
        tree["plugins"] = [asdict(plugin) for plugin in self.plugins]
        return tree if self.files else {key: value for key, value in tree.items() if key != "files"}

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> RunSpec:
        """The inverse of `to_json`; keys of other versions are left aside."""
        known = {key: value for key, value in tree.items() if key in cls.__dataclass_fields__}
        return cls(**{**known, "plugins": tuple(Plugin(**plugin) for plugin in tree.get("plugins", ()))})

    def canonical(self) -> str:
        """Sorted JSON without blanks. Files count by their content, not by where they lie."""
        tree = self.to_json()
        tree["plugins"] = sorted(plugin.sha256 for plugin in self.plugins)
        tree["settings"] = {key: value for key, value in tree["settings"].items() if key not in self.files}
        return json.dumps(tree, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def run_id(self) -> str:
        """The first 16 hex digits of the sha256 of `canonical()`."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()[:16]

    @property
    def command(self) -> str:
        """The exact command that does this run again."""
        words = ["costaware", "run", self.task, "--strategy", self.method, "--seed", str(self.seed)]
        words += ["--repeat", str(self.repeat)] if self.repeat else []
        words += ["--budget", json.dumps(self.budget)] if self.budget is not None else []
        for key, value in self.settings.items():
            words += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
        for plugin in self.plugins:
            words += ["--plugin", plugin.path]
        return shlex.join(words)


def specify(
    task: str,
    method: Method,
    seed: int = 0,
    repeat: int = 0,
    budget: float | None = None,
    settings: Mapping[str, Any] | None = None,
) -> RunSpec:
    """The RunSpec of a parsed method, with the files that it and the settings stand on.

    Raises:
        WrongUse: a setting that JSON lacks, a budget <= 0, or a file that is not there.
    """
    if budget is not None and not budget > 0:
        raise WrongUse(f"budget={budget:g}: must be > 0 backward tokens")
    values = dict(settings or {})
    files = {}
    for key in (key for key in FILE_SETTINGS if values.get(key)):
        values[key] = str(Path(values[key]).expanduser().resolve())
        files[key] = fingerprint(key, values[key])
    return RunSpec(task, str(method), seed, repeat, budget, values, tuple(registry.plugins_of(method.strategy)), files)


def fingerprint(key: str, path: str) -> str:
    """sha256 of a file, or of the names and contents in a directory; `key` names the setting in errors."""
    top = Path(path)
    if top.is_file():
        with top.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    if not top.is_dir():
        raise WrongUse(f"{key}={path}: no such file or directory")
    digest = hashlib.sha256()
    for file_path in sorted(path for path in top.rglob("*") if path.is_file()):
        digest.update(f"{file_path.relative_to(top)} {fingerprint(key, str(file_path))}\n".encode())
    return digest.hexdigest()


def plain(value: Any, name: str) -> Any:
    """A JSON value in the one form that hashes alike: 3000.0 is 3000, a tuple is a list.

    Raises:
        WrongUse: NaN, inf, or a value that JSON lacks; named by `name`.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item, name) for key, item in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [plain(item, name) for item in value]
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise WrongUse(f"{name}={value}: must be finite")
        return int(value) if value.is_integer() else value
    if value is None or isinstance(value, bool | int | str):
        return value
    raise WrongUse(f"{name}={value!r}: must be a number, text, true/false, or a list or table of them")
