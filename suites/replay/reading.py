"""One log file as a stream of rollouts with their costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from strategies.errors import WrongUse
from suites.replay.columns import Columns, find
from suites.replay.costs import Counter
from suites.replay.files import Advance, BadRecord, records
from suites.replay.rollout import Rollout, RolloutReader

BATCH, CHARACTERS_HELD = 256, 1 << 21  # rollouts, and characters of their texts, held at once for the tokenizer


@dataclass(frozen=True)
class Manner:
    """How logs are read: columns from --columns, what counts the tokens of a text, and what becomes of bad records.

    `tokenize`: the counter goes before the log's own token counts.
    """

    columns: Mapping[str, str]
    counter: Counter
    tokenize: bool
    skip_bad: bool


class LogFile:
    """A file that is read once. `skipped` and `unit` (of costs) are known when it is read."""

    def __init__(self, path: Path, manner: Manner) -> None:
        self.path, self._manner = path, manner
        self.skipped = 0
        self.columns: Columns | None = None
        self._kept, self._first_bad = 0, ""

    @property
    def unit(self) -> str:
        """What the costs of this file are made of."""
        counted = self.columns is not None and self.columns.counted
        return "token counts of the log" if counted else self._manner.counter.unit

    def rollouts(self, advance: Advance) -> Iterator[tuple[Rollout, float, float]]:
        """(rollout, tokens of its prompt, tokens of its response), in order.

        Raises:
            WrongUse: a bad record where they are not skipped, or no rollout at all.
        """
        waiting: list[tuple[str, Rollout]] = []
        held = 0
        for where, rollout in self._read(advance):
            waiting.append((where, rollout))
            held += sum(map(len, rollout.texts))
            if len(waiting) == BATCH or held > CHARACTERS_HELD:
                yield from self._priced(waiting)
                waiting, held = [], 0
        yield from self._priced(waiting)
        if not self._kept:
            why = f"all {self.skipped} records are bad ({self._first_bad})" if self.skipped else "it is empty"
            raise WrongUse(f"{self.path}: no rollouts, {why}")

    def _read(self, advance: Advance) -> Iterator[tuple[str, Rollout]]:
        reader: RolloutReader | None = None
        for where, record in records(self.path, self._select, advance):
            try:
                if isinstance(record, BadRecord):
                    raise record
                if reader is None:
                    assert self.columns is not None  # `records` selects before the first object
                    reader = RolloutReader(self.columns)
                rollout = reader.read(record)
            except BadRecord as bad:
                self._refuse(where, bad)
            else:
                yield where, rollout

    def _select(self, names: Sequence[str]) -> Sequence[str]:
        try:
            self.columns = find(names, self._manner.columns, self._manner.tokenize)
        except WrongUse as error:
            if self._manner.skip_bad:
                raise BadRecord(str(error)) from error
            raise WrongUse(f"{self.path}: {error}") from error
        return self.columns.used

    def _refuse(self, where: str, bad: BadRecord) -> None:
        if not self._manner.skip_bad:
            raise WrongUse(f"{self.path}, {where}: {bad} (--skip-bad drops such records)") from bad
        self.skipped += 1
        self._first_bad = self._first_bad or f"{where}: {bad}"

    def _priced(self, batch: list[tuple[str, Rollout]]) -> Iterator[tuple[Rollout, float, float]]:
        count = self._manner.counter.count
        prompts = iter(count([rollout.texts[0] for _, rollout in batch if rollout.tokens is None]))
        responses = iter(count([rollout.texts[1] for _, rollout in batch if rollout.tokens is None]))
        for where, rollout in batch:
            prompt, response = rollout.tokens or (next(prompts), next(responses))
            if prompt + response > 0:
                self._kept += 1
                yield rollout, prompt, response
            else:
                self._refuse(where, BadRecord("prompt and response are both empty: a rollout costs at least a token"))
