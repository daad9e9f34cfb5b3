"""What a text costs: tokens by a tokenizer, or by its characters where there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strategies.errors import WrongUse

CHARACTERS_PER_TOKEN = 3.2  # of mathematics in English; scales all costs alike, so no share or ratio depends on it
FILE = "tokenizer.json"


@dataclass(frozen=True)
class Counter:
    """count(texts) -> tokens of each; `unit` says in words what is counted."""

    unit: str
    count: Callable[[Sequence[str]], list[float]]


CHARACTERS = Counter(
    f"characters / {CHARACTERS_PER_TOKEN}", lambda texts: [len(text) / CHARACTERS_PER_TOKEN for text in texts]
)


def counter(tokenizer: str | None) -> Counter:
    """The counter of --tokenizer; characters where none is named.

    Args:
        tokenizer: a `tokenizer.json`, a folder that has one, or a name on the Hugging Face hub.

    Raises:
        WrongUse: no such tokenizer, or it can't be read or fetched.
    """
    if not tokenizer:
        return CHARACTERS
    loaded = _load(tokenizer)

    def count(texts: Sequence[str]) -> list[float]:
        return [float(len(tokens.ids)) for tokens in loaded.encode_batch_fast(list(texts), add_special_tokens=False)]

    return Counter(f"tokens of {tokenizer}", count)


def _load(tokenizer: str) -> Any:
    from huggingface_hub.utils import logging as hub_logging
    from tokenizers import Tokenizer

    path = Path(tokenizer)
    if path.exists():
        file = path / FILE if path.is_dir() else path
        if not file.is_file():
            raise WrongUse(f"--tokenizer {tokenizer}: no {FILE} in this folder")
        return _read(tokenizer, lambda: Tokenizer.from_file(str(file)), "not a tokenizer.json that can be read")
    hub_logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # it reports every retry
    why = f"not here, and can't be fetched from the Hugging Face hub; give a folder with a {FILE}"
    return _read(tokenizer, lambda: Tokenizer.from_pretrained(tokenizer), why)


def _read(tokenizer: str, load: Callable[[], Any], why: str) -> Any:
    try:
        return load()
    except Exception as error:  # tokenizers raises plain Exception, the hub's client a dozen kinds
        cause = " ".join(str(error).split())
        raise WrongUse(f"--tokenizer {tokenizer}: {why} ({cause[:120]})") from error
