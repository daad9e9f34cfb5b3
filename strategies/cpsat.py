"""The 0/1 knapsack, solved to proven optimality: LP bound, reduction to a core, CP-SAT on the core."""

from __future__ import annotations

import math

import numpy as np

from strategies.types import Bools, Floats, Ints

GAP = 1e-9  # the proof's tolerance, as a share of all value that is not taken


def heaviest(sizes: Ints, values: Floats, capacity: int, seconds: float) -> Bools | None:
    """(N,) the set of greatest value whose sizes fit `capacity`; None where that isn't proven within `seconds`.

    Args:
        sizes: (N,) whole numbers >= 0.
        values: (N,) >= 0, turned into whole numbers of 30 bits.
        capacity: >= 0.
        seconds: limit for the solver.
    """
    whole = np.rint(values / (values.max() or 1.0) * 2.0**30).astype(np.int64)
    filled, bound, price = _relaxed(sizes, whole, capacity)
    gap = bound - float(whole[filled].sum())
    tolerance = GAP * max(float(whole.sum()) - bound, 0.0)
    if gap <= tolerance:
        return filled
    gains = whole - price * sizes  # over the LP's price; where it exceeds the gap, the LP's answer is the answer
    settled = np.abs(gains) > gap * (1 + 1e-9) + 1
    chosen = settled & (gains > 0)
    core = np.flatnonzero(~settled)
    rest = capacity - int(sizes[chosen].sum())
    inside = _solve(sizes[core], whole[core], rest, filled[core], tolerance, seconds)
    if inside is None:
        return None
    chosen[core] = inside
    return chosen


def _relaxed(sizes: Ints, values: Ints, capacity: int) -> tuple[Bools, float, float]:
    """A good filling, the LP relaxation's bound on the value, and its price (value per unit of size)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.lexsort((-values, -np.where(sizes > 0, values / sizes, math.inf)))
    ends = np.cumsum(sizes[order])
    filled = np.zeros(len(sizes), dtype=bool)
    k = int(np.searchsorted(ends, capacity, side="right"))
    filled[order[:k]] = True
    bound = float(values[filled].sum())
    if k == len(sizes):
        return filled, bound, 0.0
    room = capacity - (int(ends[k - 1]) if k else 0)
    price = float(values[order[k]] / sizes[order[k]])
    bound += room * price
    for i in order[k:].tolist():  # what comes later may be small enough to fit still
        if sizes[i] <= room:
            filled[i] = True
            room -= int(sizes[i])
    return filled, bound, price


def _solve(sizes: Ints, values: Ints, capacity: int, hint: Bools, tolerance: float, seconds: float) -> Bools | None:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    take = [model.new_bool_var("") for _ in sizes]
    model.add(cp_model.LinearExpr.weighted_sum(take, sizes.tolist()) <= capacity)
    model.maximize(cp_model.LinearExpr.weighted_sum(take, values.tolist()))
    for variable, value in zip(take, hint.tolist(), strict=True):
        model.add_hint(variable, value)
    order = np.lexsort((-values, sizes))
    for i, j in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        if sizes[i] == sizes[j]:  # of two equal sizes the more valuable one goes first
            model.add_implication(take[j], take[i])
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1  # deterministic, and kind to the runs beside it
    solver.parameters.absolute_gap_limit = tolerance
    if solver.solve(model) != cp_model.OPTIMAL:
        return None
    return np.array([solver.boolean_value(variable) for variable in take], dtype=bool)
