"""`costaware logs`: what one run printed, how it ended, and how to do it again."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("logs")
@click.argument("directory", type=click.Path(path_type=Path))
@click.argument("run")
def command(directory: Path, run: str) -> None:
    """Print the log of one run.

    The first digits of its id are enough. Also says how it ended, and how to do it again.
    """
    from bench.survey import survey
    from strategies.errors import WrongUse, unknown

    found = survey(directory)
    matches = [name for name in found.runs if name.startswith(run)]
    if len(matches) > 1:
        raise WrongUse(f"run {run} is {', '.join(matches)}: give more digits")
    if not matches:
        raise unknown("run", run, found.runs)
    spec, _, status = found.runs[matches[0]]
    click.echo(f"{matches[0]}: {spec.task} with {spec.method}, seed {spec.seed}")
    standing = found.standings[matches[0]]
    click.echo(f"{status.state}: {status.why}" if status and standing == "failed" else standing)
    for line in status.earlier if status else ():
        click.echo(f"before that: {line}")
    job, log = found.job(matches[0]), found.log(matches[0])
    click.echo(f"job {job.job}, submission {job.attempt}" if job else "", nl=bool(job))
    click.echo(f"again: {spec.command}\n")
    if log.is_file():
        click.echo(log.read_text(errors="replace"), nl=False)
