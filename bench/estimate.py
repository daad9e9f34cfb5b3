"""What a submission would be, and what it may cost: for `--dry-run`, from specs and records alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from statistics import fmean

from bench import plans, scheduler, slurm
from bench.meter import si
from bench.plans import Plan
from bench.rundir import RunDir
from bench.spec import RunSpec
from bench.submission import Runs, import_root
from suites import task as suites


def text(directory: Path, runs: Runs, parallel: int | None) -> str:
    """Arrays, resources, sbatch scripts (one for each distinct resources), tokens and GPU-hours of what is not done."""
    left = [(spec, resources) for spec, resources in runs if not _is_ok(directory, spec)]
    longest = scheduler.MAX_ARRAY_SIZE
    with suppress(scheduler.NoAnswer):  # a dry run needs no cluster
        longest = scheduler.longest_array()
    arrays = plans.arrays(directory.resolve(), left, import_root(), longest, parallel)
    lines, shown = [], set()
    for plan in arrays:
        lines.append(_line(plan))
        if id(plan.resources) not in shown:
            shown.add(id(plan.resources))
            lines += [f"  | {line}" for line in slurm.script(plan).splitlines()]
    estimates = _estimates([spec for spec, _ in left])
    tokens = sum(estimate.get("backward", 0.0) for estimate in estimates)
    unknown = sum("backward" not in estimate for estimate in estimates)
    without = f", and {unknown} runs without a budget" if unknown else ""
    lines.append(f"{si(tokens)} backward tokens{without}; {_hours(directory, runs, left, estimates)}")
    return "\n".join(lines)


def _is_ok(directory: Path, spec: RunSpec) -> bool:
    status = RunDir(directory / spec.run_id).recorded_status()
    return status is not None and status.state == "ok"


def _line(plan: Plan) -> str:
    runs, asked = sum(map(len, plan.packs)), plan.resources
    limit = f"{plan.job_min} min" if plan.job_min else "the partition's time limit"
    memory = f"{asked.mem_gb:g} GB" if asked.mem_gb else "default memory"
    what = f"{asked.nodes} nodes, {asked.gpus or 0} GPUs, {asked.cpus or 1} CPUs, {memory}"
    return f"an array of {len(plan.packs)} jobs for {runs} runs: {what}, {limit} a job"


def _estimates(specs: list[RunSpec]) -> list[Mapping[str, float]]:
    """What the task of each run expects it to take, as far as this machine can tell."""
    known: dict[str, Mapping[str, float]] = {}
    estimates = []
    for spec in specs:
        world = json.dumps([spec.task, dict(spec.settings), spec.budget])
        if world not in known:
            known[world] = _estimate(spec)
        estimates.append(known[world])
    return estimates


def _estimate(spec: RunSpec) -> Mapping[str, float]:
    with suppress(suites.MissingExtra):
        return suites.make(spec.task, spec.settings).preview(spec.budget).estimate
    return {} if spec.budget is None else {"backward": spec.budget}


def _hours(directory: Path, runs: Runs, left: Runs, estimates: list[Mapping[str, float]]) -> str:
    """GPU-hours: by the mean time of the task's finished runs; else by the task's estimate; else by the time limit."""
    seen: dict[str, list[float]] = {}
    for spec, _ in runs:
        status = RunDir(directory / spec.run_id).recorded_status()
        if status is not None and status.state == "ok":
            seen.setdefault(spec.task, []).append(status.wall_s / 3600)
    gpu_hours, at_most = 0.0, False
    for (spec, resources), estimate in zip(left, estimates, strict=True):
        gpus = resources.nodes * (resources.gpus or 0)
        if spec.task in seen:
            gpu_hours += gpus * fmean(seen[spec.task])
        elif "gpu_hours" in estimate:
            gpu_hours += estimate["gpu_hours"]
        elif gpus:
            if resources.timeout_min is None:
                return "GPU-hours unknown: no timeout_min, no finished run to go by, and the task can't tell"
            at_most, gpu_hours = True, gpu_hours + gpus * resources.timeout_min / 60
    return f"{'at most' if at_most else 'about'} {si(gpu_hours)} GPU-hours"
