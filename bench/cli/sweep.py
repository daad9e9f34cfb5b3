"""`costaware sweep`: a grid of runs, and its leaderboard."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench.cli import FAILED, options

if TYPE_CHECKING:
    from bench.resources import Resources
    from bench.rundir import Status
    from bench.spec import RunSpec
    from bench.submission import Options
    from bench.sweep import Sweep

NAMED = 10  # failed runs that are named one by one


@click.command("sweep")
@click.argument("name", metavar="NAME|FILE")
@click.option(
    "--out", default=Path("runs"), type=click.Path(path_type=Path), show_default=True, help="Writes OUT/NAME."
)
@click.option(
    "--strategy", "strategies", multiple=True, metavar="SPEC", help="One more method for every task (repeatable)."
)
@click.option("--seeds", type=click.IntRange(min=1), help="Seeds a method, where the task doesn't fix them itself.")
@click.option(
    "--rollouts",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also replay this log (repeatable).",
)
@click.option(
    "--resource",
    "resources",
    multiple=True,
    metavar="KEY=VALUE",
    help="Over the sweep's own, e.g. gpus=8 (repeatable).",
)
@options.cluster
@options.slurm
@click.option("--jobs", type=click.IntRange(min=1), help="Runs at a time; default: one a core. slurm: jobs an array.")
@click.option("--dry-run", is_flag=True, help="Say what would run; write nothing.")
@click.option("--board/--no-board", default=True, show_default=True, help="Make the leaderboard at the end.")
@options.plugins
@click.pass_context
def command(
    ctx: click.Context,
    name: str,
    out: Path,
    strategies: tuple[str, ...],
    seeds: int | None,
    rollouts: tuple[Path, ...],
    resources: tuple[str, ...],
    cluster: str,
    wait: bool | None,
    retries: int | None,
    retry_failed: bool,
    snapshot: bool,
    jobs: int | None,
    dry_run: bool,
    board: bool,
    plugins: tuple[Any, ...],
) -> None:
    """Do a sweep's runs, then its leaderboard.

    What is finished is not done again: the same command goes on where the last one stopped. NAME is a sweep that ships
    (`costaware list sweeps`), FILE a TOML file of yours.

    On Slurm the command submits what is missing, and returns: `costaware status` says how far it is. Given again, it
    submits what failed for the machine's reasons, with more time or memory where that was too little, and nothing that
    is queued or runs.
    """
    from bench import launch, plan
    from bench.sweep import load

    chosen = options.submission(cluster, jobs, wait, retries, retry_failed, snapshot)
    sweep = load(name, seeds).with_rollouts(rollouts).with_methods(strategies).with_resources(resources)
    plan.check(sweep)
    runs, directory = list(sweep.runs()), out / sweep.name
    if dry_run:
        click.echo(_preview(sweep, runs, directory))
        if chosen is not None:
            from bench import estimate

            click.echo(estimate.text(directory, runs, jobs))
        return
    with plan.claimed(directory):
        left_out = plan.write(directory, sweep, [spec for spec, _ in runs], ctx.obj)
        if left_out:
            click.echo(f"{left_out} runs of an earlier version of this sweep leave its grid; their directories stay")
        if chosen is not None:
            problems, going_on = _submit(directory, runs, chosen, bool(wait))
        else:
            problems, going_on = launch.launch(directory, runs, options.backend(cluster, jobs)), False
    for problem in problems:
        click.echo(f"  {problem}", err=True)
    failed = _report(directory, [spec for spec, _ in runs])
    _board(ctx, directory, [spec for spec, _ in runs] if board and not going_on else [], plugins)
    if failed or problems:
        raise click.exceptions.Exit(FAILED)


def _submit(
    directory: Path, runs: list[tuple[RunSpec, Resources]], chosen: Options, wait: bool
) -> tuple[list[str], bool]:
    """Submit, and stay if need be; returns what kept runs back, and whether the cluster has still to do."""
    from bench import submission, waiting

    made = submission.submit(directory, runs, chosen)
    jobs = sum(len(array.packs) for array in made.arrays)
    if jobs:
        click.echo(f"submitted {made.submitted} runs: {jobs} jobs in {len(made.arrays)} arrays", err=wait)
    if wait and made.active:
        made = waiting.wait(directory, runs, chosen, made)
    elif made.active:
        click.echo(f"follow it: costaware status {directory}")
    held = [f"{made.held_back} runs were not submitted; the same command tries again"] if made.held_back else []
    return made.problems + held, made.active and not wait


def _board(ctx: click.Context, directory: Path, specs: list[RunSpec], plugins: tuple[Any, ...]) -> None:
    from bench.cli import leaderboard
    from bench.rundir import RunDir

    if any(RunDir(directory / spec.run_id).points_file.exists() for spec in specs):
        ctx.invoke(leaderboard.command, dirs=(directory,), out=directory / "site", plugins=plugins, as_json=False)
    else:
        click.echo(f"the board: costaware leaderboard {directory} --out site")


def _preview(sweep: Sweep, runs: list[tuple[RunSpec, Resources]], directory: Path) -> str:
    from bench.rundir import RunDir

    done = Counter(spec.task for spec, _ in runs if _is_ok(RunDir(directory / spec.run_id).status()))
    planned = Counter(spec.task for spec, _ in runs)
    lines = [
        f"{entry.name}: {planned[entry.name]} runs, {done[entry.name]} done; seeds {entry.seeds}; "
        f"baseline {entry.baseline}; {' '.join(entry.methods)}"
        for entry in sweep.entries
    ]
    return "\n".join([*lines, f"{sweep.name}: {len(runs)} runs, {done.total()} done, into {directory}"])


def _is_ok(status: Status | None) -> bool:
    return status is not None and status.state == "ok"


def _report(directory: Path, specs: list[RunSpec]) -> bool:
    """Say how the runs ended; whether any failed."""
    from bench.survey import survey

    found, own = survey(directory), {spec.run_id for spec in specs}
    kinds = Counter(kind for run, kind in found.standings.items() if run in own)
    click.echo(
        f"records of {len(own)} runs in {directory}: " + ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    )
    reasons = Counter(status.why for _, _, status in found.runs.values() if status and status.state == "not run")
    for why, number in reasons.items():
        click.echo(f"  {number} not run: {why}")
    failed = [row for row in found.failed if row["run"] in own]
    for row in failed[:NAMED]:
        click.echo(f"  {row['run']} {row['state']}: {row['task']} with {row['method']}: {row['why']} ({row['log']})")
    if len(failed) > NAMED:
        click.echo(f"  and {len(failed) - NAMED} more: costaware status {directory}")
    return bool(failed)
