"""The types that everything else speaks: a pool of components, a draw from it, and the strategy that makes the draw.

Notation of arXiv 2604.28020: component i costs c_i tokens and its gradient g_i has a norm of at most (or about) G_i.
A strategy decides which components enter a gradient step and with which importance weight.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from strategies.errors import WrongUse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def _frozen(values: ArrayLike, dtype: Any = None) -> NDArray[Any]:
    """A read-only copy: no strategy can change the world that the next one meets."""
    array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


def _refuse(name: str, values: NDArray[Any], bad: Bools, must: str) -> None:
    if bad.any():
        i = int(np.argmax(bad))
        raise WrongUse(f"{name}[{i}] is {values[i]}: {name} must be {must}")


@dataclass(frozen=True, eq=False)
class Pool:
    """N components that a strategy may draw from. Arrays are copied and read-only.

    Args:
        costs: (N,) tokens c_i > 0 that one use of component i takes.
        norms: (N,) the proxy of the gradient norm G_i >= 0.
        groups: (N,) prompt id of each component, or None where there are no groups.
        features: name -> (N,) what else is known (advantage, length, reward, surprise, mean_entropy, ...).

    Raises:
        WrongUse: an empty pool, a length that differs, a cost <= 0, a norm < 0, NaN or inf (the index is named).
    """

    costs: Floats
    norms: Floats
    groups: Ints | None = None
    features: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "costs", _frozen(self.costs, np.float64))
        put(self, "norms", _frozen(self.norms, np.float64))
        put(self, "groups", None if self.groups is None else _frozen(self.groups, np.int64))
        put(self, "features", MappingProxyType({k: _frozen(v) for k, v in self.features.items()}))
        arrays = {"costs": self.costs, "norms": self.norms, "groups": self.groups, **self.features}
        for name, array in arrays.items():
            if array is not None and array.shape != (len(self.costs),):
                raise WrongUse(f"{name} has shape {array.shape}, not ({len(self.costs)},) like costs")
        if len(self.costs) == 0:
            raise WrongUse("the pool is empty: a draw needs at least one component")
        _refuse("costs", self.costs, ~(np.isfinite(self.costs) & (self.costs > 0)), "finite and > 0 tokens")
        _refuse("norms", self.norms, ~(np.isfinite(self.norms) & (self.norms >= 0)), "finite and >= 0")

    def __len__(self) -> int:
        return len(self.costs)

    def with_norms(self, norms: ArrayLike) -> Pool:
        """The same components under another proxy of the gradient norm."""
        return replace(self, norms=np.asarray(norms, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class Draw:
    """Which components enter a step, and how much each counts.

    sum_k weights[k] * g[indices[k]] estimates the pool's mean gradient (1/N) sum_i g_i; (m,) each. `note` says what a
    reader should know (a fallback that was taken), else it is empty.
    """

    indices: Ints
    weights: Floats
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "indices", _frozen(self.indices, np.int64))
        object.__setattr__(self, "weights", _frozen(self.weights, np.float64))
        if self.indices.ndim != 1 or self.indices.shape != self.weights.shape:
            raise WrongUse(f"a draw needs one weight an index: shapes {self.indices.shape} and {self.weights.shape}")

    def __len__(self) -> int:
        return len(self.indices)


class _Declared:
    def __init__(self, rule: Callable[[Any], Any]) -> None:
        self.rule = rule

    def __get__(self, instance: Any, owner: type[Any]) -> Any:
        return self.rule(owner() if instance is None else instance)


def declares(rule: Callable[[Any], Any]) -> Any:
    """A declared property that depends on the parameters; read on the class, its value at the defaults.

    unbiased = declares(lambda self: self.bias == 0)
    """
    return _Declared(rule)


@dataclass(frozen=True)
class Strategy(ABC):
    """A rule that draws components. A frozen dataclass: its fields are its parameters, each with a default.

    A strategy has no state, I/O, clock or global rng. It *declares* the properties below; `costaware check` measures
    them.
    """

    name: ClassVar[str] = ""  # set by @register
    unbiased: ClassVar[bool] = True  # E[sum_k w_k g_k] = (1/N) sum_i g_i whenever G_i = 0 implies g_i = 0
    scale_invariant: ClassVar[bool] = True  # the same draw when all norms, or all costs, are multiplied by a constant
    references: ClassVar[tuple[str, ...]] = ()
    reads_norms: ClassVar[bool] = True  # False for a rule that goes by costs or by nothing
    needs: ClassVar[tuple[str, ...]] = ()  # features of the pool that it reads
    sampled_form: ClassVar[str | None] = None  # set where `size` has no meaning: the spec that does take a size

    @abstractmethod
    def draw(self, pool: Pool, size: int, rng: np.random.Generator) -> Draw:
        """Draw about `size` components of `pool`; all randomness comes from `rng`."""

    def support(self, pool: Pool) -> Bools:
        """(N,) whether component i can be drawn at all; known before the draw. Everything, where a rule can't say."""
        return np.ones(len(pool), dtype=bool)

    def perturb(self, pool: Pool, rng: np.random.Generator) -> Pool:
        """The pool that a randomized strategy sees; the pool itself for all others. `draw` applies it."""
        return pool


class IIDStrategy(Strategy):
    """Draws i.i.d. with replacement from `probabilities(pool)`; weight 1/(size N p_i) makes the estimate unbiased."""

    @abstractmethod
    def probabilities(self, pool: Pool) -> Floats:
        """(N,) p_i >= 0 with sum 1; uniform where every norm is zero and the rule is made of norms."""

    def draw(self, pool: Pool, size: int, rng: np.random.Generator) -> Draw:
        seen = self.perturb(pool, rng)
        p = self.probabilities(seen)
        indices = rng.choice(len(pool), size=size, p=p)
        note = "" if seen.norms.any() or not self.reads_norms else "all norms are zero: drawn uniformly"
        return Draw(indices, 1.0 / (size * len(pool) * p[indices]), note)

    def support(self, pool: Pool) -> Bools:
        return np.asarray(self.probabilities(pool) > 0)


class WithoutReplacement(Strategy):
    """Draws each component at most once, i with probability pi_i; weight 1/(N pi_i) (Horvitz & Thompson 1952)."""

    @abstractmethod
    def inclusion(self, pool: Pool, size: int) -> Floats:
        """(N,) the inclusion probabilities 0 <= pi_i <= 1."""

    def select(self, pi: Floats, rng: np.random.Generator) -> Ints:
        """Indices of one draw with these inclusion probabilities; here for rules whose pi are all 0 or 1."""
        return np.flatnonzero(pi)

    def draw(self, pool: Pool, size: int, rng: np.random.Generator) -> Draw:
        pi = self.inclusion(self.perturb(pool, rng), size)
        indices = self.select(pi, rng)
        note = "" if len(indices) else "nothing was drawn"
        return Draw(indices, 1.0 / (len(pool) * pi[indices]), note)

    def support(self, pool: Pool) -> Bools:
        return np.asarray(self.inclusion(pool, len(pool)) > 0)


def proportional(scores: Floats) -> Floats:
    """(N,) scores >= 0 -> probabilities; uniform where all scores are zero (nothing to go by).

    >>> proportional(np.array([1.0, 3.0])).tolist()
    [0.25, 0.75]
    """
    top = scores.max()
    if top <= 0:
        return np.full(len(scores), 1.0 / len(scores))
    scaled = scores / top  # first, so that neither tiny nor huge norms leave the range of floats
    return np.asarray(scaled / scaled.sum())
