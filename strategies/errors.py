"""The one exception that users are meant to read."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class WrongUse(ValueError):
    """Input that can't be worked with: one line that says what, where and how to mend it (the command exits with 2)."""


def unknown(kind: str, name: str, known: Iterable[str]) -> WrongUse:
    """The error for a name that nothing answers to: names the nearest match, then all that is known.

    >>> str(unknown("strategy", "pstr", ["pstar", "none"]))
    "unknown strategy 'pstr': did you mean 'pstar'? known: none, pstar"
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return WrongUse(f"unknown {kind} {name!r}: {hint}known: {', '.join(names) or 'none'}")
