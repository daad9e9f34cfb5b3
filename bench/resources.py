"""What a run may take, and where on a cluster: from a TOML table, and from words of the command line."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from strategies import WrongUse
from strategies.errors import unknown


@dataclass(frozen=True)
class Resources:
    """What a run of a task may take; `timeout_min` holds everywhere, the rest on Slurm.

    Args:
        timeout_min: minutes after which a run is stopped, on its own clock.
        partition, account, qos: as sbatch knows them.
        gpus, cpus, mem_gb: of a job, on each of its nodes.
        nodes: of a job; its one worker is on the first, and the run itself starts what it needs on the others.
        pack: runs that one job does, one after the other.
        setup: shell lines before the worker, e.g. `module load cuda`.
        sbatch: other options of sbatch, e.g. { constraint = "h100" }.
    """

    timeout_min: float | None = None
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    gpus: int | None = None
    cpus: int | None = None
    mem_gb: float | None = None
    nodes: int = 1
    pack: int = 1
    setup: Sequence[str] = ()
    sbatch: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_table(cls, table: Mapping[str, Any], where: str) -> Resources:
        """Checked; WrongUse with `where` for an unknown key or a bad value."""
        found: Resources = from_table(cls, table, where)
        for key in ("timeout_min", "gpus", "cpus", "mem_gb", "nodes", "pack"):
            value = getattr(found, key)
            if value is not None and not value > 0:
                raise WrongUse(f"{where}: {key}={value:g}: must be > 0")
        if not all(isinstance(line, str) for line in found.setup):
            raise WrongUse(f"{where}: setup={list(found.setup)!r}: must be shell lines")
        return found

    def overridden(self, words: Sequence[str]) -> Resources:
        """The same with `key=value` over it: `gpus=8`, `sbatch.constraint=h100`, `setup=module load cuda`.

        A value that reads as TOML (a number, a list) is one, all else is text. Lines of setup come after the others.
        """
        table = {key: value for key, value in asdict(self).items() if value is not None}
        table |= {"setup": list(self.setup), "sbatch": dict(self.sbatch)}
        for key, value in map(_assignment, words):
            if key.startswith("sbatch."):
                table["sbatch"][key.removeprefix("sbatch.")] = value
            elif key == "setup":
                table["setup"].append(str(value))
            else:
                table[key] = value
        return Resources.from_table(table, "--resource")


def _assignment(word: str) -> tuple[str, Any]:
    key, equals, text = word.partition("=")
    if not key or not equals:
        raise WrongUse(f"--resource {word}: write key=value")
    try:
        return key, tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        return key, text


KINDS: dict[str, type | tuple[type, ...]] = {
    "str": str,
    "int": int,
    "bool": bool,
    "float | None": (int, float),
    "int | None": int,
    "str | None": str,
    "tuple[str, ...]": list,
    "Sequence[str]": list,
}


def from_table(cls: type[Any], table: Mapping[str, Any], where: str) -> Any:
    """A dataclass from a TOML table: no unknown keys, values of the fields' types."""
    kinds = {f.name: str(f.type) for f in fields(cls)}
    for key, value in table.items():
        if key not in kinds:
            raise WrongUse(f"{where}: {unknown('key', key, kinds)}")
        kind = KINDS.get(kinds[key], dict)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise WrongUse(f"{where}: {key}={value!r} is not of type {kinds[key]}")
    return cls(**table)
