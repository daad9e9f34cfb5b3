"""Plain line drawings: what a method's page shows of its runs without JavaScript, far faster made than a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import EngFormatter, MaxNLocator

from leaderboard.curves import Floats

LEFT, RIGHT, TOP, BOTTOM = 60.0, 615.0, 10.0, 250.0  # the frame in a picture of 640 x 300
MOST_POINTS = 60  # a curve
_TICKS = MaxNLocator(5)
_SHORT = EngFormatter(sep="")


def sketch(curves: Sequence[tuple[Floats, Floats]], log: bool) -> dict[str, Any]:
    """{"paths": SVG path data, "x_ticks", "y_ticks": [(position, text)]} of curves (x, y); `log` is y's scale."""
    thin = [(x[:: len(x) // MOST_POINTS + 1], y[:: len(x) // MOST_POINTS + 1]) for x, y in curves]
    finite = [(x[keep], y[keep]) for x, y in thin if (keep := _drawable(x, y, log)).sum() > 1]
    if not finite:
        return {"paths": [], "x_ticks": [], "y_ticks": []}
    xs, ys = (np.concatenate(part) for part in zip(*finite, strict=True))
    ys = np.log10(ys) if log else ys
    x_range, y_range = _range(xs), _range(ys)
    return {
        "paths": [_path(x, np.log10(y) if log else y, x_range, y_range) for x, y in finite],
        "x_ticks": [(_place(at, x_range, LEFT, RIGHT), _SHORT(at)) for at in _ticks(x_range)],
        "y_ticks": [
            (_place(at, y_range, BOTTOM, TOP), f"{10**at:.3g}" if log else f"{at:.4g}") for at in _ticks(y_range)
        ],
    }


def _drawable(x: Floats, y: Floats, log: bool) -> np.ndarray:
    return np.asarray(np.isfinite(x) & np.isfinite(y) & ((y > 0) | (not log)))


def _range(values: Floats) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _ticks(limits: tuple[float, float]) -> list[float]:
    return [float(at) for at in _TICKS.tick_values(*limits) if limits[0] <= at <= limits[1]]


def _place(at: float, limits: tuple[float, float], start: float, end: float) -> float:
    return round(start + (end - start) * (at - limits[0]) / (limits[1] - limits[0]), 1)


def _path(x: Floats, y: Floats, x_range: tuple[float, float], y_range: tuple[float, float]) -> str:
    across = LEFT + (RIGHT - LEFT) * (x - x_range[0]) / (x_range[1] - x_range[0])
    down = BOTTOM + (TOP - BOTTOM) * (y - y_range[0]) / (y_range[1] - y_range[0])
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(across.tolist(), down.tolist(), strict=True))
