"""Group-relative advantages (GRPO), for logs and engines alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from strategies.types import Bools, Floats, Ints

EPSILON = 1e-6  # verl's: keeps the division finite


def zero_variance(scores: ArrayLike, groups: ArrayLike) -> Bools:
    """(N,) whether the component's group has one score only: all equal, or a singleton. Nothing is learned from it.

    Decided by max == min: the standard deviation of equal floats is not always 0.
    """
    values, member = np.asarray(scores, dtype=np.float64), _member(groups)
    low = np.full(member.max() + 1, np.inf)
    high = np.full(member.max() + 1, -np.inf)
    np.minimum.at(low, member, values)
    np.maximum.at(high, member, values)
    return np.asarray((low == high)[member])


def group_advantages(scores: ArrayLike, groups: ArrayLike, normalize: bool = True) -> Floats:
    """A_i = (r_i - mean of its group) / (sample standard deviation of its group + 1e-6); exactly 0 without variance.

    The rule of verl's `compute_grpo_outcome_advantage` (arXiv 2402.03300), but exact where it must be: a group of equal
    scores, or of one, has advantage 0.

    Args:
        scores: (N,) rewards.
        groups: (N,) prompt id of each rollout.
        normalize: False leaves out the division (Dr. GRPO, arXiv 2503.20783).

    Returns:
        (N,) advantages.
    """
    values, member = np.asarray(scores, dtype=np.float64), _member(groups)
    size = np.bincount(member)
    centred = values - (np.bincount(member, values) / size)[member]
    if normalize:
        variance = np.bincount(member, centred**2) / np.maximum(size - 1, 1)
        centred = centred / (np.sqrt(variance)[member] + EPSILON)
    return np.where(zero_variance(values, member), 0.0, centred)


def _member(groups: ArrayLike) -> Ints:
    return np.unique(np.asarray(groups), return_inverse=True)[1].reshape(-1).astype(np.int64)
