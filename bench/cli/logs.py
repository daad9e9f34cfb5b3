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

    runs = survey(directory).runs
    matches = [name for name in runs if name.startswith(run)]
    if len(matches) > 1:
        raise WrongUse(f"run {run} is {', '.join(matches)}: give more digits")
    if not matches:
        raise unknown("run", run, runs)
    spec, found, status = runs[matches[0]]
    click.echo(f"{matches[0]}: {spec.task} with {spec.method}, seed {spec.seed}")
    click.echo(f"{status.state}: {status.why}" if status and status.why else status.state if status else "missing")
    click.echo(f"again: {spec.command}\n")
    if found.log_file.is_file():
        click.echo(found.log_file.read_text(errors="replace"), nl=False)
