"""Which packages a preset needs, in which versions: our own requirements, and what verl's metadata pin."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.requirements import Requirement

OURS = "costaware-bench"
VERLS = {"verl": ("",), "gpu": ("", "vllm")}  # our extra -> the extras of verl that pin what it runs on


def installed(name: str) -> str | None:
    """The version of a distribution."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def unmet(extra: str) -> tuple[list[str], list[str]]:
    """(what is missing, what has another version) of `costaware-bench[extra]` and of verl itself, in words."""
    missing: dict[str, str] = {}
    other: dict[str, str] = {}
    for owner, requirement in _requirements(extra):
        version = installed(requirement.name)
        if version is None:
            # the latest owner pins closest
            missing[requirement.name] = f"{requirement.name}{requirement.specifier}"
        elif not requirement.specifier.contains(version, prereleases=True):
            other[requirement.name] = f"{requirement.name} {version} where {owner} needs {requirement.specifier}"
    return list(missing.values()), list(other.values())


def pinned(name: str) -> str:
    """What verl pins for a package in whichever of its extras, e.g. `==2.8.3`; empty where nothing."""
    found = (r for r in _all("verl") if r.name == name and r.specifier)
    return next((str(r.specifier) for r in found), "")


def _requirements(extra: str) -> Iterator[tuple[str, Requirement]]:
    for name, extras in ((OURS, ("", extra)), ("verl", VERLS[extra])):
        for own in extras:
            owner = f"{name}[{own}]" if own else name
            yield from ((owner, r) for r in _all(name) if r.specifier and _is_of(r, own))


def _is_of(requirement: Requirement, extra: str) -> bool:
    """Whether a requirement is of that extra, or (extra `""`) of the package itself, on this platform."""
    base = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    return base if not extra else not base and requirement.marker.evaluate({"extra": extra})  # type: ignore[union-attr]


def _all(name: str) -> list[Requirement]:
    from packaging.requirements import Requirement

    try:
        return [Requirement(line) for line in importlib.metadata.requires(name) or []]
    except importlib.metadata.PackageNotFoundError:
        return []
