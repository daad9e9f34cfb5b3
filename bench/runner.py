"""One run in one directory: `execute(path)` does what is not done yet and records how it ended.

The same function serves the local pool, the debugger and a batch system's job: only the path crosses to the worker.
Records of equal specs are equal in every column but `wall_s`: one thread, deterministic torch, seeds from the spec.
"""

from __future__ import annotations

import json
import math
import os
import socket
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import filelock

from bench import provenance
from bench.faults import KINDS, Fault, fault_of
from bench.rundir import GONE, LOCK_WAIT_S, RunDir, Status
from bench.spec import RunSpec, fingerprint
from strategies import Method, WrongUse, parse, registry
from suites import task as suites

JOB = "COSTAWARE_JOB"  # environment variable: the batch system's job that this process belongs to
KEPT = 20  # attempts whose end a status tells


class Refused(Exception):
    """The task can't mean anything with this method; the message says why (the cell reads "not run: ...")."""


class Changed(WrongUse):
    """A file that the run stands on is not what it was when the run was specified."""


def execute(path: Path) -> Status | None:
    """Do the run that lies in `path`; a finished one is a no-op.

    Returns:
        how it ended, or None where another process is doing it right now.
    """
    run = RunDir(path)
    try:
        with run.lock().acquire(timeout=LOCK_WAIT_S):
            before = run.recorded_status()
            if before is not None and before.state == "ok":
                return before
            return _attempt(run, run.spec(), before)
    except filelock.Timeout:
        return None


def mark(path: Path, fault: Fault, why: str) -> None:
    """Record for a worker that can't speak any more how its run ended."""
    run = RunDir(path)
    before = run.recorded_status() or Status("running", attempts=0, started=_now())
    run.write_status(replace(before, state=KINDS[fault].state, fault=fault, why=why, finished=_now()))


def _begun(spec: RunSpec, before: Status | None) -> Status:
    earlier: list[str] = []
    if before is not None:
        how = f"killed: {GONE}" if before.state == "running" else f"{before.state}: {before.why}"
        earlier = [*before.earlier, how][-KEPT:]
    attempts = before.attempts + 1 if before else 1
    status = Status("running", attempts=attempts, earlier=earlier, budget=spec.budget, started=_now())
    status = replace(status, host=socket.gethostname(), job=os.environ.get(JOB, ""))
    return replace(status, versions=provenance.versions(), git=provenance.git())


def _attempt(run: RunDir, spec: RunSpec, before: Status | None) -> Status:
    begun = time.monotonic()
    status = _begun(spec, before)
    run.write_status(status)
    try:
        task, method = _world(run, spec)
        metrics = {name: asdict(metric) for name, metric in task.metrics.items()}
        budget = spec.budget if spec.budget is not None else task.default_budget
        resumes = type(task).recorded is not suites.Task.recorded
        status = replace(status, metrics=metrics, budget=budget, resumes=resumes)
        run.write_status(status)
        _record(run, spec, task, method)
        status = replace(status, state="ok")
    except (suites.MissingExtra, Refused) as reason:
        status = replace(status, state="not run", why=one_line(reason))
    except KeyboardInterrupt:
        mark(run.path, "cancelled", "interrupted")
        raise
    except Changed as error:
        status = replace(status, state="failed", fault="never started", why=one_line(error))
    except BaseException as error:  # SystemExit too: a plugin that leaves must not take the worker along
        with suppress(OSError), run.log_file.open("a") as log:  # a full disk must not hide the error itself
            traceback.print_exception(error, file=log)
        fault = fault_of(error)
        status = replace(status, state=KINDS[fault].state, fault=fault, why=one_line(error))
    status = replace(status, finished=_now(), wall_s=round(time.monotonic() - begun, 3))
    run.write_status(status)
    return status


def kept_plugin(sweep: Path, plugin: registry.Plugin) -> Path:
    """Where a sweep that keeps its code keeps a strategy file."""
    return sweep / "code" / f"plugin-{plugin.sha256[:16]}.py"


def _load_files(run: RunDir, spec: RunSpec) -> None:
    """Load the strategy files, the sweep's own copies before the originals; all must be what the spec says."""
    try:
        for plugin in spec.plugins:
            kept = kept_plugin(run.path.parent, plugin)
            registry.load_file(kept if kept.is_file() else plugin.path, plugin.sha256)
        for key, sha256 in spec.files.items():
            if fingerprint(key, spec.settings[key]) != sha256:
                raise WrongUse(f"{key}={spec.settings[key]} has changed since the run was specified: sweep again")
    except WrongUse as error:
        raise Changed(str(error)) from error


def _world(run: RunDir, spec: RunSpec) -> tuple[suites.Task, Method]:
    """The task and the method of a spec."""
    _load_files(run, spec)
    method = parse(spec.method)
    task = suites.make(spec.task, spec.settings)
    try:
        task.check(method)
    except WrongUse as refusal:
        raise Refused(str(refusal)) from refusal
    return task, method


def _record(run: RunDir, spec: RunSpec, task: suites.Task, method: Method) -> None:
    _pin_torch()
    earlier = resume(run, task)
    world, draw = suites.seeds(spec.task, method, spec.seed, spec.repeat)
    request = suites.Request(method, world, draw, spec.budget, run.path)
    begun = time.monotonic() - earlier
    with run.points_file.open("a") as file:
        for point in task.run(request):
            line = {"run": spec.run_id, **flat(point), "wall_s": round(time.monotonic() - begun, 3)}
            file.write(json.dumps(line, allow_nan=False) + "\n")
            file.flush()


def resume(run: RunDir, task: suites.Task) -> float:
    """Cut points.jsonl to what the task continues from; returns the seconds that are on record there.

    A task runs on past a point only when that point is written, so its checkpoint can't be ahead of the records unless
    the machine itself went down; then both start over.
    """
    recorded = task.recorded(run.path)
    if recorded > len(run.points()):
        run.clear()
        recorded = 0
    run.keep_points(recorded)
    points = run.points()
    return float(points[-1]["wall_s"]) if points else 0.0


def _pin_torch() -> None:
    """One thread and deterministic algorithms, where the task has loaded torch."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True, warn_only=True)


def flat(point: suites.Point) -> dict[str, Any]:
    tree = asdict(point)
    tree |= tree.pop("ledger")
    tree["diagnostics"] = {key: _finite(value) for key, value in tree.pop("diagnostics").items()}
    return {key: _finite(value) for key, value in tree.items()}


def _finite(value: Any) -> Any:
    """JSON knows neither NaN nor inf: null. NumPy's numbers become Python's."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def one_line(error: BaseException) -> str:
    """What went wrong, in one line; the error's type where the message was not written for users."""
    text = " ".join(str(error).split())
    return (
        text
        if isinstance(error, WrongUse | suites.MissingExtra | Refused)
        else f"{type(error).__name__}: {text}".rstrip(": ")
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
