"""What is known of a set: where it is published, in which columns, and how many problems it has."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from suites.replay.files import BadRecord, shown


@dataclass(frozen=True)
class Columns:
    """Where a published copy has problem and answer; a dot leads into a structure."""

    problem: str
    answer: str

    @property
    def top(self) -> list[str]:
        """The columns to read."""
        return list(dict.fromkeys(path.partition(".")[0] for path in (self.problem, self.answer)))


PREPARED = Columns("prompt", "reward_model.ground_truth")  # verl's own, and so what we write


def plain(value: Any) -> str:
    """An answer as text: 27.0 is 27, 025 is 25; text stays as it is.

    Raises:
        BadRecord: there is none.
    """
    if isinstance(value, float) and math.isfinite(value):
        value = int(value) if value.is_integer() else value
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
        raise BadRecord(f"has no answer ({shown(value)})")
    text = str(value).strip()
    return str(int(text)) if re.fullmatch(r"[-+]?[0-9]{1,30}", text) else text


@dataclass(frozen=True)
class Recipe:
    """One set.

    name: its `data_source`, so that accuracy on it is the metric acc/NAME; the file is NAME.parquet in lower case.
    hub, config, split: as `datasets.load_dataset` takes them. problems: fewest and most distinct ones. copies: the
    columns of copies that are about. gold: from the column of the answer to the answer. stems: names of local files.
    rows: on the hub, where problems are repeated there.
    """

    name: str
    doc: str
    hub: str
    problems: tuple[int, int]
    copies: tuple[Columns, ...]
    config: str | None = None
    split: str = "test"
    role: Literal["train", "test"] = "test"
    gold: Callable[[Any], str] = plain
    stems: tuple[str, ...] = ()
    rows: int | None = None

    @property
    def key(self) -> str:
        """The name on the command line, and of the file."""
        return self.name.lower()

    @property
    def known_as(self) -> set[str]:
        """What local files and folders of it are called, in lower case."""
        return {self.key, self.hub.rpartition("/")[2].lower(), *self.stems}

    def columns(self, names: Sequence[str]) -> Columns:
        """Which of a file's columns hold problem and answer.

        Raises:
            BadRecord: those of no copy are there.
        """
        for columns in (*self.copies, PREPARED):
            if set(columns.top) <= set(names):
                return columns
        known = " or ".join(f"({', '.join(columns.top)})" for columns in self.copies)
        raise BadRecord(f"has the columns {', '.join(names) or '(none)'}; {self.name} needs {known}")

    def answer(self, row: Mapping[str, Any], columns: Columns) -> str:
        """The right answer of a row.

        Raises:
            BadRecord: there is none in it.
        """
        return (plain if columns == PREPARED else self.gold)(value(row, columns.answer))


def value(row: Any, path: str) -> Any:
    """What stands at a dotted path; None where nothing does."""
    for part in path.split("."):
        row = row.get(part) if isinstance(row, Mapping) else None
    return row
