"""Hypothesis strategies for pools and distributions, and the numbers that sampled tests judge by."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from hypothesis import strategies as st

from strategies import Pool
from strategies.types import Floats

positive = st.floats(0.01, 100.0)
costs = st.floats(1.0, 1e4)


@st.composite
def pools(draw: st.DrawFn, zeros: bool = True, max_size: int = 8) -> Pool:
    """Pools of 1 to 8 components; with `zeros` some norms may be 0, but not all."""
    n = draw(st.integers(1, max_size))
    norm = st.one_of(st.just(0.0), positive) if zeros else positive
    norms = draw(st.lists(norm, min_size=n, max_size=n).filter(any))
    return Pool(draw(st.lists(costs, min_size=n, max_size=n)), norms)


@st.composite
def pools_with_p(draw: st.DrawFn, zeros: bool = True) -> tuple[Pool, Floats]:
    """A pool and a distribution over it, every p_i > 0."""
    pool = draw(pools(zeros))
    p = np.array(draw(st.lists(positive, min_size=len(pool), max_size=len(pool))))
    return pool, p / p.sum()


def z(tests: int, error_rate: float = 1e-6) -> float:
    """Two-sided normal quantile at which `tests` tests together fail something right with probability `error_rate`."""
    return NormalDist().inv_cdf(1 - error_rate / (2 * tests))
