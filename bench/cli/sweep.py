"""`costaware sweep`: a grid of runs, and its leaderboard."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench.cli import FAILED, options

if TYPE_CHECKING:
    from bench.rundir import Status
    from bench.spec import RunSpec
    from bench.sweep import Resources, Sweep

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
@options.cluster
@click.option("--jobs", type=click.IntRange(min=1), help="Runs at a time; default: one a core.")
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
    cluster: str,
    jobs: int | None,
    dry_run: bool,
    board: bool,
    plugins: tuple[Any, ...],
) -> None:
    """Do a sweep's runs, then its leaderboard.

    What is finished is not done again: the same command goes on where the last one stopped. NAME is a sweep that ships
    (`costaware list sweeps`), FILE a TOML file of yours.
    """
    from bench import launch, plan
    from bench.cli import leaderboard
    from bench.rundir import RunDir
    from bench.sweep import load

    sweep = load(name, seeds).with_rollouts(rollouts).with_methods(strategies)
    plan.check(sweep)
    runs, directory = list(sweep.runs()), out / sweep.name
    if dry_run:
        click.echo(_preview(sweep, runs, directory))
        return
    with plan.claimed(directory):
        left_out = plan.write(directory, sweep, [spec for spec, _ in runs], ctx.obj)
        if left_out:
            click.echo(f"{left_out} runs of an earlier version of this sweep leave its grid; their directories stay")
        launch.launch(directory, runs, options.backend(cluster, jobs))
    failed = _report(directory, [spec for spec, _ in runs])
    if board and any(RunDir(directory / spec.run_id).points_file.exists() for spec, _ in runs):
        ctx.invoke(leaderboard.command, dirs=(directory,), out=directory / "site", plugins=plugins, as_json=False)
    else:
        click.echo(f"the board: costaware leaderboard {directory} --out site")
    if failed:
        raise click.exceptions.Exit(FAILED)


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
    kinds = Counter(found.kind(status) for run, (_, _, status) in found.runs.items() if run in own)
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
