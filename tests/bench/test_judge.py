"""Where a run stands, by its record, the journal and the scheduler's answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.faults import Fault
from bench.journal import Attempt
from bench.judge import judge
from bench.resources import Resources
from bench.retries import Policy, grown
from bench.rundir import RunDir, Status
from bench.scheduler import Task
from bench.spec import RunSpec

LAST = Attempt("r", "costaware-x-1", 3, "54_3", 1, time=100.0)
OWN = Status("running", job=LAST.name, started="2026-01-01T00:00:00+00:00")


def task(state: str, exit_code: int = 0) -> dict[tuple[str, int], Task]:
    return {LAST.key: Task(LAST.submission, 3, "54", state, exit_code, "n1")}


def recorded(folder: Path, status: Status | None) -> RunDir:
    run = RunDir(folder / "r")
    run.prepare(RunSpec("a/x", "pstar"))
    if status is not None:
        run.write_status(status)
    return run


# (record, the scheduler's job, standing)
GOING_ON = [
    (None, task("PENDING"), "queued"),
    (OWN, task("RUNNING"), "running"),
    (OWN, task("PENDING"), "queued"),  # queued again
    (replace(OWN, state="preempted", fault="preempted"), task("RUNNING"), "queued"),
    (replace(OWN, state="failed", fault="python error"), task("RUNNING"), "failed"),
    (Status("failed", fault="python error", job="an earlier one"), task("RUNNING"), "queued"),
    (None, None, "queued"),  # no answer
]


@pytest.mark.parametrize(("status", "tasks", "standing"), GOING_ON)
def test_job_that_goes_on(
    tmp_path: Path, status: Status | None, tasks: dict[tuple[str, int], Task] | None, standing: str
) -> None:
    verdict = judge(recorded(tmp_path, status), LAST, tasks)
    assert (verdict.standing, verdict.active, verdict.news) == (standing, True, None)


# (record, the scheduler's job, fault, state, what the reason says)
ENDED: list[tuple[Status | None, dict[tuple[str, int], Task], Fault, str, str]] = [
    (OWN, task("TIMEOUT"), "timeout", "timeout", "time limit"),
    (OWN, task("OUT_OF_MEMORY", 137), "out of memory", "oom", "memory"),
    (OWN, task("NODE_FAIL"), "node failure", "killed", "node n1 failed"),
    (OWN, task("PREEMPTED"), "preempted", "preempted", "preempted"),
    (OWN, task("CANCELLED"), "cancelled", "cancelled", "cancelled"),
    (OWN, task("FAILED", 137), "killed", "killed", "signal 9"),
    (OWN, task("FAILED", 2), "killed", "killed", "exit code 2"),
    (OWN, task("FAILED", 74), "storage", "failed", "disk is full"),
    (OWN, task("COMPLETED"), "killed", "killed", "without a word"),
    (OWN, {}, "killed", "killed", "lost its job 54_3"),
    (None, {}, "never started", "failed", "never started: the scheduler has lost"),
    (None, task("FAILED", 1), "never started", "failed", "never started: its job 54_3 ended with exit code 1"),
    (None, task("CANCELLED"), "cancelled", "cancelled", "cancelled"),
    (
        replace(OWN, state="failed", fault="python error", why="oops"),
        task("COMPLETED"),
        "python error",
        "failed",
        "oops",
    ),
    (replace(OWN, state="killed", fault="killed", why="?"), task("OUT_OF_MEMORY"), "out of memory", "oom", "memory"),
    (replace(OWN, state="killed", fault="killed", why="SIGSEGV"), task("COMPLETED"), "killed", "killed", "SIGSEGV"),
]


@pytest.mark.parametrize(("status", "tasks", "fault", "state", "says"), ENDED)
def test_job_that_ended(
    tmp_path: Path,
    status: Status | None,
    tasks: dict[tuple[str, int], Task],
    fault: Fault,
    state: str,
    says: str,
) -> None:
    verdict = judge(recorded(tmp_path, status), LAST, tasks)
    assert verdict.standing == "failed"
    assert not verdict.active
    assert verdict.status is not None
    assert (verdict.status.state, verdict.status.fault) == (state, fault)
    assert says in verdict.status.why
    assert verdict.news is not None
    assert (verdict.news.fault, verdict.news.why) == (fault, verdict.status.why)


def test_finished_run_is_ok_whatever_became_of_its_job(tmp_path: Path) -> None:
    for tasks in ({}, None, task("PREEMPTED"), task("PENDING")):
        assert judge(recorded(tmp_path, replace(OWN, state="ok")), LAST, tasks).standing == "ok"


def test_running_process_is_not_given_up(tmp_path: Path) -> None:
    """An orphan on a node that the scheduler has lost still holds the run's lock."""
    run = recorded(tmp_path, OWN)
    with run.lock():
        assert judge(run, LAST, {}).standing == "running"


def test_memory_is_told_by_slurms_own_words_only(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("abc: SIGKILL; the machine may have run out of memory\n")
    run = recorded(tmp_path, OWN)
    assert judge(run, LAST, task("FAILED", 137), log).status.fault == "killed"  # type: ignore[union-attr]
    log.write_text("slurmstepd: error: Step 3.0 exceeded memory limit (9 > 5), being killed\n")
    assert judge(run, LAST, task("FAILED", 137), log).status.fault == "out of memory"  # type: ignore[union-attr]


def test_settled_attempt_speaks_where_the_record_could_not_be_written(tmp_path: Path) -> None:
    settled = replace(LAST, fault="storage", why="full", ended=200.0)
    verdict = judge(recorded(tmp_path, OWN), settled, {})
    assert (verdict.standing, verdict.status and verdict.status.why, verdict.news) == ("failed", "full", None)
    newer = Status("failed", why="a local run", started="2026-01-01T00:00:00+00:00")
    assert judge(recorded(tmp_path, newer), settled, {}).status == newer


def attempts(*faults: Fault) -> list[Attempt]:
    return [replace(LAST, fault=fault) for fault in faults]


@pytest.mark.parametrize(
    ("faults", "policy", "again"),
    [
        (["killed"], Policy(), True),
        (["killed"] * 3, Policy(), True),
        (["killed"] * 4, Policy(), False),
        (["killed"] * 4, Policy(failed=True), True),
        (["preempted"] * 9, Policy(), True),
        (["killed"], Policy(retries=0), False),
        (["python error"], Policy(), False),
        (["python error"], Policy(failed=True), True),
        (["cancelled"], Policy(), True),
        (["cancelled"], Policy(cancelled=False), False),
        (["never started", "storage", "node failure"], Policy(), True),
    ],
)
def test_what_is_tried_again(tmp_path: Path, faults: list[Fault], policy: Policy, again: bool) -> None:
    past = attempts(*faults)
    verdict = judge(recorded(tmp_path, replace(OWN, state="failed", fault=faults[-1])), past[-1], {})
    assert policy.takes(verdict, past) is again


def test_next_attempt_gets_more_of_what_was_too_little() -> None:
    asked = Resources(timeout_min=10, mem_gb=3)
    assert grown(asked, attempts("killed", "preempted")) == asked
    assert grown(asked, attempts("out of memory", "out of memory")) == Resources(timeout_min=10, mem_gb=12)
    assert grown(asked, attempts("timeout", "killed")) == Resources(timeout_min=20, mem_gb=3)
    assert grown(Resources(), attempts("timeout", "out of memory")) == Resources(mem_gb=8)
