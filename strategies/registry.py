"""Where strategies are found: the built-in modules, files given by --plugin, and installed packages.

`@register("name")` on a class is all that a strategy file needs. Built-ins and installed packages (entry-point group
`costaware.strategies`) are loaded on the first look-up; a broken package is reported and harms nobody else.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TypeVar

from strategies.errors import WrongUse, unknown
from strategies.types import Strategy

GROUP = "costaware.strategies"
S = TypeVar("S", bound=type[Strategy])


@dataclass(frozen=True)
class Entry:
    """A registered strategy and where it came from."""

    name: str
    cls: type[Strategy]
    origin: str

    @property
    def doc(self) -> str:
        """The first line of the class's docstring."""
        return (inspect.getdoc(self.cls) or "").partition("\n")[0]


@dataclass(frozen=True)
class Broken:
    """A plugin that could not be loaded, and why (one line)."""

    origin: str
    why: str


@dataclass(frozen=True)
class Plugin:
    """A strategy file that was loaded: a run's spec carries both, and a worker refuses a file that has changed."""

    path: str
    sha256: str


_entries: dict[str, Entry] = {}
_broken: list[Broken] = []
_plugins: dict[str, Plugin] = {}  # origin -> file
_origin: ContextVar[str] = ContextVar("origin", default="")


@contextmanager
def _registering(origin: str):  # type: ignore[no-untyped-def]
    token = _origin.set(origin)
    try:
        yield
    finally:
        _origin.reset(token)


def register(name: str) -> Callable[[S], S]:
    """Class decorator: make a strategy known as `name`.

    Raises:
        WrongUse: the name is taken (both origins are named), or it is not a letter and then a-z, 0-9 and '-'.
    """
    if not re.fullmatch("[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise WrongUse(f"strategy name {name!r}: use lower-case letters, digits and '-', a letter first")

    def add(cls: S) -> S:
        origin = _origin.get() or cls.__module__
        old = _entries.get(name)
        if old is not None and old.origin != origin:
            raise WrongUse(f"strategy {name!r} of {origin} is already registered by {old.origin}: choose another name")
        cls.name = name
        _entries[name] = Entry(name, cls, origin)
        return cls

    return add


@cache
def _load_installed() -> None:
    import strategies.builtin

    for module in pkgutil.iter_modules(strategies.builtin.__path__, "strategies.builtin."):
        importlib.import_module(module.name)
    for point in importlib.metadata.entry_points(group=GROUP):
        origin = f"{point.value} ({point.dist.name if point.dist else 'unknown package'})"
        try:
            with _registering(origin):
                point.load()
        except BaseException as error:  # whatever a stranger's package raises, the others go on
            if isinstance(error, KeyboardInterrupt):
                raise
            _forget(origin)  # what it registered before it broke
            _broken.append(Broken(origin, _one_line(error)))


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def load_file(path: str | Path, sha256: str | None = None) -> Plugin:
    """Load a strategy file; loading the same content again changes nothing.

    Args:
        path: a Python file that registers one or more strategies.
        sha256: the content that is expected; None takes whatever is there.

    Raises:
        WrongUse: no such file, content that differs from `sha256`, an error while it loads, or nothing registered.
    """
    _load_installed()  # a clash with a built-in must show here, not at the first look-up
    file = Path(path).resolve()
    if not file.is_file():
        raise WrongUse(f"plugin {path}: no such file")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    if sha256 is not None and digest != sha256:
        raise WrongUse(f"plugin {path} has changed since the run was specified: sweep again to run the new content")
    plugin, origin = Plugin(str(file), digest), str(file)
    if _plugins.get(origin) == plugin:
        return plugin
    _forget(origin)
    try:
        with _registering(origin):
            _execute(file, f"costaware_plugin_{digest[:16]}")
    except Exception as error:
        _forget(origin)
        why = str(error) if isinstance(error, WrongUse) else _one_line(error)
        raise WrongUse(f"plugin {path} does not load: {why}") from error
    if not any(entry.origin == origin for entry in _entries.values()):
        raise WrongUse(f"plugin {path} registers no strategy: put @register('name') on its class")
    _plugins[origin] = plugin
    return plugin


def _execute(file: Path, module_name: str) -> None:
    spec = importlib.util.spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None:
        raise WrongUse("not a Python file (its name must end in .py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)


def _forget(origin: str) -> None:
    for name in [entry.name for entry in _entries.values() if entry.origin == origin]:
        del _entries[name]
    _plugins.pop(origin, None)


def entries() -> list[Entry]:
    """Every registered strategy, by name."""
    _load_installed()
    return sorted(_entries.values(), key=lambda entry: entry.name)


def broken() -> list[Broken]:
    """Plugins that could not be loaded."""
    _load_installed()
    return list(_broken)


def get(name: str) -> type[Strategy]:
    """The strategy class of that name.

    Raises:
        WrongUse: nothing of that name; lists the known ones and the nearest match.
    """
    _load_installed()
    if name not in _entries:
        raise unknown("strategy", name, _entries)
    return _entries[name].cls


def plugin_of(strategy: Strategy) -> Plugin | None:
    """The --plugin file that a strategy came from; None for built-ins and installed packages."""
    return _plugins.get(_entries[strategy.name].origin)


def plugins_of(strategy: Strategy) -> list[Plugin]:
    """The strategy files behind a strategy and all that it wraps, each once, by path."""
    own = plugin_of(strategy)
    found = {own: None} if own else {}
    for f in fields(strategy):
        value = getattr(strategy, f.name)
        found |= dict.fromkeys(plugins_of(value)) if isinstance(value, Strategy) else {}
    return sorted(found, key=lambda plugin: plugin.path)
