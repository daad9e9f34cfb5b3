r"""The answer that a response states, by the three conventions that prompts ask for.

`boxed`: \boxed{13}; `answer`: a line `Answer: $13$`; `hashes`: a line `#### 13`. Searches are linear in the length of
the response, whatever is in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

LONGEST = 1_000  # characters of an answer; the longest of MATH-500 has 159
TAIL = 1_000  # characters in which math-verify looks where no convention was kept

_BRACES = re.compile(r"\\boxed\s?\{|\\[{}]|[{}]")
_ANSWER = re.compile(r"answer[\s*]{0,8}[:：][\s*]{0,8}([^\n]+)", re.IGNORECASE)
_HASHES = re.compile(r"^[^\S\n]{0,8}####[^\S\n]{0,8}([-+$\d.,/%]{1,60})[^\S\n]{0,8}$", re.MULTILINE)
_AFTER_HASHES = re.compile(r"####[^\S\n]{0,8}([^\n#]+)")
_WORD = re.compile(r"[A-Za-z]{2}")


@dataclass(frozen=True)
class Stated:
    """`value`: the bare answer. `text`: what math-verify is to read, with the answer where it looks first."""

    value: str
    text: str


def stated(response: str, asked: str = "boxed") -> Stated:
    """The answer of a response: by the convention that the prompt asked for, else by another, else in its last words.

    Args:
        response: all of it; of several answers in one convention the last counts.
        asked: a key of `CONVENTIONS`; an unknown one is as good as `boxed`.
    """
    readers = [CONVENTIONS[name] for name in sorted(CONVENTIONS, key=lambda name: name != asked)]
    if asked == "hashes":  # then what follows need not be a number alone on its line
        readers.insert(1, after_hashes)
    found = (reader(response) for reader in readers)
    return next(filter(None, found), Stated("", response[-TAIL:]))


def boxed(response: str) -> Stated | None:
    r"""The content of the last \boxed{...} whose braces are balanced."""
    opened: list[tuple[bool, int]] = []  # (is it a box, where its content starts) of the braces that are open
    last: slice | None = None
    for match in _BRACES.finditer(response):
        if match[0].endswith("{") and match[0] != r"\{":
            opened.append((len(match[0]) > 1, match.end()))
        elif match[0] == "}" and opened:
            box, start = opened.pop()
            last = slice(start, match.start()) if box else last
    return None if last is None else _in_box(response[last])


def answer_line(response: str) -> Stated | None:
    """What stands behind the last `Answer:`, to the end of the line."""
    found = _ANSWER.findall(response)
    return _line(found[-1]) if found else None


def _line(content: str) -> Stated:
    """An answer with what may stand around it on its line: dollars, stars, a box, a unit."""
    content = content.strip(" \t\r*").removesuffix(".")
    inner = content[1:-1] if re.fullmatch(r"\$[^$]+\$", content) else content
    mixed = "$" in inner or r"\(" in inner or ("\\" not in inner and _WORD.search(inner))
    return boxed(content) or (Stated(inner, f"Answer: {content}") if mixed else _in_box(inner))


def hashes(response: str) -> Stated | None:
    """The number behind the last `####` that has nothing else on its line (a heading has)."""
    found = _HASHES.findall(response)
    return _in_box(found[-1].removesuffix(".")) if found else None


def after_hashes(response: str) -> Stated | None:
    """Whatever stands behind the last `####`, to the end of the line."""
    found = _AFTER_HASHES.findall(response)
    return _line(found[-1]) if found else None


def _in_box(value: str) -> Stated:
    value = value.strip()
    return Stated(value, latex(value))


def latex(value: str) -> str:
    r"""A bare answer in the form that math-verify reads best; it can't read the percent sign of \boxed{25\%}."""
    number = value.removesuffix("%").removesuffix("\\").rstrip()
    return rf"\boxed{{{value}}}" if number == value else f"${number}$%"


CONVENTIONS: dict[str, Callable[[str], Stated | None]] = {"boxed": boxed, "answer": answer_line, "hashes": hashes}
