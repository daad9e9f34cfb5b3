"""From rows to a set: the bare problems, each once, counted and held against what is known of the set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from strategies.errors import WrongUse
from suites.replay.files import BadRecord, shown
from suites.verl.data import prepared, prompts
from suites.verl.data.prepared import Prepared
from suites.verl.data.recipe import Recipe, value
from suites.verl.data.sources import Row

SOME = 0.01  # share of problems that may speak of formats by chance


def prepare(
    recipe: Recipe, rows: Iterable[Row], source: str, folder: Path, answer_format: str, any_count: bool = False
) -> Prepared:
    """Write FOLDER/NAME.parquet. Memory grows with the problems, not with the rows.

    Args:
        recipe: the set.
        rows: of a copy of it.
        source: where they are from, for the record.
        folder: where the file goes.
        answer_format: a key of `prompts.FORMATS`.
        any_count: take another number of problems than the set has.

    Raises:
        WrongUse: a row without problem or answer, another number of problems, or problems with an instruction of
            somebody else in them. Nothing is written then.
    """
    answers: dict[str, str | None] = {}  # None: the copy has two different ones
    texts: dict[str, str] = {}
    read = 0
    for where, row, columns in rows:
        read += 1
        try:
            problem, answer = prompts.problem(value(row, columns.problem)), recipe.answer(row, columns)
        except BadRecord as bad:
            raise WrongUse(f"{where}: {bad}") from bad
        key = " ".join(problem.split())
        if answers.setdefault(key, answer) != answer:
            answers[key] = None
        texts.setdefault(key, problem)
    pairs = [(texts[key], answer) for key, answer in answers.items() if answer is not None]
    _check(recipe, pairs, source, any_count)
    conflicting = len(answers) - len(pairs)
    file = folder / f"{recipe.key}.parquet"
    note = Prepared(recipe.name, str(file), source, answer_format, len(pairs), read, read - len(answers), conflicting)
    prepared.write(recipe, pairs, note)
    return note


def _check(recipe: Recipe, pairs: Sequence[tuple[str, str]], source: str, any_count: bool) -> None:
    least, most = recipe.problems
    if not pairs or not (any_count or least <= len(pairs) <= most):
        expected = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        raise WrongUse(
            f"{source}: {len(pairs):,} distinct problems, where {recipe.name} has {expected}: "
            "not the whole set, or another one; --any-count takes it as it is"
        )
    instructed = [problem for problem, _ in pairs if prompts.instructed(problem)]
    if len(instructed) > SOME * len(pairs):
        raise WrongUse(
            f"{source}: {len(instructed):,} of {len(pairs):,} problems ask for an answer in a format of their own, "
            f"which the verifier may not read: take it out of them first; the first: {shown(instructed[0][-200:])}"
        )
