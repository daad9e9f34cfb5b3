"""`costaware data`: the sets that the cluster engine trains on and is judged on."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench.cli import FAILED, WRONG_USE, options

if TYPE_CHECKING:
    from suites.verl.data.prepared import Prepared
    from suites.verl.data.recipe import Recipe


@click.group("data")
def command() -> None:
    """Prepare and list the data sets of the presets paper-*."""


def _out(function: Any) -> Any:
    return click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Default: $COSTAWARE_DATA, else `data` in the cache.",
    )(function)


@command.command("prepare")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--from", "place", type=click.Path(path_type=Path), metavar="FILE|DIR", help="Local copies, not the hub.")
@_out
@click.option(
    "--format",
    "answer_format",
    default="boxed",
    show_default=True,
    metavar="NAME",
    help="How prompts ask for the answer: boxed, `answer` (a line `Answer: ...`), hashes (####).",
)
@click.option("--any-count", is_flag=True, help="Take another number of problems than the set has.")
@options.json_flag
def prepare(
    names: tuple[str, ...], place: Path | None, out: Path | None, answer_format: str, any_count: bool, as_json: bool
) -> None:
    """Write DIR/NAME.parquet for verl: from the hub, or from local files (JSON lines, JSON, parquet).

    Without NAME: all sets, or with --from DIR those that are there. Each problem is kept once.
    """
    from strategies import WrongUse
    from strategies.errors import unknown
    from suites.verl import data
    from suites.verl.data.prompts import FORMATS

    if answer_format not in FORMATS:
        raise unknown("--format", answer_format, FORMATS)
    wanted = [data.find(name) for name in dict.fromkeys(names)] or list(data.SETS.values())
    done: list[Prepared] = []
    errors: list[Exception] = []
    for recipe in wanted:
        try:
            paths = _copies(recipe, place, len(wanted) == 1)
            if place is None or paths:
                done.append(_prepare(recipe, paths, out, answer_format, any_count))
            elif names:
                known = " or ".join(sorted(recipe.known_as))
                raise WrongUse(f"{place}: no copy of {recipe.name} there; it would be called {known}")
        except (WrongUse, OSError) as error:  # the other sets can still be had
            errors.append(error)
            click.echo(f"costaware: error: {error}", err=True)
    if not done and not errors:
        raise WrongUse(f"{place}: no set is there; sets: {', '.join(data.SETS)}")
    if as_json:
        click.echo(json.dumps({"sets": [asdict(made) for made in done], "failed": list(map(str, errors))}))
    else:
        click.echo("".join(f"{made} -> {made.file}\n" for made in done), nl=False)
    if errors:
        raise click.exceptions.Exit(WRONG_USE if all(isinstance(e, WrongUse) for e in errors) else FAILED)


def _copies(recipe: Recipe, place: Path | None, alone: bool) -> list[Path]:
    from suites.verl.data import sources

    return [] if place is None else sources.local(recipe, place, alone)


def _prepare(recipe: Recipe, paths: list[Path], out: Path | None, answer_format: str, any_count: bool) -> Prepared:
    """From local copies, or else from the hub."""
    from bench.meter import meter
    from suites.verl.data import sources
    from suites.verl.data.prepare import prepare
    from suites.verl.places import data_dir

    size = sum(path.stat().st_size for path in paths) if paths else recipe.rows or recipe.problems[1]
    with meter(f"reading {recipe.name}", size, "bytes" if paths else "rows") as advance:
        rows = sources.from_files(recipe, paths, advance) if paths else sources.from_hub(recipe, advance)
        source = ", ".join(path.name for path in paths) or recipe.hub
        return prepare(recipe, rows, source, out or data_dir(), answer_format, any_count)


@command.command("list")
@_out
@options.json_flag
def list_(out: Path | None, as_json: bool) -> None:
    """List the sets, and which of them are prepared."""
    from suites.verl import data
    from suites.verl.data.prepared import noted
    from suites.verl.places import data_dir

    folder = out or data_dir()
    found = {recipe: noted(recipe, folder) for recipe in data.SETS.values()}
    if as_json:
        sets = [
            {
                "name": recipe.key,
                "doc": recipe.doc,
                "hub": recipe.hub,
                "prepared": None if note is None else asdict(note),
            }
            for recipe, note in found.items()
        ]
        click.echo(json.dumps({"dir": str(folder), "sets": sets}))
        return
    click.echo(f"{folder}:")
    for recipe, note in found.items():
        state = "not prepared" if note is None else f"{note.problems:,} problems, {note.answer_format}"
        click.echo(f"  {recipe.key:14} {state:26} {recipe.doc} ({recipe.hub})")
