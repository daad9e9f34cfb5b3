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
        longest = scheduler.max_array_size()
    arrays = plans.arrays(directory.resolve(), left, import_root(), longest, parallel)
    lines, shown = [], set()
    for plan in arrays:
        lines.append(_line(plan))
        if id(plan.resources) not in shown:
            shown.add(id(plan.resources))
            lines += [f"  | {line}" for line in slurm.script(plan).splitlines()]
    tokens, unknown = _tokens([spec for spec, _ in left])
    without = f", and {unknown} runs without a budget" if unknown else ""
    lines.append(f"{si(tokens)} backward tokens{without}; {_hours(directory, runs, left)}")
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


def _tokens(specs: list[RunSpec]) -> tuple[float, int]:
    """Backward tokens of the runs' budgets, and the number of runs whose budget is not known here."""
    defaults: dict[str, float | None] = {}
    total, unknown = 0.0, 0
    for spec in specs:
        budget = spec.budget
        if budget is None:
            world = json.dumps([spec.task, dict(spec.settings)])
            if world not in defaults:
                defaults[world] = _default_budget(spec.task, spec.settings)
            budget = defaults[world]
        total, unknown = total + (budget or 0.0), unknown + (budget is None)
    return total, unknown


def _default_budget(task: str, settings: Mapping[str, object]) -> float | None:
    with suppress(suites.MissingExtra):
        return suites.make(task, settings).default_budget
    return None


def _hours(directory: Path, runs: Runs, left: Runs) -> str:
    """GPU-hours by the mean time of the task's finished runs, else by the runs' limits, which they need not reach."""
    seen: dict[str, list[float]] = {}
    for spec, _ in runs:
        status = RunDir(directory / spec.run_id).recorded_status()
        if status is not None and status.state == "ok":
            seen.setdefault(spec.task, []).append(status.wall_s / 3600)
    gpu_hours, at_most, open_ended = 0.0, False, False
    for spec, resources in left:
        if spec.task in seen:
            hours = fmean(seen[spec.task])
        else:
            at_most, open_ended = True, open_ended or resources.timeout_min is None
            hours = (resources.timeout_min or 0.0) / 60
        gpu_hours += hours * resources.nodes * (resources.gpus or 0)
    if open_ended and any(resources.gpus for _, resources in left):
        return "GPU-hours unknown: no timeout_min, and no finished run to go by"
    return f"{'at most ' if at_most else 'about '}{gpu_hours:.3g} GPU-hours"
