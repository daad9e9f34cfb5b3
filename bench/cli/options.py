"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from strategies.registry import Plugin

F = TypeVar("F", bound=Callable[..., Any])


def _load(ctx: click.Context, param: click.Parameter, files: tuple[str, ...]) -> tuple[Plugin, ...]:
    from strategies import registry

    return tuple(registry.load_file(file) for file in files)


def plugins(function: F) -> F:
    """Add `--plugin FILE` (repeatable); the files are loaded, and passed as `plugins: tuple[Plugin, ...]`."""
    option = click.option(
        "--plugin",
        "plugins",
        metavar="FILE",
        multiple=True,
        is_eager=True,  # before any --strategy is looked at
        callback=_load,
        help="A Python file that registers strategies (repeatable).",
    )
    return option(function)


def json_flag(function: F) -> F:
    """Add `--json`, passed as `as_json: bool`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")(function)
