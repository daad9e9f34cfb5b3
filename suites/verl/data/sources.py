"""Where rows come from: the hub, or files on this machine. Never a whole set in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from strategies.errors import WrongUse
from suites.replay import files
from suites.replay.files import Advance, BadRecord
from suites.verl.data.recipe import Columns, Recipe

Row = tuple[str, dict[str, Any], Columns]  # where it stands, for messages
WITHOUT_HUB = "without the hub, give a copy by --from FILE"


def from_hub(recipe: Recipe, advance: Advance) -> Iterator[Row]:
    """The rows of the hub's copy; `advance` counts rows.

    Raises:
        ConnectionError: the hub can't be reached, or has no such set.
        WrongUse: a copy in other columns.
    """
    import datasets

    try:
        stream = datasets.load_dataset(recipe.hub, recipe.config, split=recipe.split, streaming=True)
        names = stream.column_names or list(next(iter(stream), {}))
    except Exception as error:  # whatever a hub's client raises
        raise _unreachable(recipe, error) from error
    try:
        columns = recipe.columns(names)
    except BadRecord as bad:
        raise WrongUse(f"{recipe.hub}: {bad}") from bad
    rows = iter(stream.select_columns(columns.top))
    number = 0
    while True:
        try:
            row = next(rows, None)
        except Exception as error:  # the connection may break at any row
            raise _unreachable(recipe, error) from error
        if row is None:
            return
        number += 1
        advance(1)
        yield f"{recipe.hub}, row {number}", row, columns


def _unreachable(recipe: Recipe, error: Exception) -> ConnectionError:
    why = " ".join(str(error).split())[:200] or type(error).__name__
    return ConnectionError(f"{recipe.name}: {recipe.hub} can't be fetched ({why}); {WITHOUT_HUB}")


def from_files(recipe: Recipe, paths: Sequence[Path], advance: Advance) -> Iterator[Row]:
    """The rows of local files: JSON lines, a JSON array or parquet; `advance` counts bytes.

    Raises:
        WrongUse: a file that can't be read, a line that isn't a record, or other columns.
    """
    for path in paths:
        found: list[Columns] = []

        def select(names: Sequence[str], found: list[Columns] = found) -> list[str]:
            found.append(recipe.columns(names))
            return found[0].top

        for where, record in files.records(path, select, advance):
            if isinstance(record, BadRecord):
                raise WrongUse(f"{path}, {where}: {record}")
            yield f"{path}, {where}", record, found[0]


def local(recipe: Recipe, place: Path, alone: bool) -> list[Path]:
    """The files of a set: `place` itself, or what is called like the set in that folder; none where nothing is.

    Args:
        recipe: the set.
        place: a file or a folder.
        alone: it is the only set that is asked for, so that a folder may hold its files under any name.

    Raises:
        WrongUse: nothing is at `place`.
    """
    if not place.is_dir():
        return files.sources([place])
    called = [path for path in sorted(place.iterdir()) if path.stem.lower() in recipe.known_as]
    whole = [path for path in called if path.is_file() and path.suffix in files.SUFFIXES]
    if whole:
        return whole[:1]
    inside = [path for path in called if path.is_dir()] or ([place] if alone else [])
    for folder in (sub for path in inside for sub in (path, path / "data")):  # `data` in a clone of the hub's
        if folder.is_dir() and any(path.suffix in files.SUFFIXES for path in folder.iterdir()):
            return files.sources([folder])
    return []
