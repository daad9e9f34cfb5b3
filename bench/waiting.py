"""Stay with a sweep on the batch system until nothing of it is left to do."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from bench import submission
from bench.faults import State
from bench.meter import Display
from bench.pool import Job
from bench.progress import Progress
from bench.rundir import RunDir
from bench.scheduler import NoAnswer
from bench.submission import Options, Round, Runs

LOOK_S = 1.0  # between two looks at the runs' own records
SHARE = 0.1  # of our time that these looks may take
ASK_S, ASK_SELDOM_S, SLOWER = 5.0, 60.0, 1.5  # between two questions to the scheduler: first, at most, growth


def wait(directory: Path, runs: Runs, options: Options, first: Round) -> Round:
    """Watch the records, ask the scheduler now and then, and submit again what failed for the machine's reasons.

    What is cancelled meanwhile stays so. Returns the last round; Ctrl-C leaves the jobs to themselves.
    """
    options = replace(options, policy=replace(options.policy, cancelled=False, failed=False))
    done = sum(verdict.standing == "ok" for verdict in first.verdicts.values())
    jobs = [Job(directory / spec.run_id) for spec, _ in runs if first.verdicts[spec.run_id].standing != "ok"]
    round_, every = first, ASK_S
    with Display(len(runs)) as display:
        progress, left = Progress(display, done, jobs), dict.fromkeys(jobs)
        while round_.active and left:
            _watch(left, progress, every)
            every = min(ASK_SELDOM_S, SLOWER * every)
            if left:
                round_ = _ask(directory, runs, options, round_, display)
    return round_


def _watch(left: dict[Job, None], progress: Progress, seconds: float) -> None:
    """Look at the records for some time, less where nothing but ends is on record; takes out what is done."""
    start = time.monotonic()
    while left:
        begun = time.monotonic()
        states = {job: _state(job) for job in left}
        for job in [job for job, state in states.items() if state == "ok"]:
            del left[job], states[job]
            progress.done(job)
        progress.tick([job for job, state in states.items() if state == "running"])
        open_ = any(state in ("running", None) for state in states.values())
        if begun - start >= (seconds if open_ else ASK_S):
            return
        time.sleep(max(LOOK_S, (time.monotonic() - begun) / SHARE) if left else 0)


def _state(job: Job) -> State | None:
    status = RunDir(job.path).recorded_status()
    return status.state if status else None


def _ask(directory: Path, runs: Runs, options: Options, before: Round, display: Display) -> Round:
    try:
        return submission.submit(directory, runs, options)
    except NoAnswer as why:
        display.show(0, f"still waiting: {why}")
        return before
