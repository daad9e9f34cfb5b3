"""One record of a log turned into one rollout, or refused with the reason."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from suites.replay.columns import COUNTS, TEXTS, Columns
from suites.replay.files import BadRecord, shown

NUMBER, FLAG, TEXT, LIST = "a number", "true/false", "text", "a list"
_KINDS = {bool: FLAG, int: NUMBER, float: NUMBER, str: TEXT, list: LIST}


@dataclass(frozen=True)
class Rollout:
    """What a record says.

    step: of training, None where the log has none. group: what rollouts of one prompt share within a step. texts:
    prompt and response ("" where they are not read). tokens: of prompt and response, where the log counted them.
    """

    step: Any
    group: Any
    reward: float
    texts: tuple[str, str]
    tokens: tuple[float, float] | None
    features: Mapping[str, float]


class RolloutReader:
    """Reads the records of one file, and holds each column to the kind of value that it started with."""

    def __init__(self, columns: Columns) -> None:
        self._columns, self._roles = columns, columns.roles
        self._kinds: dict[str, str] = {}  # column -> kind of value in the rollouts so far
        self._fresh: dict[str, str] = {}  # those of the record at hand

    def read(self, record: Mapping[str, Any]) -> Rollout:
        """The rollout that a record holds.

        Raises:
            BadRecord: a missing column, a value of the wrong or of another kind than before, NaN or inf.
        """
        self._fresh = {}
        prompt, response = (self._text(record, role) for role in TEXTS)
        features = self._from_logprobs(record) if "logprobs" in self._roles else {}
        features |= {name: self._number(record, column) for name, column in self._columns.features.items()}
        rollout = Rollout(
            step=self._value(record, self._roles["step"], NUMBER, TEXT) if "step" in self._roles else None,
            group=self._group(record, prompt),
            reward=self._number(record, self._roles["reward"], NUMBER, FLAG),
            texts=(prompt, response),
            tokens=self._tokens(record) if self._columns.counted else None,
            features=features,
        )
        self._kinds |= self._fresh  # only now: a record that is dropped sets no example
        return rollout

    def _group(self, record: Mapping[str, Any], prompt: str) -> Any:
        if "group" not in self._roles:  # the prompt itself, as a hash: texts are not kept
            return blake2b(prompt.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        value = self._value(record, self._roles["group"], NUMBER, TEXT)
        return str(value).partition("_")[0] if self._columns.cut_uid else value

    def _text(self, record: Mapping[str, Any], role: str) -> str:
        if role not in self._roles:
            return ""
        value = self._value(record, self._roles[role], TEXT, LIST)
        return value if isinstance(value, str) else _messages(self._roles[role], value)

    def _tokens(self, record: Mapping[str, Any]) -> tuple[float, float]:
        prompt, response = (self._number(record, self._roles[role]) for role in COUNTS)
        if min(prompt, response) < 0:
            raise BadRecord(f"a token count is {min(prompt, response):g}: it must be >= 0")
        return prompt, response

    def _from_logprobs(self, record: Mapping[str, Any]) -> dict[str, float]:
        """The features made of the sampled tokens' log-probabilities; 0 for an empty response, it has no gradient."""
        column = self._roles["logprobs"]
        values = self._value(record, column, LIST)
        if not all(_kind(value) == NUMBER and value <= 1e-6 for value in values):
            raise BadRecord(f"{column} must hold log-probabilities <= 0, one a response token")
        missed = [-math.expm1(min(value, 0.0)) for value in values]  # 1 - p_t
        length = max(len(missed), 1)
        return {"surprise": sum(missed) / length, "score_norm": math.hypot(*missed) / length}

    def _number(self, record: Mapping[str, Any], column: str, *kinds: str) -> float:
        value = self._value(record, column, *(kinds or (NUMBER,)))
        if not abs(value) <= sys.float_info.max:  # NaN, inf, and integers that no float holds
            raise BadRecord(f"{column} is {shown(value)}: it must be finite")
        return float(value)

    def _value(self, record: Mapping[str, Any], column: str, *kinds: str) -> Any:
        if column not in record:
            raise BadRecord(f"no column {column!r}: this record has {', '.join(record) or 'none'}")
        value = record[column]
        kind, before = _kind(value), self._kinds.get(column)
        if kind not in kinds:
            raise BadRecord(f"{column} is {shown(value)}: it must be {' or '.join(kinds)}")
        if before not in (None, kind):
            raise BadRecord(f"mixed types: {column} is {shown(value)}, {kind}, but was {before} before")
        self._fresh[column] = kind
        return value


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "something else")


def _messages(column: str, chat: Sequence[Any]) -> str:
    """The text of a chat: the contents of its messages, each a string or a list of parts with a text."""
    try:
        contents = [message["content"] for message in chat]
        parts = [[c] if isinstance(c, str) else [part.get("text", "") for part in c] for c in contents]
        return "\n".join(text for part in parts for text in part)
    except (TypeError, KeyError, AttributeError):
        raise BadRecord(f"{column} is a list, but not of chat messages with a content") from None
