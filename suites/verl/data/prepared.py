"""The parquet files that verl reads, and what was noted in them when they were made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from suites.verl.data import prompts
from suites.verl.data.recipe import Recipe
from suites.verl.reward import ASKED

NOTE = b"costaware"  # key in the schema's metadata


@dataclass(frozen=True)
class Prepared:
    """What became of a set: `read` rows, of which `repeated` held a problem that was there already.

    conflicting: problems left out, as the set has two different answers to them. source: the hub's name or a file's.
    """

    name: str
    file: str
    source: str
    answer_format: str
    problems: int
    read: int
    repeated: int
    conflicting: int

    def __str__(self) -> str:
        said = [f"{self.repeated:,} rows repeat one"] if self.repeated else []
        said += [f"{self.conflicting:,} left out, with two different answers"] if self.conflicting else []
        gone = f" ({'; '.join(said)})" if said else ""
        return f"{self.name}: {self.problems:,} problems of {self.read:,} rows{gone}"


def write(recipe: Recipe, pairs: Sequence[tuple[str, str]], note: Prepared) -> None:
    """Write problems and answers in verl's columns; the file appears when it is whole."""
    import pyarrow
    from pyarrow import parquet

    text = pyarrow.string()
    schema = pyarrow.schema(
        {
            "data_source": text,
            "prompt": pyarrow.list_(pyarrow.struct({"role": text, "content": text})),
            "ability": text,
            "reward_model": pyarrow.struct({"style": text, "ground_truth": text}),
            "extra_info": pyarrow.struct({"split": text, "index": pyarrow.int64(), ASKED: text}),
        },
        metadata={NOTE: json.dumps(asdict(note))},
    )
    rows = [
        {
            "data_source": recipe.name,
            "prompt": prompts.ask(problem, note.answer_format),
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": answer},
            "extra_info": {"split": recipe.role, "index": index, ASKED: note.answer_format},
        }
        for index, (problem, answer) in enumerate(pairs)
    ]
    file = Path(note.file)
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema), part)
    part.replace(file)


def noted(recipe: Recipe, folder: Path) -> Prepared | None:
    """What is in `folder` of a set; None where nothing is, or nothing that we made."""
    import pyarrow
    from pyarrow import parquet

    file = folder / f"{recipe.key}.parquet"
    try:
        metadata = parquet.read_schema(file).metadata or {}
        return Prepared(**{**json.loads(metadata[NOTE]), "file": str(file)})
    except (OSError, pyarrow.ArrowException, KeyError, TypeError, ValueError):
        return None
