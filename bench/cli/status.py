"""`costaware status`: how far a directory of runs is."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.cli import options

if TYPE_CHECKING:
    from bench.survey import Survey

LOOK_EVERY_S, ASK_EVERY_S = 2.0, 15.0  # at records only; at a scheduler that others ask too


@click.command("status")
@click.argument("directory", type=click.Path(path_type=Path))
@options.json_flag
@click.option("--watch", is_flag=True, help="Look again and again until nothing is left to do.")
def command(directory: Path, as_json: bool, watch: bool) -> None:
    """Say how far a directory of runs is.

    Counts runs by state, and names those that failed with the log of each. A sweep on Slurm is asked about in one
    squeue call (and one of sacct): what has ended there is written into the records, and what waits shows what for.
    """
    from bench.survey import settle, survey

    shown = ""
    while True:
        found = survey(directory)
        settle(found)
        text = json.dumps(found.to_json(), indent=None if watch else 1) if as_json else _text(found)
        if text != shown:
            click.echo(text)
        shown = text
        if not watch or not found.going_on:
            return
        time.sleep(ASK_EVERY_S if found.outlooks else LOOK_EVERY_S)


def _text(found: Survey) -> str:
    from bench.meter import clock

    lines = [f"{len(found.runs)} runs{_pace(found)}"]
    lines += [f"{number:7} {kind}" for kind, number in found.counts.items() if number]
    waiting = ", ".join(f"{number} {reason}" for reason, number in found.waits_for.items())
    lines += [f"jobs wait for: {waiting}"] if waiting else []
    lines += [f"time left: about {clock(found.eta_s)}"] if found.eta_s else []
    lines += [f"the scheduler does not answer ({found.silent}): this is what the records say"] if found.silent else []
    lines += [
        f"{row['run']}  {row['state']}: {row['task']} {row['method']}: {row['why']} ({row['log']})"
        for row in found.failed
    ]
    return "\n".join(lines)


def _pace(found: Survey) -> str:
    from bench.meter import si

    return f", {si(found.per_hour)} an hour" if found.per_hour else ""
