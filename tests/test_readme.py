"""README is part of the program: its commands are real, its tree is the tree, its example passes the checks."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from bench.cli import cli

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCKS if kind == language]


def commands() -> list[list[str]]:
    """The words of every `costaware ...` command in a shell block, comments and continuations taken out."""
    lines = "\n".join(blocks("sh")).replace("\\\n", " ").splitlines()
    parts = [part.strip() for line in lines for part in line.split(" #")[0].split("&&")]
    words = [shlex.split(part) for part in parts if re.match(r"(\.venv/bin/)?costaware ", part)]
    return [w[1:] for w in words]


def test_the_two_commands_for_a_fresh_machine() -> None:
    fresh = [line for text in blocks("sh") for line in text.splitlines() if line.startswith("python3 -m venv")]
    assert len(fresh) == 2
    install, main_job = fresh[0].rsplit(" && ", 1)
    assert ".venv/bin/pip install -e ." in install
    assert main_job == ".venv/bin/costaware sweep quick"
    ci = (ROOT / ".ci" / "run").read_text()
    install, test = fresh[1].rsplit(" && ", 1)
    assert install in ci, "continuous integration installs with another command than README's"
    assert f"\n{test}\n" in ci, "continuous integration tests with another command than README's"


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_commands_and_their_options_exist(words: list[str]) -> None:
    command, words = cli.get_command(click.Context(cli), words[0]), words[1:]
    while isinstance(command, click.Group) and words:
        command, words = command.get_command(click.Context(command), words[0]), words[1:]
    assert command is not None, f"no such command; before {words}"
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    used = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    assert used <= known


def test_the_file_tree_is_the_tree() -> None:
    (tree,) = [text for text in blocks("text") if text.startswith("costaware/")]
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    real = {part for name in tracked if name for part in _parts(name)}
    folder, named = "", set()
    for line in tree.splitlines()[1:]:
        entry = line.split()[0]
        if not line.startswith("    "):
            folder = entry if entry.endswith("/") else ""
        named.add(entry if not line.startswith("    ") else folder + entry)
    assert named <= real, f"README names what is not there: {sorted(named - real)}"
    top = {name for name in real if name.rstrip("/").count("/") == 0 and not name.startswith(".")}
    assert top <= named, f"README leaves out {sorted(top - named)}"
    for package in ("strategies/", "suites/", "bench/", "leaderboard/"):
        inside = {name for name in real if re.fullmatch(re.escape(package) + r"[^/]+/", name)}
        assert inside <= named, f"README leaves out {sorted(inside - named)}"


def _parts(name: str) -> list[str]:
    pieces = name.split("/")
    return [name, *("/".join(pieces[:i]) + "/" for i in range(1, len(pieces)))]


def test_the_example_strategy_passes_the_checks(tmp_path: Path) -> None:
    (example,) = [text for text in blocks("python") if "@register" in text]
    assert len(example.splitlines()) <= 30
    file = tmp_path / "mine.py"
    file.write_text(example)
    done = subprocess.run(
        [sys.executable, "-m", "bench.cli", "check", "--plugin", str(file)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_pictures_are_there() -> None:
    for path in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README):
        assert (ROOT / path).is_file(), path
