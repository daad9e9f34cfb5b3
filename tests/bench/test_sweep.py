"""Sweep files: what they may say, and the grid that follows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from faults import TASK, plugin, sweep_file

from bench import plan, sweep
from bench.records import planned_runs
from strategies import WrongUse, registry
from suites.verl.cluster.presets import PRESETS as CLUSTER_PRESETS

HEAD = 'title = "t"\nmethods = ["pstar"]\nbaseline = "uniform"\n'


def written(folder: Path, text: str) -> str:
    file = folder / "mine.toml"
    file.write_text(text)
    return str(file)


def test_grid_has_every_cell_and_the_baseline_twice(tmp_path: Path) -> None:
    found = sweep.load(str(sweep_file(tmp_path, ["pstar", "smoothed:alpha=0.05"], seeds=3)))
    cells = Counter((spec.method, spec.seed, spec.repeat) for spec, _ in found.runs())
    expected = {(method, seed, 0) for method in ("uniform", "pstar", "smoothed:alpha=0.05") for seed in range(3)}
    expected |= {("uniform", seed, 1) for seed in range(3)}
    assert set(cells) == expected
    assert set(cells.values()) == {1}
    assert found.baselines == {TASK: "uniform"}


def test_aa_can_be_left_out(tmp_path: Path) -> None:
    found = sweep.load(str(sweep_file(tmp_path, ["pstar"], task="name = 'a/x'\naa = false")))
    assert {spec.repeat for spec, _ in found.runs()} == {0}


def test_seeds_of_the_command_line_spare_tasks_that_fix_theirs(tmp_path: Path) -> None:
    text = f'{HEAD}seeds = 2\n[[tasks]]\nname = "a/x"\n[[tasks]]\nname = "a/y"\nseeds = 1\n'
    found = sweep.load(written(tmp_path, text), seeds=5)
    assert [entry.seeds for entry in found.entries] == [5, 1]


def test_added_methods_meet_every_task(tmp_path: Path) -> None:
    text = f'{HEAD}[[tasks]]\nname = "a/x"\n[[tasks]]\nname = "a/y"\nmethods = ["variance"]\n'
    found = sweep.load(written(tmp_path, text)).with_methods(("smoothed:alpha=0.01", "pstar"))
    assert [entry.methods for entry in found.entries] == [
        ("uniform", "pstar", "smoothed:alpha=0.01"),
        ("uniform", "variance", "smoothed:alpha=0.01", "pstar"),
    ]


def test_rollouts_are_replayed_like_the_sweeps_own_log(tmp_path: Path) -> None:
    own = (
        '[[tasks]]\nname = "replay/own"\nmethods = ["pps"]\nbaseline = "none"\naa = false\nsettings = { updates = 2 }\n'
    )
    found = sweep.load(written(tmp_path, HEAD + own)).with_rollouts((tmp_path / "my.jsonl",))
    added = found.entries[1]
    assert added.name == "replay/my"
    assert (added.methods, added.baseline, added.aa) == (("none", "pps"), "none", False)
    assert added.settings == {"updates": 2, "rollouts": str(tmp_path / "my.jsonl")}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("title = ", "can't be read as TOML"),
        (HEAD, "no \\[\\[tasks\\]\\]"),
        (f'{HEAD}sedes = 3\n[[tasks]]\nname = "a/x"', "unknown key 'sedes': did you mean 'seeds'"),
        (f'{HEAD}[[tasks]]\nname = "a/x"\nbudgt = 1', "unknown key 'budgt': did you mean 'budget'"),
        (f'{HEAD}[[tasks]]\nname = "a/x"\nresources = {{ timeout = 1 }}', "did you mean 'timeout_min'"),
        (f'{HEAD}[[tasks]]\nname = "a/x"\nresources = {{ timeout_min = 0 }}', "timeout_min=0"),
        (f'{HEAD}[[tasks]]\nmethods = ["pstar"]', "has no name"),
        ('methods = ["pstar"]\n[[tasks]]\nname = "a/x"', "has no baseline"),
        (f'{HEAD}seeds = "3"\n[[tasks]]\nname = "a/x"', "seeds='3' is not of type int"),
        (f'{HEAD}seeds = 0\n[[tasks]]\nname = "a/x"', "seeds=0"),
        (f'{HEAD}seeds = true\n[[tasks]]\nname = "a/x"', "seeds=True is not of type int"),
        (
            f'{HEAD}[[tasks]]\nname = "a/x"\nmethods = ["pstr"]',
            "task a/x: unknown strategy 'pstr': did you mean 'pstar'",
        ),
        (f'{HEAD}[[tasks]]\nname = "a/x"\n[[tasks]]\nname = "a/x"', "task a/x appears twice"),
    ],
)
def test_mistakes_are_named_with_the_file(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(WrongUse, match=says) as caught:
        sweep.load(written(tmp_path, text))
    assert "mine.toml" in str(caught.value)


def test_unknown_sweep_gets_the_nearest_match() -> None:
    with pytest.raises(WrongUse, match="did you mean 'quick'"):
        sweep.load("quik")


@pytest.mark.parametrize("name", sorted(sweep.shipped()))
def test_shipped_sweeps_work(name: str) -> None:
    found = sweep.load(name)
    assert found.title != name
    plan.check(found)
    assert len({spec.run_id for spec, _ in found.runs()}) == len(list(found.runs()))


@pytest.mark.parametrize("name", ["paper-1.5b", "paper-4b", "paper-8b"])
def test_a_job_has_the_nodes_and_gpus_that_its_preset_trains_on(name: str) -> None:
    settings = CLUSTER_PRESETS[name].settings
    for entry in sweep.load(name).entries:
        assert (entry.resources.nodes, entry.resources.gpus) == (settings.nodes, settings.gpus)


def test_paper_sweep_is_the_papers() -> None:
    found = sweep.load("synthetic-paper")
    for entry in found.entries:
        assert entry.settings == {"n": 3000, "dim": 50, "trials": 1000}
        assert entry.baseline == "uniform"
        assert entry.aa


def test_check_refuses_a_method_that_no_task_takes(tmp_path: Path) -> None:
    found = sweep.load(str(sweep_file(tmp_path, ["pstar"])))
    plan.check(found)
    with pytest.raises(WrongUse, match="surprise"):
        plan.check(found.with_methods(("pstar:proxy=surprise",)))
    unknown = sweep.load(written(tmp_path, f'{HEAD}[[tasks]]\nname = "synthetic/least-square"\n'))
    with pytest.raises(WrongUse, match="did you mean 'synthetic/least-squares'"):
        plan.check(unknown)


def grid(folder: Path, file: Path, seeds: int | None = None) -> int:
    """Plan a sweep in `folder`; returns what plan.write says."""
    found = sweep.load(str(file), seeds)
    folder.mkdir(exist_ok=True)
    return plan.write(folder, found, [spec for spec, _ in found.runs()], "costaware sweep")


def test_grid_may_grow(tmp_path: Path) -> None:
    directory, file = tmp_path / "small", sweep_file(tmp_path, ["pstar"])
    assert grid(directory, file, seeds=3) == 0
    before = set(planned_runs(directory))
    assert grid(directory, sweep_file(tmp_path, ["variance"]), seeds=1) == 0
    methods = Counter(spec.method for spec in planned_runs(directory).values())
    assert methods == {"uniform": 6, "pstar": 3, "variance": 1}
    assert before <= set(planned_runs(directory))


def test_grid_holds_one_version_of_a_task(tmp_path: Path) -> None:
    directory = tmp_path / "small"
    grid(directory, sweep_file(tmp_path, ["pstar"]), seeds=3)
    assert (
        grid(directory, sweep_file(tmp_path, ["pstar"], task=f"name = {TASK!r}\nsettings = {{ updates = 2 }}"), seeds=1)
        == 9
    )
    assert [spec.settings for spec in planned_runs(directory).values()] == [{"updates": 2}] * 3


def test_new_baseline_takes_the_old_repeat_along(tmp_path: Path) -> None:
    directory = tmp_path / "small"
    grid(directory, sweep_file(tmp_path, ["pstar"]))
    grid(directory, sweep_file(tmp_path, ["pstar"], task=f"name = {TASK!r}\nbaseline = 'variance'"))
    repeats = [spec.method for spec in planned_runs(directory).values() if spec.repeat]
    assert repeats == ["variance"]


def test_grid_holds_one_version_of_a_strategy_file(tmp_path: Path) -> None:
    directory, file = tmp_path / "small", plugin(tmp_path, "versioned", "pass")
    registry.load_file(file)
    grid(directory, sweep_file(tmp_path, ["versioned", "pstar"]), seeds=2)
    file.write_text(file.read_text() + "# a better idea\n")
    edited = registry.load_file(file)
    assert grid(directory, sweep_file(tmp_path, ["versioned"]), seeds=1) == 2
    specs = planned_runs(directory).values()
    assert [spec.plugins[0].sha256 for spec in specs if spec.method == "versioned"] == [edited.sha256]
    assert Counter(spec.method for spec in specs)["pstar"] == 2
