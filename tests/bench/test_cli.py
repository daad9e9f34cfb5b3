"""The command line: keys of its JSON, exit codes, and one clear line for what can't work."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from faults import ROOT, TASK, costaware, plugin, sweep_file


def test_list_has_its_keys() -> None:
    listed = json.loads(costaware("list", "--json").stdout)
    assert set(listed) == {"strategies", "proxies", "tasks", "sweeps", "broken"}
    assert {"name", "unbiased", "origin", "doc"} <= set(listed["strategies"][0])
    assert {"pstar", "uniform", "none", "pps"} <= {row["name"] for row in listed["strategies"]}
    assert "surprise" in {row["name"] for row in listed["proxies"]}
    assert TASK in {row["name"] for row in listed["tasks"]}
    assert {"smoke", "quick", "synthetic-paper"} <= {row["name"] for row in listed["sweeps"]}
    assert listed["broken"] == []


def test_list_one_kind() -> None:
    text = costaware("list", "sweeps").stdout
    assert "smoke" in text
    assert "pstar" not in text


def test_list_shows_a_broken_package_with_its_error(tmp_path: Path) -> None:
    package = tmp_path / "broken_strategies-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-strategies\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[costaware.strategies]\nmine = broken_strategies\n")
    (tmp_path / "broken_strategies.py").write_text("raise RuntimeError('half an installation')\n")
    environment = {**os.environ, "PYTHONPATH": f"{Path(__file__).parents[2]}:{tmp_path}"}
    listed = json.loads(costaware("list", "--json", env=environment).stdout)
    (broken,) = listed["broken"]
    assert "broken-strategies" in broken["origin"]
    assert "half an installation" in broken["why"]
    assert "pstar" in {row["name"] for row in listed["strategies"]}


def test_plugin_appears_in_list_run_sweep_and_status(tmp_path: Path) -> None:
    file = plugin(tmp_path, "mine", "pass")
    listed = json.loads(costaware("list", "--plugin", file, "--json").stdout)
    (row,) = [row for row in listed["strategies"] if row["name"] == "mine"]
    assert row == {
        "name": "mine",
        "unbiased": True,
        "origin": str(file),
        "doc": "Uniform, after it did something else.",
    }
    words = ("--plugin", file, "--strategy", "mine", "--out", tmp_path)
    ran = json.loads(costaware("run", TASK, *words, "--json").stdout)
    assert ran["state"] == "ok"
    assert {"run", "dir", "state", "why", "last"} <= set(ran)
    swept = costaware("sweep", sweep_file(tmp_path, ["pstar"]), *words)
    assert swept.returncode == 0, swept.stderr
    status = json.loads(costaware("status", tmp_path / "small", "--json").stdout)
    assert status == {
        "runs": {"ok": 4, "running": 0, "queued": 0, "failed": 0, "missing": 0, "not run": 0},
        "failed": [],
        "eta_s": 0.0,
    }
    assert json.loads(costaware("status", tmp_path / "small", "--json", "--watch").stdout) == status
    board = json.loads((tmp_path / "small" / "site" / "leaderboard.json").read_text())
    assert "mine" in {row["method"] for row in board["rows"]}
    runs = [path.parent for path in (tmp_path / "small").glob("*/spec.json") if "mine" in path.read_text()]
    log = costaware("logs", tmp_path / "small", runs[0].name[:6])
    assert log.returncode == 0
    assert "mine" in log.stdout
    assert "again: costaware run" in log.stdout


@pytest.mark.skipif(importlib.util.find_spec("verl") is not None, reason="verl is installed: nothing is missing")
def test_cell_whose_extra_is_missing_says_what_to_install(tmp_path: Path) -> None:
    done = costaware("sweep", sweep_file(tmp_path, ["pstar"], task='name = "verl/grpo@tiny"'), "--out", tmp_path)
    assert done.returncode == 0
    assert "3 not run: install costaware-bench[verl]" in done.stdout
    single = costaware("run", "verl/grpo@tiny", "--strategy", "pstar", "--out", tmp_path)
    assert single.returncode == 1
    assert "not run: install costaware-bench[verl]" in single.stdout


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    file = sweep_file(tmp_path, ["pstar"], seeds=2)
    done = costaware("sweep", file, "--dry-run", "--out", tmp_path / "runs")
    assert done.returncode == 0
    assert "6 runs, 0 done" in done.stdout
    assert not (tmp_path / "runs").exists()


def test_debug_runs_in_this_process(tmp_path: Path) -> None:
    file = plugin(tmp_path, "tells", "print('in process', os.environ['COSTAWARE_TEST'], flush=True)")
    words = ("--plugin", file, "--strategy", "tells", "--cluster", "debug", "--out", tmp_path)
    done = costaware("run", TASK, *words, env={**os.environ, "COSTAWARE_TEST": "here"})
    assert done.returncode == 0, done.stderr
    assert "in process here" in done.stdout


def test_help_loads_nothing_heavy() -> None:
    """It lists every command, so none of their modules may import NumPy or more at its top."""
    code = "import sys; from bench.cli import cli; cli.main(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "sweep" in done.stdout
    assert not {"numpy", "torch", "pandas", "rich", "scipy"} & set(done.stdout.split())


def test_version() -> None:
    done = costaware("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("costaware 0.")


NOTHING_INSTALLED = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": ""}

BAD = {
    "unknown command": (["swep"], "did you mean 'sweep'"),
    "unknown option": (["sweep", "smoke", "--sedes", "3"], "--seeds"),
    "unknown strategy": (["run", TASK, "--strategy", "pstr"], "did you mean 'pstar'"),
    "unknown task": (["run", "synthetic/logistc", "--strategy", "pstar"], "did you mean 'synthetic/logistic'"),
    "unknown suite": (["run", "repay/synthetic", "--strategy", "pstar"], f"did you mean '{TASK}'"),
    "unknown setting": (["run", TASK, "--strategy", "pstar", "--set", "updats=3"], "did you mean 'updates'"),
    "bad setting": (["run", TASK, "--strategy", "pstar", "--set", "updates=many"], "updates=many"),
    "setting without value": (["run", TASK, "--strategy", "pstar", "--set", "updates"], "key=value"),
    "alpha": (["run", TASK, "--strategy", "smoothed:alpha=2"], "alpha=2"),
    "sigma2": (["run", TASK, "--strategy", "noisy:sigma2=-1"], "sigma2=-1"),
    "draws of none": (["sweep", "smoke", "--strategy", "none:draws=0.5"], "pps:inner=uniform,draws=0.5"),
    "budget": (["run", TASK, "--strategy", "pstar", "--budget", "-1"], "budget=-1"),
    "seeds": (["sweep", "smoke", "--seeds", "0"], "--seeds"),
    "jobs": (["sweep", "smoke", "--jobs", "0"], "--jobs"),
    "unknown sweep": (["sweep", "smok"], "did you mean 'smoke'"),
    "no sweep file": (["sweep", "nowhere.toml"], "nowhere.toml"),
    "no log": (["sweep", "smoke", "--rollouts", "nowhere.jsonl"], "nowhere.jsonl"),
    "no plugin": (["sweep", "smoke", "--plugin", "nowhere.py"], "nowhere.py"),
    "no directory": (["status", "nowhere"], "nowhere"),
    "single run on Slurm": (["run", TASK, "--strategy", "pstar", "--cluster", "slurm"], "as a sweep"),
    "detached but local": (["sweep", "smoke", "--no-wait"], "--no-wait needs --cluster slurm"),
    "retries but local": (["sweep", "smoke", "--retries", "2"], "--retries needs --cluster slurm"),
    "snapshot but local": (["sweep", "smoke", "--snapshot"], "--snapshot needs --cluster slurm"),
    "unknown resource": (["sweep", "smoke", "--resource", "gpu=8"], "did you mean 'gpus'"),
    "bad resource": (["sweep", "smoke", "--resource", "pack=0"], "pack=0"),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_use_is_one_line_and_writes_nothing(case: str, tmp_path: Path) -> None:
    words, says = BAD[case]
    out = ["--out", tmp_path / "out"] if words[0] in ("run", "sweep") else []
    done = costaware(*words, *out)
    assert done.returncode == 2
    assert done.stderr.startswith("costaware: error: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert says in done.stderr
    assert not done.stdout
    assert not (tmp_path / "out").exists()


def test_directory_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    done = costaware("sweep", sweep_file(tmp_path, ["pstar"]), "--out", tmp_path / "file")
    assert done.returncode == 2
    assert "can't be written to" in done.stderr
    assert (tmp_path / "file").read_text() == "not a directory"


def test_dry_run_for_a_cluster_needs_none(tmp_path: Path) -> None:
    words = ("--cluster", "slurm", "--resource", "gpus=8", "--resource", "timeout_min=30", "--resource", "pack=2")
    task = 'name = "synthetic/least-squares"\nbudget = 1e6'
    done = costaware("sweep", sweep_file(tmp_path, ["pstar"], task=task), "--dry-run", *words, env=NOTHING_INSTALLED)
    assert done.returncode == 0, done.stderr
    assert "an array of 2 jobs for 3 runs: 1 nodes, 8 GPUs" in done.stdout
    assert "#SBATCH --gpus-per-node=8" in done.stdout
    assert "3M backward tokens; at most 12 GPU-hours" in done.stdout


def test_submission_without_slurm_says_so(tmp_path: Path) -> None:
    file = sweep_file(tmp_path, ["pstar"])
    done = costaware("sweep", file, "--cluster", "slurm", "--out", tmp_path, env=NOTHING_INSTALLED)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "is not on this machine's PATH" in done.stderr


def test_cancel_is_for_clusters(tmp_path: Path) -> None:
    assert costaware("sweep", sweep_file(tmp_path, ["pstar"]), "--out", tmp_path, "--no-board").returncode == 0
    done = costaware("cancel", tmp_path / "small")
    assert done.returncode == 2
    assert "Ctrl-C" in done.stderr


def test_directory_of_one_run_that_cannot_be_made_costs_that_run(tmp_path: Path) -> None:
    file = sweep_file(tmp_path, ["pstar"])
    assert costaware("sweep", file, "--out", tmp_path / "first", "--no-board").returncode == 0
    run = next(path.parent.name for path in (tmp_path / "first" / "small").glob("*/spec.json"))
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / run).write_text("in the way")
    done = costaware("sweep", file, "--out", tmp_path, "--no-board")
    assert done.returncode == 1
    assert f"{run}: " in done.stderr
    assert "2 ok" in done.stdout


def test_unforeseen_error_is_one_line_with_the_traceback_in_a_file(tmp_path: Path) -> None:
    """A sweep.json of some future version, say."""
    (tmp_path / "sweep.json").write_text('{"runs": 3, "baselines": {}}')
    done = costaware("status", tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    file = Path(done.stderr.rsplit(" in ", 1)[1].strip(")\n"))
    assert "Traceback" in file.read_text()
    file.unlink()
    shown = costaware("status", tmp_path, env={**os.environ, "COSTAWARE_DEBUG": "1"})
    assert "Traceback" in shown.stderr
