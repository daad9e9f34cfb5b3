"""Data flows one way: strategy -> suite -> record -> leaderboard. The imports say whether it still does."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("strategies", "suites", "bench", "leaderboard")
MAY_IMPORT_OURS = {
    "strategies": {"strategies"},
    "suites": {"suites", "strategies"},
    "bench": {"bench", "suites", "strategies"},
    "leaderboard": {"leaderboard", "bench.records"},
}
THIRD_PARTY = {
    "strategies": {"numpy", "scipy", "ortools"},
    "leaderboard": {"pandas", "numpy", "scipy", "seaborn", "matplotlib", "jinja2"},
}
CROSSINGS = {"bench/cli/leaderboard.py": "leaderboard"}  # the command line is where the flow starts and ends
ONLY_IN = {"submitit": "bench/slurm.py"}


def modules() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def imports(path: Path, top_level: bool = False) -> Iterator[str]:
    """Absolute names of the modules that a file imports; `top_level` leaves out those inside functions."""
    tree = ast.parse(path.read_text())
    nodes = _outside_functions(tree) if top_level else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and not _type_checking(child):
            yield child
            yield from _outside_functions(child)


def _type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_follow_the_flow(path: Path) -> None:
    here = str(path.relative_to(ROOT))
    package = path.relative_to(ROOT).parts[0]
    for name in imports(path):
        first = name.partition(".")[0]
        if first in PACKAGES:
            allowed = any(
                name == a or name.startswith(f"{a}.") or a.startswith(f"{name}.") for a in MAY_IMPORT_OURS[package]
            )
            assert allowed or CROSSINGS.get(here) == first, f"{here} imports {name}"
        elif package in THIRD_PARTY and first not in sys.stdlib_module_names:
            assert first in THIRD_PARTY[package], f"{here} imports {name}"
        if first in ONLY_IN:
            assert here == ONLY_IN[first], f"{here} imports {name}"


def test_strategies_need_only_numpy_to_be_imported() -> None:
    for path in (ROOT / "strategies").rglob("*.py"):
        heavy = {name.partition(".")[0] for name in imports(path, top_level=True)} & {"scipy", "ortools"}
        assert not heavy, f"{path.relative_to(ROOT)} imports {heavy} at its top"


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import strategies, strategies.registry as r; r.entries()", {"torch", "pandas", "scipy", "verl", "ortools"}),
        ("import suites.task as t; t.infos()", {"torch", "pandas", "verl", "transformers"}),
        ("import bench.records", {"torch", "pandas", "verl"}),
        ("import bench.cli", {"numpy", "torch", "pandas", "rich", "verl"}),
    ],
)
def test_import_stays_light(statement: str, unwanted: set[str]) -> None:
    code = f"{statement}\nimport sys\nprint(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not unwanted & set(done.stdout.split())


def test_top_level_is_flat() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    top = {name.partition("/")[0] for name in tracked if name}
    visible = {name for name in top if not name.startswith(".")}
    assert visible == {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "bench",
        "strategies",
        "suites",
        "leaderboard",
        "tests",
    }
