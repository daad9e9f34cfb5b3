"""Spec strings: `pps:proxy=surprise,draws=0.5` <-> Method(PPS(), proxy="surprise", draws=0.5).

Grammar: `name[:key=value[,key=value]...]`; a value may be a spec in parentheses. `proxy` and `draws` belong to the
method, every other key is a field of the strategy's dataclass. `parse(str(method)) == method`.
"""

from __future__ import annotations

import dataclasses
import json
import math
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from strategies import proxies, registry
from strategies.errors import WrongUse, unknown
from strategies.types import Draw, Pool, Strategy

METHOD_KEYS = ("proxy", "draws")


@dataclass(frozen=True)
class Method:
    """What a leaderboard row is: a strategy, the proxy of the gradient norm it is fed, and how much it draws.

    Args:
        strategy: the rule.
        proxy: a name from `strategies.proxies`; the suite makes the pool's norms with it.
        draws: size of the draw as a fraction of the pool, > 0.
    """

    strategy: Strategy
    proxy: str = "advantage"
    draws: float = 1.0

    def __post_init__(self) -> None:
        proxies.get(self.proxy)
        if not (math.isfinite(self.draws) and self.draws > 0):
            raise WrongUse(f"draws={self.draws:g}: must be a finite fraction of the pool > 0")
        instead = self.strategy.sampled_form
        if instead is not None and self.draws != 1:
            name, draws = self.strategy.name, _text(self.draws)
            joint = "," if ":" in instead else ":"
            raise WrongUse(f"{name}:draws={draws}: {name} has no size; you mean {instead}{joint}draws={draws}")

    def size(self, pool: Pool) -> int:
        """Number of draws from this pool, at least 1."""
        return max(1, round(self.draws * len(pool)))

    def draw(self, pool: Pool, rng: np.random.Generator) -> Draw:
        """One draw of `size(pool)` from a pool whose norms were made with this method's proxy."""
        return self.strategy.draw(pool, self.size(pool), rng)

    def __str__(self) -> str:
        return _format(self.strategy, {f: getattr(self, f) for f in METHOD_KEYS})

    def to_json(self) -> dict[str, Any]:
        """The JSON that `parse` takes as well: {"name": ..., parameters..., "proxy": ..., "draws": ...}."""
        return {**_to_json(self.strategy), "proxy": self.proxy, "draws": self.draws}


def parse(spec: str | Mapping[str, Any]) -> Method:
    """A Method from its spec string, or from the equal JSON (text or mapping).

    Raises:
        WrongUse: what can't be read, an unknown name or parameter (the nearest match is named), a value out of range.
    """
    tree = _tree(spec)
    own = {key: tree.pop(key) for key in METHOD_KEYS if key in tree}
    if "draws" in own:
        own["draws"] = _coerce("draws", own["draws"], float, "method")
    return Method(_build(tree), **own)


def _tree(spec: str | Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(spec, str):
        return dict(spec)
    text = spec.strip()
    if text.startswith("{"):
        try:
            return dict(json.loads(text))
        except ValueError as error:
            raise WrongUse(f"spec {text!r} is not JSON: {error}") from error
    name, colon, rest = text.partition(":")
    if not name or (colon and not rest):
        raise WrongUse(f"spec {spec!r}: write name:key=value,key=value")
    tree: dict[str, Any] = {"name": name}
    for item in _split(rest):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not key or not value:
            raise WrongUse(f"spec {spec!r}: {item!r} is not key=value")
        if key in tree:
            raise WrongUse(f"spec {spec!r}: {key} is given twice")
        tree[key] = _tree(value[1:-1]) if value.startswith("(") and value.endswith(")") else value
    return tree


def _split(text: str) -> Iterator[str]:
    """Split at the commas outside parentheses."""
    depth, start = 0, 0
    for i, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth < 0:
            break
        if char == "," and depth == 0:
            yield text[start:i]
            start = i + 1
    if depth != 0:
        raise WrongUse(f"spec {text!r}: parentheses do not match")
    if text:
        yield text[start:]


def _build(tree: dict[str, Any]) -> Strategy:
    name = tree.pop("name", None)
    if not isinstance(name, str):
        raise WrongUse("a spec needs the strategy's name")
    cls = registry.get(name)
    hints = typing.get_type_hints(cls)
    known = [f.name for f in dataclasses.fields(cls)]
    for key in tree:
        if key not in known:
            raise unknown(f"parameter of {name}", key, [*known, *METHOD_KEYS])
    try:
        return cls(**{key: _coerce(key, value, hints[key], name) for key, value in tree.items()})
    except WrongUse as error:
        raise error if str(error).startswith(name) else WrongUse(f"{name}: {error}") from error


def _coerce(key: str, value: Any, hint: Any, owner: str) -> Any:
    """A value of the field's declared type: float, int, bool, str, Literal[...] or a strategy."""
    if isinstance(hint, type) and issubclass(hint, Strategy):
        strategy = _build(_tree(value))
        if not isinstance(strategy, hint):
            raise WrongUse(f"{key}={value}: {owner} needs a strategy with probabilities there (i.i.d.)")
        return strategy
    if typing.get_origin(hint) is typing.Literal:
        if value not in typing.get_args(hint):
            raise unknown(f"{key} of {owner}", str(value), typing.get_args(hint))
        return value
    if hint is bool:
        answers = {"true": True, "false": False}
        if str(value).lower() not in answers:
            raise WrongUse(f"{key}={value}: {owner} needs true or false there")
        return answers[str(value).lower()]
    try:
        return hint(value)
    except (TypeError, ValueError):
        raise WrongUse(f"{key}={value}: {owner} needs a number ({hint.__name__}) there") from None


def _text(value: Any) -> str:
    if isinstance(value, Strategy):
        inner = _format(value)
        return f"({inner})" if ":" in inner else inner
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)


def _format(strategy: Strategy, extra: Mapping[str, Any] | None = None) -> str:
    numbers, others = [], []
    for f in dataclasses.fields(strategy):
        value = getattr(strategy, f.name)
        default = f.default if f.default_factory is dataclasses.MISSING else f.default_factory()
        if isinstance(value, int | float) and not isinstance(value, bool):
            numbers.append(f"{f.name}={_text(value)}")
        elif value != default:
            others.append(f"{f.name}={_text(value)}")
    others += [f"{k}={_text(v)}" for k, v in (extra or {}).items() if v != Method.__dataclass_fields__[k].default]
    items = numbers + others
    return strategy.name + (":" + ",".join(items) if items else "")


def _to_json(strategy: Strategy) -> dict[str, Any]:
    values = {f.name: getattr(strategy, f.name) for f in dataclasses.fields(strategy)}
    return {"name": strategy.name} | {k: _to_json(v) if isinstance(v, Strategy) else v for k, v in values.items()}
