"""Proxies: what stands in for the gradient norm G_i of a rollout, made from what is known before the backward pass.

A is the advantage, p_t the old policy's probability of the sampled token t (kept with the old log-probs, so free),
T the response length in tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from strategies.errors import WrongUse, unknown
from strategies.types import Floats

Features = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Proxy:
    """norms(features) -> (N,) >= 0; `needs` are the features it reads, `suits` the loss aggregation it is right for."""

    name: str
    norms: Callable[[Features], Floats]
    needs: tuple[str, ...]
    suits: str
    doc: str


_proxies: dict[str, Proxy] = {}


def _proxy(name: str, needs: tuple[str, ...], suits: str) -> Callable[[Callable[[Features], Floats]], None]:
    def add(norms: Callable[[Features], Floats]) -> None:
        _proxies[name] = Proxy(name, norms, needs, suits, (norms.__doc__ or "").strip())

    return add


def entries() -> list[Proxy]:
    """Every proxy, by name."""
    return sorted(_proxies.values(), key=lambda proxy: proxy.name)


def get(name: str) -> Proxy:
    """The proxy of that name; WrongUse with the nearest match where there is none."""
    if name not in _proxies:
        raise unknown("proxy", name, _proxies)
    return _proxies[name]


def norms(name: str, features: Features, where: str = "the pool") -> Floats:
    """(N,) the norms that proxy `name` makes of `features`.

    Raises:
        WrongUse: a feature it needs is missing; says which, and what `where` has.
    """
    proxy = get(name)
    missing = [need for need in proxy.needs if need not in features]
    if missing:
        has = ", ".join(sorted(features)) or "none"
        raise WrongUse(f"proxy {name} needs the feature {missing[0]}, which {where} lacks (it has: {has})")
    return np.asarray(proxy.norms(features), dtype=np.float64)


SEQUENCE = "sequence-mean losses (seq-mean-token-mean)"


@_proxy("advantage", ("advantage",), "token-sum or sequence-mean losses, up to the length's share")
def _advantage(f: Features) -> Floats:
    """|A|: the paper's proxy."""
    return np.abs(f["advantage"])


@_proxy("surprise", ("advantage", "surprise"), SEQUENCE)
def _surprise(f: Features) -> Floats:
    """|A| mean_t(1 - p_t): a confident token has next to no gradient."""
    return np.abs(f["advantage"]) * f["surprise"]


@_proxy("score-norm", ("advantage", "score_norm"), SEQUENCE)
def _score_norm(f: Features) -> Floats:
    """|A| sqrt(sum_t (1 - p_t)^2) / T: the score's norm were tokens' gradients orthogonal."""
    return np.abs(f["advantage"]) * f["score_norm"]


@_proxy("entropy", ("advantage", "mean_entropy"), SEQUENCE)
def _entropy(f: Features) -> Floats:
    """|A| sqrt(mean_t H_t), H_t the old policy's entropy at token t."""
    return np.abs(f["advantage"]) * np.sqrt(np.maximum(f["mean_entropy"], 0.0))


@_proxy("length", ("advantage", "length"), SEQUENCE)
def _length(f: Features) -> Floats:
    """|A| / sqrt(T): a mean over T nearly independent token gradients (T = 0 counts as 1)."""
    return np.abs(f["advantage"]) / np.sqrt(np.maximum(f["length"], 1))


@_proxy("oracle", ("grad_norm",), "any: it is measured for the loss at hand")
def _oracle(f: Features) -> Floats:
    """The true per-sequence gradient norm; costs a backward pass of its own, for studies only."""
    return np.asarray(f["grad_norm"], dtype=np.float64)
