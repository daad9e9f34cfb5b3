"""Strategies from a file and from an installed package; clashes, changes and broken plugins."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from strategies import WrongUse, parse, registry

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = """
from dataclasses import dataclass
from strategies import IIDStrategy, proportional, register

@register("{name}")
@dataclass(frozen=True)
class Mine(IIDStrategy):
    '''{doc}

    More of it.'''
    power: float = 2.0

    def probabilities(self, pool):
        return proportional(pool.norms**self.power)
"""


def write(path: Path, name: str, doc: str = "Mine.", more: str = "") -> Path:
    path.write_text(PLUGIN.format(name=name, doc=doc) + more)
    return path


@pytest.fixture
def mine(tmp_path: Path, plugins: None) -> Path:
    return write(tmp_path / "mine.py", "mine")


def test_a_file_registers_a_strategy(mine: Path) -> None:
    plugin = registry.load_file(mine)
    assert str(parse("mine:power=3")) == "mine:power=3"
    assert str(parse("smoothed:inner=mine")) == "smoothed:alpha=0.01,inner=(mine:power=2)"
    (entry,) = (entry for entry in registry.entries() if entry.name == "mine")
    assert (entry.origin, entry.doc) == (str(mine), "Mine.")
    assert registry.plugin_of(parse("mine").strategy) == plugin
    assert registry.plugin_of(parse("pstar").strategy) is None


def test_loading_again_changes_nothing(mine: Path) -> None:
    first, cls = registry.load_file(mine), registry.get("mine")
    assert registry.load_file(mine, first.sha256) == first
    assert registry.get("mine") is cls


def test_a_changed_file_is_refused_where_the_old_one_is_meant(mine: Path) -> None:
    old = registry.load_file(mine)
    write(mine, "mine", doc="Changed.")
    with pytest.raises(WrongUse, match="has changed since the run was specified"):
        registry.load_file(mine, old.sha256)
    assert registry.load_file(mine).sha256 != old.sha256
    assert registry.get("mine").__doc__.startswith("Changed.")  # type: ignore[union-attr]


def test_a_renamed_strategy_leaves_its_old_name(mine: Path) -> None:
    registry.load_file(mine)
    registry.load_file(write(mine, "renamed"))
    assert "mine" not in [entry.name for entry in registry.entries()]


def test_a_clash_with_a_built_in_names_both_origins(tmp_path: Path, plugins: None) -> None:
    file = write(tmp_path / "clash.py", "pstar")
    with pytest.raises(WrongUse) as refused:
        registry.load_file(file)
    assert f"'pstar' of {file} is already registered by strategies.builtin.pstar" in str(refused.value)
    assert registry.get("pstar").__module__ == "strategies.builtin.pstar"


def test_a_clash_of_two_files_names_both(mine: Path, tmp_path: Path) -> None:
    registry.load_file(mine)
    other = write(tmp_path / "other.py", "mine")
    with pytest.raises(WrongUse) as refused:
        registry.load_file(other)
    assert str(mine) in str(refused.value)
    assert str(other) in str(refused.value)


def test_a_file_that_breaks_half_way_leaves_nothing_behind(tmp_path: Path, plugins: None) -> None:
    file = write(tmp_path / "half.py", "half", more="\n1 / 0\n")
    with pytest.raises(WrongUse, match=r"half.py does not load: ZeroDivisionError: division by zero"):
        registry.load_file(file)
    assert "half" not in [entry.name for entry in registry.entries()]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("empty.py", "x = 1\n", "registers no strategy: put @register"),
        ("syntax.py", "def (:\n", "does not load: SyntaxError"),
        ("text.txt", "x = 1\n", "its name must end in .py"),
        ("name.py", PLUGIN.format(name="My Strategy", doc=""), "use lower-case letters, digits and '-'"),
    ],
)
def test_files_that_are_no_plugins(tmp_path: Path, plugins: None, name: str, text: str, line: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(WrongUse) as refused:
        registry.load_file(tmp_path / name)
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="no such file"):
        registry.load_file(tmp_path / "nowhere.py")


def install(site: Path, package: str, module: str, text: str) -> None:
    """What pip leaves behind: a module, and metadata that name its entry point."""
    (site / f"{module}.py").write_text(text)
    info = site / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{module} = {module}\n")


def test_installed_packages_are_found_and_broken_ones_harm_nobody(tmp_path: Path) -> None:
    install(tmp_path, "good-package", "good_module", PLUGIN.format(name="installed", doc=""))
    install(tmp_path, "bad-package", "bad_module", PLUGIN.format(name="half-done", doc="") + "\nraise SystemExit(3)\n")
    install(tmp_path, "clashing-package", "clashing_module", PLUGIN.format(name="uniform", doc=""))
    script = (
        "import json; from strategies import registry; "
        "print(json.dumps({'names': {e.name: e.origin for e in registry.entries()},"
        " 'broken': {b.origin: b.why for b in registry.broken()}}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": f"{ROOT}:{tmp_path}"}, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert found["names"]["installed"] == "good_module (good-package)"
    assert found["names"]["uniform"] == "strategies.builtin.uniform"
    assert "half-done" not in found["names"]
    assert found["broken"]["bad_module (bad-package)"] == "SystemExit: 3"
    clash = found["broken"]["clashing_module (clashing-package)"]
    assert "clashing_module (clashing-package) is already registered by strategies.builtin.uniform" in clash
    assert len(found["broken"]) == 2
