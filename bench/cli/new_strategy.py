"""`costaware new-strategy`: a file to start from."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("new-strategy")
@click.argument("name")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Where to; default: NAME.py, '-' as '_'.")
def command(name: str, out: Path | None) -> None:
    """Write a commented strategy file that passes `costaware check`, to be changed into your own."""
    from strategies import WrongUse, scaffold

    text = scaffold.source(name)
    file = out or Path(name.replace("-", "_") + ".py")
    try:
        with file.open("x") as handle:
            handle.write(text)
    except FileExistsError:
        raise WrongUse(f"{file} exists: nothing written; give another --out FILE") from None
    click.echo(f"{file}: now change it, then `costaware check --plugin {file}`")
