"""`costaware cancel`: end a sweep's jobs on the cluster."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("cancel")
@click.argument("directory", type=click.Path(path_type=Path))
@click.argument("runs", metavar="[RUN]...", nargs=-1)
def command(directory: Path, runs: tuple[str, ...]) -> None:
    """End the jobs of a sweep on the cluster, or only those of RUN... (the first digits of an id are enough).

    A job ends with all the runs that are packed into it. What is on record stays; `costaware sweep` with the same
    arguments goes on from there. Runs on this machine end with Ctrl-C where they were started.
    """
    from bench import scheduler
    from bench.survey import survey
    from strategies.errors import WrongUse, unknown

    found = survey(directory)
    if not found.outlooks:
        raise WrongUse(f"{directory}: nothing of it was submitted to a cluster; end a local sweep with Ctrl-C")
    if found.silent:
        raise scheduler.NoAnswer(f"the scheduler does not answer ({found.silent}): nothing was cancelled")
    for run in runs:
        if not any(name.startswith(run) for name in found.runs):
            raise unknown("run", run, found.runs)
    chosen = [name for name in found.verdicts if not runs or name.startswith(runs)]
    ended = {job.job for name in chosen if found.verdicts[name].active and (job := found.job(name))}
    scheduler.cancel(sorted({job.partition("_")[0] for job in ended} if not runs else ended))  # whole arrays: one call
    click.echo(f"cancelled {len(ended)} jobs" if ended else "nothing is queued or running")
