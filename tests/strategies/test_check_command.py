"""`costaware check` and `costaware new-strategy`, as typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench.cli import check, new_strategy
from strategies import WrongUse, conformance

GOOD = """
from dataclasses import dataclass
import numpy as np
from strategies import IIDStrategy, proportional, register
"""
STRATEGY = """
@register("{name}")
@dataclass(frozen=True)
class {title}(IIDStrategy):
    def probabilities(self, pool):
        return proportional({scores})
"""
ONE = GOOD + STRATEGY.format(name="one", title="One", scores="pool.norms")
BIASED = STRATEGY.format(name="two", title="Two", scores="pool.norms * (pool.norms > np.median(pool.norms))")


def typed(*words: str) -> Result:
    return CliRunner().invoke(check.command, words, catch_exceptions=False)


def test_a_built_in_passes() -> None:
    done = typed("pstar")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == f"pstar: all {len(conformance.checks())} properties hold"
    assert [line.split()[:2] for line in lines[1:]] == [["ok", name] for name in conformance.checks()]


def test_json_of_one_strategy_is_an_object() -> None:
    found = json.loads(typed("smoothed:alpha=0.1", "--json").stdout)
    assert list(found) == ["method", "ok", "checks"]
    assert (found["method"], found["ok"]) == ("smoothed:alpha=0.1", True)
    assert [set(line) for line in found["checks"]] == [{"name", "ok", "why"}] * len(conformance.checks())


def test_a_file_with_several_strategies_gives_a_list(tmp_path: Path, plugins: None) -> None:
    (tmp_path / "both.py").write_text(ONE + BIASED)
    done = typed("--plugin", str(tmp_path / "both.py"), "--json")
    assert done.exit_code == 1
    assert [(found["method"], found["ok"]) for found in json.loads(done.stdout)] == [("one", True), ("two", False)]
    done = typed("one", "--plugin", str(tmp_path / "both.py"), "--json")
    assert (done.exit_code, json.loads(done.stdout)["method"]) == (0, "one")


def test_a_failed_property_is_one_line_that_names_it(tmp_path: Path, plugins: None) -> None:
    (tmp_path / "both.py").write_text(ONE + BIASED)
    done = typed("two", "--plugin", str(tmp_path / "both.py"))
    assert done.exit_code == 1
    assert done.stdout.startswith("two: fails unbiased\n")
    (line,) = (line for line in done.stdout.splitlines() if "FAIL" in line)
    assert line.split()[:3] == ["FAIL", "unbiased", "component"]


def test_a_file_that_does_not_load_fails_with_its_reason(tmp_path: Path, plugins: None) -> None:
    file = tmp_path / "broken.py"
    file.write_text("import nowhere_to_be_found\n")
    done = typed("--plugin", str(file))
    assert done.exit_code == 1
    (line,) = (line for line in done.stdout.splitlines() if "FAIL" in line)
    assert "ModuleNotFoundError: No module named 'nowhere_to_be_found'" in line
    (found,) = json.loads(typed("--plugin", str(file), "--json").stdout)["checks"]
    assert (found["name"], found["ok"]) == ("loads", False)


def test_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="check what"):
        typed()
    with pytest.raises(WrongUse, match="did you mean 'pstar'"):
        typed("pstr")
    assert CliRunner().invoke(check.command, ["--plugin", str(tmp_path / "none.py")]).exit_code == 2


def test_the_scaffold_passes_its_own_check_in_a_fresh_process(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}

    def costaware(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "bench.cli", *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)

    made = costaware("new-strategy", "my-idea")
    assert (made.returncode, made.stderr) == (0, "")
    text = (tmp_path / "my_idea.py").read_text()
    assert len(text.splitlines()) <= 32
    checked = costaware("check", "--plugin", "my_idea.py")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "my-idea:power=0.5: all" in checked.stdout or "my-idea: all" in checked.stdout
    again = costaware("new-strategy", "my-idea")
    assert again.returncode == 2
    assert again.stderr == "costaware: error: my_idea.py exists: nothing written; give another --out FILE\n"
    assert (tmp_path / "my_idea.py").read_text() == text


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("pstar", "already registered by strategies.builtin.pstar"),
        ("My_Idea", "use lower-case letters, digits and '-'"),
        ("3d", "a letter first"),
    ],
)
def test_scaffold_names_that_are_taken_or_ill_formed(tmp_path: Path, name: str, line: str) -> None:
    with pytest.raises(WrongUse, match=line):
        CliRunner().invoke(new_strategy.command, [name, "--out", str(tmp_path / "x.py")], catch_exceptions=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["true", "pool", "a-3"])
def test_scaffold_of_names_that_are_no_class_names(tmp_path: Path, plugins: None, name: str) -> None:
    file = tmp_path / "x.py"
    assert CliRunner().invoke(new_strategy.command, [name, "--out", str(file)]).exit_code == 0
    assert typed("--plugin", str(file)).exit_code == 0
