"""Which code ran, in which state, with which libraries."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from bench.rundir import read_json

PACKAGES = ("bench", "strategies", "suites", "leaderboard")
LIBRARIES = ("costaware-bench", "numpy", "torch", "transformers", "verl", "vllm", "flash-attn", "ray")
ORIGIN = "origin.json"  # beside the packages of a copy: where they came from


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that are installed."""
    found = {"python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@cache
def git() -> dict[str, Any]:
    """{"commit", "dirty", "root"} of the code: commit and dirty are None outside a checkout that tracks it.

    Flat package names can be shadowed by a directory of the same name; so `root` names each package's own where they
    differ. A copy that a sweep keeps speaks of the code it was taken from, and has `copy` besides.
    """
    roots = {name: _root(name) for name in PACKAGES}
    distinct = sorted(set(roots.values()))
    root = distinct[0] if len(distinct) == 1 else ", ".join(f"{name}={where}" for name, where in roots.items())
    if (Path(root) / ORIGIN).is_file():
        return {**read_json(Path(root) / ORIGIN), "copy": root}
    if len(distinct) > 1 or _git(root, "ls-files", "--error-unmatch", "bench/provenance.py") is None:
        return {"commit": None, "dirty": None, "root": root}
    changes = _git(root, "status", "--porcelain", "--", *PACKAGES)
    return {"commit": _git(root, "rev-parse", "HEAD"), "dirty": bool(changes), "root": root}


def folders() -> dict[str, Path]:
    """Each of our packages -> where it lies."""
    return {name: Path(_root(name)) / name for name in PACKAGES}


def _root(package: str) -> str:
    spec = importlib.util.find_spec(package)
    return str(Path(spec.origin).resolve().parents[1]) if spec and spec.origin else "missing"


def _git(root: str, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", root, *words], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
