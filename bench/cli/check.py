"""`costaware check`: measure what a strategy declares."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench.cli import FAILED, options

if TYPE_CHECKING:
    from strategies.conformance import Check

MARKS = {True: "ok  ", False: "FAIL", None: "-   "}


@click.command("check")
@click.argument("name", required=False)
@click.option(
    "--plugin",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A Python file that registers strategies (repeatable); without NAME all of its strategies are checked.",
)
@options.json_flag
def command(name: str | None, files: tuple[Path, ...], as_json: bool) -> None:
    """Measure what strategy NAME, or each one of a --plugin file, declares: unbiased, unmoved by the order, ...

    NAME may be a whole spec: `pps:design=poisson`. Prints a line per property; exit code 1 if one fails or a file does
    not load. --json prints an object, or a list of them where files register several strategies.
    """
    from strategies import WrongUse

    if name is None and not files:
        raise WrongUse("check what? name a strategy (`costaware list`) or give --plugin FILE")
    reports = _reports(name, files)
    if as_json:
        objects = [_object(method, checks) for method, checks in reports]
        click.echo(json.dumps(objects[0] if len(objects) == 1 else objects, indent=1))
    else:
        for method, checks in reports:
            _print(method, checks)
    if not all(check.ok for _, checks in reports for check in checks):
        raise click.exceptions.Exit(FAILED)


def _reports(name: str | None, files: tuple[Path, ...]) -> list[tuple[str, list[Check]]]:
    """(method, its checks) of all that is asked for; a file that does not load fails the property `loads`."""
    from strategies import WrongUse, conformance, registry
    from strategies.method import parse

    methods, unloaded = [], []
    for file in files:
        try:
            plugin = registry.load_file(file)
        except WrongUse as error:
            unloaded.append((str(file), [conformance.Check("loads", False, str(error))]))
        else:
            methods += [entry.name for entry in registry.entries() if entry.origin == plugin.path]
    if unloaded:
        return unloaded
    return [(m, conformance.run(m)) for m in ([str(parse(name))] if name else methods)]


def _object(method: str, checks: list[Check]) -> dict[str, Any]:
    lines = [{"name": check.name, "ok": check.ok, "why": check.why} for check in checks]
    return {"method": method, "ok": all(check.ok for check in checks), "checks": lines}


def _print(method: str, checks: list[Check]) -> None:
    failed = [check.name for check in checks if check.ok is False]
    verdict = f"fails {', '.join(failed)}" if failed else f"all {len(checks)} properties hold"
    click.echo(f"{method}: {verdict}")
    width = max(len(check.name) for check in checks)
    for check in checks:
        click.echo(f"  {MARKS[check.ok]} {check.name:{width}}  {check.why}".rstrip())
