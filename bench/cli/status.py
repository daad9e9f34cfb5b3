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

LOOK_EVERY_S = 2.0


@click.command("status")
@click.argument("directory", type=click.Path(path_type=Path))
@options.json_flag
@click.option("--watch", is_flag=True, help="Look again every two seconds until nothing runs.")
def command(directory: Path, as_json: bool, watch: bool) -> None:
    """Say how far a directory of runs is.

    Counts runs by state, and names those that failed with the log of each.
    """
    from bench.survey import survey

    shown = ""
    while True:
        found = survey(directory)
        text = json.dumps(found.to_json(), indent=None if watch else 1) if as_json else _text(found)
        if text != shown:
            click.echo(text)
        shown = text
        if not watch or not (found.active or found.counts["running"]):
            return
        time.sleep(LOOK_EVERY_S)


def _text(found: Survey) -> str:
    from bench.meter import clock

    counts = ", ".join(f"{number} {kind}" for kind, number in found.counts.items() if number)
    left = "" if not found.eta_s else f"; about {clock(found.eta_s)} left"
    rows = [
        f"{row['run']}  {row['state']}: {row['task']} {row['method']}: {row['why']} ({row['log']})"
        for row in found.failed
    ]
    return "\n".join([f"{len(found.runs)} runs: {counts}{left}", *rows])
