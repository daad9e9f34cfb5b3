"""Records of rollout logs, one at a time: JSON lines, a JSON array, or parquet. A file is never held in memory."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from strategies.errors import WrongUse

SUFFIXES = (".jsonl", ".ndjson", ".json", ".parquet")  # what is taken from a folder
PIECE = 1 << 20  # bytes between two reports of progress, and of a JSON array read at once
ROWS = 64  # of a parquet file, read at once

Select = Callable[[Sequence[str]], Sequence[str]]  # the columns a file has -> those that are read
Advance = Callable[[int], None]  # bytes that were read since the last call


class BadRecord(ValueError):
    """A line that holds no rollout: yielded in its place, so that the reader decides whether to go on."""


def sources(paths: Iterable[str | Path]) -> list[Path]:
    """The log files among `paths`, those of a folder in natural order (2.jsonl before 10.jsonl).

    Raises:
        WrongUse: nothing is there, or a folder has no log in it.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            inside = [file for file in path.iterdir() if file.suffix in SUFFIXES and file.is_file()]
            if not inside:
                raise WrongUse(f"{path}: no rollout log in this folder (looked for {', '.join(SUFFIXES)})")
            found += sorted(inside, key=_natural)
        elif path.is_file():
            found.append(path)
        else:
            raise WrongUse(f"{path}: no such file or folder")
    return found


def _natural(path: Path) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", path.name)]


def records(path: Path, select: Select, advance: Advance) -> Iterator[tuple[str, dict[str, Any] | BadRecord]]:
    """(where, record) of one file, in order; `where` names the line (or the row of a parquet file).

    Args:
        path: parquet by its suffix; a `.json` file that starts with `[` is one array; all else is one object a line.
        select: given the names of the file's columns, returns those to read from a parquet file. A BadRecord that it
            raises takes the place of the record with these names, and the next one is tried.
        advance: told the bytes read, about once a mebibyte.

    Raises:
        WrongUse: a file that can't be opened, a broken parquet file, a JSON array that can't be read on.
    """
    try:
        if path.suffix == ".parquet":
            yield from _parquet(path, select, advance)
            return
        with path.open("rb") as handle:
            yield from _once(_objects(path, handle, advance), select)
    except OSError as error:
        raise WrongUse(f"{path}: can't be read ({error.strerror or error})") from error


def _objects(path: Path, handle: BinaryIO, advance: Advance) -> Iterator[tuple[str, Any]]:
    array = path.suffix == ".json" and handle.read(64).removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"[")
    handle.seek(0)
    return _array(path, handle, advance) if array else _lines(handle, advance)


def _once(values: Iterator[tuple[str, Any]], select: Select) -> Iterator[tuple[str, dict[str, Any] | BadRecord]]:
    """Only objects pass; the first of which `select` can make sense tells the file's columns."""
    told = False
    for where, value in values:
        if not isinstance(value, dict):
            yield where, value if isinstance(value, BadRecord) else BadRecord(f"{shown(value)} is not an object")
            continue
        try:
            if not told:
                select(list(value))
                told = True
            yield where, value
        except BadRecord as bad:
            yield where, bad


def _lines(handle: BinaryIO, advance: Advance) -> Iterator[tuple[str, Any]]:
    pending = 0
    for number, line in enumerate(handle, 1):
        pending += len(line)
        if pending >= PIECE:
            advance(pending)
            pending = 0
        if line.strip():
            yield f"line {number}", _parsed(line.rstrip())
    advance(pending)


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return BadRecord(f"is not UTF-8 text ({error.reason} at byte {error.start})")
    except ValueError as error:
        return BadRecord(f"cut off or not JSON ({_reason(error)})")
    except RecursionError:
        return BadRecord("nested too deeply")


def _reason(error: ValueError) -> str:
    """Without the decoder's own idea of line and column, which knows nothing of the file."""
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error)


def _array(path: Path, handle: BinaryIO, advance: Advance) -> Iterator[tuple[str, Any]]:
    """The elements of one top-level array, decoded as they come in."""
    reader, decoder = codecs.getreader("utf-8-sig")(handle), json.JSONDecoder()
    text, at, line, filler = "", 0, 1, _OPENING
    while True:
        start = filler.match(text, at).end()  # type: ignore[union-attr]  # matches the empty string as well
        line += text.count("\n", at, start)
        filler = _BETWEEN if start > 0 else filler
        if text.startswith("]", start):
            return
        try:
            value, at = decoder.raw_decode(text, start)
        except ValueError as error:
            rest = text[start:]
            piece = _read(path, reader, max(PIECE, len(rest)))  # doubles, so that a huge element is not quadratic
            advance(len(piece))
            if not piece:
                why = f"cut off or not JSON ({_reason(error)})" if rest else "the array is not closed"
                raise WrongUse(f"{path}, line {line}: {why}: the array can't be read any further") from error
            text, at = rest + piece, 0
            continue
        yield f"line {line}", value
        line += text.count("\n", start, at)


_OPENING, _BETWEEN = re.compile(r"\s*\[?\s*"), re.compile(r"[\s,]*")


def _read(path: Path, reader: codecs.StreamReader, size: int) -> str:
    try:
        return reader.read(size)
    except UnicodeDecodeError as error:
        raise WrongUse(f"{path}: is not UTF-8 text ({error.reason})") from error


def _parquet(path: Path, select: Select, advance: Advance) -> Iterator[tuple[str, dict[str, Any] | BadRecord]]:
    import pyarrow
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path, buffer_size=PIECE, pre_buffer=False)  # else row groups come in whole
        wanted = list(select(file.schema_arrow.names))
        share, row = path.stat().st_size / max(file.metadata.num_rows, 1), 0
        for batch in file.iter_batches(batch_size=ROWS, columns=wanted, use_threads=False):
            for record in batch.to_pylist():
                row += 1
                yield f"row {row}", record
            advance(round(share * batch.num_rows))
    except BadRecord as bad:
        yield "schema", bad
    except pyarrow.ArrowException as error:
        raise WrongUse(f"{path}: not a readable parquet file ({' '.join(str(error).split())})") from error


def shown(value: Any) -> str:
    """A value as JSON, cut to 40 characters: for messages."""
    text = json.dumps(value, default=str)
    return text if len(text) <= 40 else text[:37] + "..."
