"""costaware leaderboard: a page that says what saves how many tokens, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.cli.options import json_flag, plugins, warnings_in_a_line

if TYPE_CHECKING:
    from strategies.registry import Plugin


@click.command("leaderboard")
@click.argument("dirs", metavar="DIR...|@reference", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    metavar="SITE",
    default="site",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the page goes.",
)
@click.option("--serve", is_flag=True, help="Then show it in the browser, until interrupted.")
@click.option(
    "--pack",
    "pack_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the records of DIR... into one small file instead, to hand on: it is read like a directory.",
)
@click.option("--diff", is_flag=True, help="Say what changed from the first DIR to the second, and write nothing.")
@plugins
@json_flag
def command(
    dirs: tuple[Path, ...],
    out: Path,
    serve: bool,
    pack_file: Path | None,
    diff: bool,
    plugins: tuple[Plugin, ...],
    as_json: bool,
) -> None:
    """Build the leaderboard of the runs in DIR...: sweep or run directories, packs, @reference (results that ship).

    Writes SITE/index.html (opens from disk, no network) with a page a task and a page a method, leaderboard.json and
    .csv, runs.csv, points.parquet, and figures as SVG and PDF.

    Example: costaware leaderboard runs/smoke --out site
    """
    from bench.meter import Display
    from leaderboard.reference import expand
    from leaderboard.site import build

    click.get_current_context().with_resource(warnings_in_a_line())
    if diff:
        click.echo(_diff(dirs, as_json))
        return
    dirs = tuple(expand(dirs))
    if pack_file is not None:
        click.echo(_pack(dirs, pack_file))
        return
    with Display(1.0) as display:
        made = build(dirs, out, display.show)
    if as_json:
        click.echo((out / "leaderboard.json").read_text(), nl=False)
        return
    finished = int((made.records.runs["state"] == "ok").sum())
    click.echo(f"{out / 'index.html'}: {len(made.rows)} rows from {finished} of {len(made.records.runs)} runs")
    if serve:
        from leaderboard.serve import show

        show(out, click.echo)


def _pack(dirs: tuple[Path, ...], file: Path) -> str:
    """Make a pack of the runs in `dirs`; what to tell the user."""
    from bench.records import load
    from leaderboard.board import board
    from leaderboard.reference import pack

    made = board(load(dirs))
    size = pack(made, file)
    return f"{file}: {len(made.records.runs)} runs in {size / 1000:,.0f} kB; see costaware leaderboard {file}"


def _diff(dirs: tuple[Path, ...], as_json: bool) -> str:
    """What changed between the boards of two sources, as a table or as JSON."""
    import json

    from bench.records import load
    from leaderboard.board import board
    from leaderboard.diff import changes, table
    from leaderboard.reference import expand
    from strategies.errors import WrongUse

    if len(dirs) != 2:
        raise WrongUse(f"--diff compares two boards, {len(dirs)} given: costaware leaderboard BEFORE AFTER --diff")
    before, after = (board(load(expand([source]))) for source in dirs)
    found = changes(before, after)
    if not as_json:
        return f"{dirs[0]} -> {dirs[1]}\n{table(found)}"
    tree = {"before": str(dirs[0]), "after": str(dirs[1]), "changes": [change.to_json() for change in found]}
    return json.dumps(tree, indent=1, allow_nan=False, ensure_ascii=False)
