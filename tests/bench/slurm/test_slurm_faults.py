"""What goes wrong on a real Slurm is recorded for what it is, and the same command ends in a complete grid."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_cluster import JOBS, FakeCluster, wait_until
from faults import TASK, costaware, plugin, sweep_file
from submitting import attempts, env_of, job_of, record, same_records, status, sweep, wait_for_rest

pytestmark = [pytest.mark.slurm, pytest.mark.xdist_group("slurm")]

HOG = "[x.fill(1) for x in [np.empty(100 << 20, dtype=np.int8) for _ in range(14)]], time.sleep(600)"
# strategy -> (what it does the first time, recorded state, what the reason says)
FAULTS = {
    "task-killed": ("os.kill(os.getppid(), signal.SIGKILL), time.sleep(600)", "killed", "was ended by signal 9"),
    "child-killed": ("os.kill(os.getpid(), signal.SIGKILL)", "killed", "its process was ended by SIGKILL"),
    "hungry": (HOG, "oom", "took more memory than it had asked for"),
    "late": ("time.sleep(600)", "timeout", "ran past its limit of 18 s"),
    "unwanted": ("time.sleep(600)", "cancelled", "was cancelled"),
    "wrong": ("(_ for _ in ()).throw(ValueError('no such luck'))", "failed", "ValueError: no such luck"),
}
RESOURCES = f"name = {TASK!r}\nresources = {{ timeout_min = 0.3, mem_gb = 1 }}"

Sweep = tuple[Path, Path, list[str | Path]]  # TOML file, directory, words


def once(folder: Path, name: str, act: str) -> Path:
    """A strategy that does `act` only while there is no file folder/NAME-did, which it makes."""
    did = str(folder / f"{name}-did")
    return plugin(folder, name, f"os.path.exists({did!r}) or (open({did!r}, 'w').close(), {act})")


@pytest.fixture(scope="module")
def faulty(cluster: FakeCluster, tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """A detached sweep in which each strategy meets its fault at its first attempt; all of them have ended."""
    folder = tmp_path_factory.mktemp("faulty")
    files = [once(folder, name, act) for name, (act, _, _) in FAULTS.items()]
    file = sweep_file(folder, list(FAULTS), task=RESOURCES)
    words: list[str | Path] = [word for path in files for word in ("--plugin", path)]
    done = sweep(cluster, file, folder, *words)
    assert done.returncode == 0, done.stderr
    wait_until((folder / "unwanted-did").exists, "the run that shall be cancelled has begun")
    cluster.output("scancel", job_of(folder / "small", "unwanted"))
    return file, folder / "small", words


@pytest.fixture(scope="module")
def first_status(cluster: FakeCluster, faulty: Sweep) -> dict[str, Any]:
    return wait_for_rest(cluster, faulty[1])


@pytest.fixture(scope="module")
def first_records(faulty: Sweep, first_status: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """status.json of each strategy after its first attempt."""
    return {name: record(faulty[1], name) for name in FAULTS}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_on_the_cluster_is_recorded(
    name: str, first_status: dict[str, Any], first_records: dict[str, dict[str, Any]]
) -> None:
    _, state, why = FAULTS[name]
    (row,) = [row for row in first_status["failed"] if row["method"] == name]
    assert row["state"] == state
    assert why in row["why"]
    assert Path(row["log"]).is_file()
    assert (first_records[name]["state"], first_records[name]["why"]) == (row["state"], row["why"])


def test_others_go_on_on_the_cluster(first_status: dict[str, Any]) -> None:
    assert first_status["runs"]["ok"] == 2
    assert first_status["runs"]["failed"] == len(FAULTS)


def test_same_command_completes_the_grid(
    cluster: FakeCluster, faulty: Sweep, first_records: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    """All but the Python error, which only --retry-failed tries again."""
    file, directory, words = faulty
    done = sweep(cluster, file, directory.parent, *words, "--wait")
    assert done.returncode == 1
    found = status(cluster, directory)
    assert found["runs"]["ok"] == 2 + len(FAULTS) - 1
    assert [row["method"] for row in found["failed"]] == ["wrong"]
    done = sweep(cluster, file, directory.parent, *words, "--wait", "--retry-failed")
    assert done.returncode == 0, done.stderr
    assert sorted(attempts(directory).values()) == [1, 1] + [2] * len(FAULTS)
    asked = [json.loads(line) for line in (directory / "jobs.jsonl").read_text().splitlines()]
    assert {line["mem_gb"] for line in asked if "mem_gb" in line} == {1.0, 2.0}
    assert {line["timeout_min"] for line in asked if "mem_gb" in line} == {0.3, 0.6}
    assert record(directory, "hungry")["earlier"] == [f"oom: {first_records['hungry']['why']}"]
    assert costaware("sweep", file, *words, "--out", tmp_path, "--no-board").returncode == 0  # without faults by now
    same_records(directory, tmp_path / "small")


def test_retries_are_bounded(cluster: FakeCluster, out: Path, tmp_path: Path) -> None:
    dies = plugin(tmp_path, "dies", "os.kill(os.getppid(), signal.SIGKILL), time.sleep(600)")
    file = sweep_file(tmp_path, ["dies"])
    done = sweep(cluster, file, out, "--plugin", dies, "--wait", "--retries", "1")
    assert done.returncode == 1
    assert max(attempts(out / "small").values()) == 2
    assert status(cluster, out / "small")["failed"][0]["state"] == "killed"
    again = sweep(cluster, file, out, "--plugin", dies, "--retries", "1")
    assert "submitted" not in again.stdout
    log = costaware("logs", out / "small", next(run for run, n in attempts(out / "small").items() if n == 2),
                    env=env_of(cluster))  # fmt: skip
    assert "killed: its job" in log.stdout
    assert "before that: killed" in log.stdout


@pytest.fixture
def waits(tmp_path: Path) -> tuple[Path, Callable[[], None]]:
    """A strategy that waits for leave to go on."""
    go = tmp_path / "go"
    return plugin(tmp_path, "waits", f"while not os.path.exists({str(go)!r}): time.sleep(0.05)"), go.touch


def begun(directory: Path) -> Callable[[], bool]:
    """Whether the run that waits is being done."""
    return lambda: any(line["state"] == "running" for line in _records(directory, "waits"))


def _records(directory: Path, method: str) -> list[dict[str, Any]]:
    try:
        return [record(directory, method)]
    except (ValueError, FileNotFoundError):
        return []


def finish(cluster: FakeCluster, file: Path, out: Path, waits: Path, tmp_path: Path) -> dict[str, Any]:
    """The same command again, to the end; the run's record, which equals that of a sweep without faults."""
    done = sweep(cluster, file, out, "--plugin", waits, "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    local = tmp_path / "local"
    assert costaware("sweep", file, "--plugin", waits, "--out", local, "--no-board").returncode == 0
    same_records(out / "small", local / "small")
    return record(out / "small", "waits")


def test_node_dies_with_its_steps(
    cluster: FakeCluster, out: Path, tmp_path: Path, waits: tuple[Path, Callable[[], None]]
) -> None:
    """As in a crash of the machine. That it is down, Slurm would find out itself, after SlurmdTimeout."""
    strategy, go = waits
    file = sweep_file(tmp_path, ["waits"])
    assert sweep(cluster, file, out, "--plugin", strategy).returncode == 0
    wait_until(begun(out / "small"), "the run has begun")
    job = job_of(out / "small", "waits")
    node = cluster.output("squeue", "-h", "-j", job, "-o", "%N")
    other = {"n1": "n2", "n2": "n1"}[node]
    cluster.output("scontrol", "update", f"NodeName={other}", "State=DRAIN", "Reason=test")  # so that the job waits
    cluster.kill(node)
    cluster.output("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=crashed")
    try:
        wait_until(lambda: _queued_and_running(cluster, out)[1] == 0, "no run is being done")
        assert _queued_and_running(cluster, out)[0] >= 1  # the others had ended, or not
    finally:
        cluster.start_daemon("slurmd", node)
        cluster.output("scontrol", "update", "NodeName=n[1-2]", "State=RESUME")
    wait_until(lambda: record(out / "small", "waits")["attempts"] == 2, "the job starts again")
    wait_until(lambda: status(cluster, out / "small")["runs"]["running"] == 1, "the run is being done")
    go()
    found = finish(cluster, file, out, strategy, tmp_path)
    assert found["earlier"] == ["killed: its node failed, and Slurm started its job again"]
    assert set(attempts(out / "small").values()) == {1}


def _queued_and_running(cluster: FakeCluster, out: Path) -> tuple[int, int]:
    runs = status(cluster, out / "small")["runs"]
    return runs["queued"], runs["running"]


def test_preempted_run_is_done_again(
    cluster: FakeCluster, out: Path, tmp_path: Path, waits: tuple[Path, Callable[[], None]]
) -> None:
    strategy, go = waits
    file = sweep_file(tmp_path, ["waits"])
    assert sweep(cluster, file, out, "--plugin", strategy).returncode == 0
    wait_until(begun(out / "small"), "the run has begun")
    wanted = ("-p", "high", "-N2", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 3600")
    higher = cluster.output("sbatch", "--parsable", *wanted)
    try:
        wait_until(lambda: cluster.output("squeue", "-h", "-j", higher, "-o", "%T") == "RUNNING", "the higher job runs")
        wait_until(lambda: _queued_and_running(cluster, out)[0] >= 1, "the run is queued")
        assert status(cluster, out / "small")["failed"] == []
    finally:
        cluster.output("scancel", higher)
    go()
    found = finish(cluster, file, out, strategy, tmp_path)
    assert len(found["earlier"]) == 1
    assert re.fullmatch(r"preempted: its job \d+_\d+ was preempted", found["earlier"][0])
    assert set(attempts(out / "small").values()) == {1}


def test_job_asked_to_leave_queues_itself_again(
    cluster: FakeCluster, out: Path, tmp_path: Path, waits: tuple[Path, Callable[[], None]]
) -> None:
    """SIGUSR2, which Slurm sends before a job's end, and some sites on preemption."""
    strategy, go = waits
    file = sweep_file(tmp_path, ["waits"])
    assert sweep(cluster, file, out, "--plugin", strategy).returncode == 0
    wait_until(begun(out / "small"), "the run has begun")
    cluster.output("scancel", "--signal=USR2", job_of(out / "small", "waits"))
    wait_until(lambda: record(out / "small", "waits")["attempts"] == 2, "the job starts again")
    go()
    found = finish(cluster, file, out, strategy, tmp_path)
    assert found["earlier"] == ["preempted: its job's place was wanted (SIGUSR2)"]


@pytest.mark.parametrize("seconds_after", ["submission", pytest.param("start", marks=pytest.mark.slow)])
def test_controller_dies_mid_sweep(
    cluster: FakeCluster, out: Path, tmp_path: Path, waits: tuple[Path, Callable[[], None]], seconds_after: str
) -> None:
    """Killed right after the submission it may lose the jobs: then they are submitted again, and never doubled."""
    strategy, go = waits
    file = sweep_file(tmp_path, ["waits"])
    assert sweep(cluster, file, out, "--plugin", strategy).returncode == 0
    if seconds_after == "start":
        wait_until(begun(out / "small"), "the run has begun")
    cluster.kill("slurmctld")
    try:
        silent = status(cluster, out / "small")
        refused = sweep(cluster, file, out, "--plugin", strategy)
    finally:
        cluster.count_jobs_from(cluster.first_job + JOBS)  # it may have lost those before
        cluster.start_daemon("slurmctld")
    assert "scheduler" in silent
    assert silent["scheduler"] != "answers"
    assert refused.returncode == 1
    assert "does not answer" in refused.stderr
    wait_until(lambda: cluster.ok("scontrol", "ping") and cluster.ok("squeue"), "the controller answers")
    go()
    finish(cluster, file, out, strategy, tmp_path)
