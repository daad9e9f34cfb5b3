"""How checks are registered, run and reported."""

from __future__ import annotations

import inspect
import random
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from strategies.errors import WrongUse
from strategies.method import Method, parse
from strategies.types import Strategy


@dataclass(frozen=True)
class Check:
    """The verdict on one property: ok is None where an earlier failure leaves nothing to measure; `why` is one line."""

    name: str
    ok: bool | None
    why: str = ""


class Fails(Exception):
    """Raised by a check: the property does not hold, and why."""


Rule = Callable[[Strategy], str | None]  # returns a remark or nothing, raises Fails


@dataclass(frozen=True)
class _Entry:
    name: str
    rule: Rule
    gate: bool  # nothing after it can be measured where it fails


_entries: list[_Entry] = []


def check(name: str, gate: bool = False) -> Callable[[Rule], Rule]:
    """Decorator: make a rule a check; checks run in the order in which they are registered."""

    def add(rule: Rule) -> Rule:
        _entries.append(_Entry(name, rule, gate))
        return rule

    return add


def checks() -> list[str]:
    """The names of all checks, in the order in which they are run."""
    return [entry.name for entry in _entries]


def run(subject: str | Method | Strategy) -> list[Check]:
    """Measure every property of a strategy, given as itself, as a method or by its spec; one Check each.

    Raises:
        WrongUse: a spec that can't be read. (A class that can't be built from its defaults fails the check `spec`.)
    """
    try:
        strategy = _strategy(subject)
    except WrongUse:
        raise
    except Exception as error:
        built = Check("spec", False, f"{_line(error)}: every parameter needs a default, every abstract method a body")
        return [built, *(Check(entry.name, None, "not tried: spec fails") for entry in _entries[1:])]
    results: list[Check] = []
    closed = ""
    for entry in _entries:
        if closed:
            results.append(Check(entry.name, None, f"not tried: {closed} fails"))
            continue
        result = _measure(entry, strategy)
        results.append(result)
        closed = entry.name if entry.gate and not result.ok else ""
    return results


def _strategy(subject: str | Method | Strategy) -> Strategy:
    if isinstance(subject, Strategy):
        return subject
    return (parse(subject) if isinstance(subject, str) else subject).strategy


def _measure(entry: _Entry, strategy: Strategy) -> Check:
    try:
        with _isolated():
            return Check(entry.name, True, entry.rule(strategy) or "")
    except Fails as why:
        return Check(entry.name, False, str(why))
    except Exception as error:
        return Check(entry.name, False, _line(error) + _place(error, strategy))


def _line(error: Exception) -> str:
    return " ".join((str(error) if isinstance(error, WrongUse) else f"{type(error).__name__}: {error}").split())


def _place(error: Exception, strategy: Strategy) -> str:
    """Where in the strategy's own file it went wrong."""
    file = inspect.getsourcefile(type(strategy))
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f" ({Path(file).name}, line {lines[-1]})" if file and lines else ""


@contextmanager
def _isolated() -> Iterator[None]:
    """Known global generators, put back afterwards; numpy's warnings are silent, since results are looked at anyway."""
    state, legacy = random.getstate(), np.random.get_state()
    random.seed(0)
    np.random.seed(0)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(state)
        np.random.set_state(legacy)
