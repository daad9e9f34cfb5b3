"""A run's identity follows from what decides its outcome, and from nothing else."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from faults import plugin
from hypothesis import given
from hypothesis import strategies as st

from bench.cli import run
from bench.spec import RunSpec, fingerprint, specify
from strategies import WrongUse, parse, registry
from strategies.registry import Plugin

finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | finite | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
plugin_files = st.builds(Plugin, st.text(min_size=1, max_size=9), st.text("0123456789abcdef", min_size=64, max_size=64))
specs = st.builds(
    RunSpec,
    task=st.text(min_size=1, max_size=20),
    method=st.text(min_size=1, max_size=20),
    seed=st.integers(0, 99),
    repeat=st.integers(0, 2),
    budget=st.none() | st.floats(1, 1e12),
    settings=st.dictionaries(st.text(min_size=1, max_size=6), values, max_size=4),
    plugins=st.lists(plugin_files, max_size=2).map(tuple),
)


@given(specs)
def test_spec_survives_json(spec: RunSpec) -> None:
    again = RunSpec.from_json(json.loads(json.dumps(spec.to_json())))
    assert again == spec
    assert again.run_id == spec.run_id
    assert len(spec.run_id) == 16


@given(specs, st.sampled_from(["task", "method", "seed", "repeat", "budget", "settings", "plugins"]))
def test_every_field_counts(spec: RunSpec, field: str) -> None:
    other = {
        "task": spec.task + "x",
        "method": spec.method + "x",
        "seed": spec.seed + 1,
        "repeat": spec.repeat + 1,
        "budget": (spec.budget or 0) + 1,
        "settings": {**spec.settings, "one more": 1},
        "plugins": (*spec.plugins, Plugin("p", "0" * 64)),
    }
    assert replace(spec, **{field: other[field]}).run_id != spec.run_id  # type: ignore[arg-type]


def test_what_does_not_count() -> None:
    spec = RunSpec("t", "m", settings={"a": 1, "b": (2.0, 3)}, budget=5.0, plugins=(Plugin("/here", "0" * 64),))
    same = RunSpec("t", "m", settings={"b": [2, 3.0], "a": 1.0}, budget=5, plugins=(Plugin("/there", "0" * 64),))
    assert spec.run_id == same.run_id


def test_id_is_the_hash_of_spec_json() -> None:
    """Anyone can recompute it with two standard tools."""
    import hashlib

    spec = RunSpec("synthetic/least-squares", "pstar", 3, settings={"n": 10})
    text = json.dumps(spec.to_json(), sort_keys=True, separators=(",", ":"))
    assert spec.run_id == hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_settings_that_json_lacks_are_refused(value: object) -> None:
    with pytest.raises(WrongUse, match="rate="):
        RunSpec("t", "m", settings={"rate": value})


@pytest.mark.parametrize("budget", [0, -5.0])
def test_budget_must_be_positive(budget: float) -> None:
    with pytest.raises(WrongUse, match="budget"):
        specify("t", parse("pstar"), budget=budget)


def test_command_gives_the_spec_back(tmp_path: Path) -> None:
    file = plugin(tmp_path, "named-here", "pass")
    registry.load_file(file)
    settings = {"n": 10, "rate": 0.5, "device": "cpu", "deep": [1, "a b"], "flag": True}
    spec = specify("synthetic/least-squares", parse("smoothed:inner=named-here"), 3, 1, 1e6, settings)
    assert [p.path for p in spec.plugins] == [str(file)]
    words = shlex.split(spec.command)
    assert words[:2] == ["costaware", "run"]
    given_back = run.command.make_context("run", words[2:]).params
    assert (
        specify(
            given_back["task"],
            parse(given_back["strategy"]),
            given_back["seed"],
            given_back["repeat"],
            given_back["budget"],
            dict(map(run.setting, given_back["settings"])),
        )
        == spec
    )


def test_plugins_are_only_those_that_the_method_needs(tmp_path: Path) -> None:
    registry.load_file(plugin(tmp_path, "unneeded", "pass"))
    assert specify("t", parse("pstar")).plugins == ()


def test_a_log_counts_by_what_it_holds(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    for file in (one, two):
        file.write_text("{}\n")
    method = parse("pstar")
    first, moved = (specify("replay/log", method, settings={"rollouts": str(file)}) for file in (one, two))
    assert first.run_id == moved.run_id
    one.write_text("{}\n{}\n")
    assert specify("replay/log", method, settings={"rollouts": str(one)}).run_id != first.run_id


def test_fingerprint_of_a_folder_sees_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    before = fingerprint("rollouts", str(tmp_path))
    assert fingerprint("rollouts", str(tmp_path)) == before
    (tmp_path / "a").rename(tmp_path / "b")
    assert fingerprint("rollouts", str(tmp_path)) != before
    with pytest.raises(WrongUse, match="no such file"):
        fingerprint("rollouts", str(tmp_path / "c"))
