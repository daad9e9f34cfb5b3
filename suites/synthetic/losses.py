"""Losses of a linear prediction z = a_i x: every synthetic component is f_i(x) = l(a_i x, b_i).

Its gradient is l'(z, b_i) a_i, so that its norm is |l'| |a_i| and its Lipschitz constant on the ball is
G_i = |a_i| sup |l'|. Losses act elementwise on tensors of any shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from strategies.types import Floats


@dataclass(frozen=True)
class Loss:
    """l(z, b) with its derivatives in z.

    value: (z, b) -> l. slope: (z, b, out) writes l' into `out`, without another pass over memory than it needs.
    curvature: (z, b) -> l''; None where l has a kink. slope_bound: (|a|, b, radius) -> sup |l'| over |x| <= radius.
    smoothness: sup |l''|.
    """

    value: Callable[[Tensor, Tensor], Tensor]
    slope: Callable[[Tensor, Tensor, Tensor], None]
    curvature: Callable[[Tensor, Tensor], Tensor] | None
    slope_bound: Callable[[Floats, Floats, float], Floats]
    smoothness: float
    quadratic: bool = False


def _squared_slope(z: Tensor, b: Tensor, out: Tensor) -> None:
    torch.sub(z, b, out=out)


def _absolute_slope(z: Tensor, b: Tensor, out: Tensor) -> None:
    torch.sub(z, b, out=out).sign_()


def _logistic_slope(z: Tensor, b: Tensor, out: Tensor) -> None:
    torch.mul(z, b, out=out).neg_().sigmoid_().mul_(b).neg_()


def _welsch_slope(z: Tensor, b: Tensor, out: Tensor) -> None:
    residual = torch.sub(z, b, out=out)
    out.mul_(torch.exp(residual.square().mul_(-0.5)))


def _welsch_curvature(z: Tensor, b: Tensor) -> Tensor:
    square = (z - b).square()
    return (1 - square) * torch.exp(-square / 2)


def _logistic_curvature(z: Tensor, b: Tensor) -> Tensor:
    chance = torch.sigmoid(z * b)
    return chance * (1 - chance)


SQUARED = Loss(  # (z - b)^2 / 2
    value=lambda z, b: (z - b).square() / 2,
    slope=_squared_slope,
    curvature=lambda z, b: torch.ones_like(z),
    slope_bound=lambda length, b, radius: radius * length + np.abs(b),
    smoothness=1.0,
    quadratic=True,
)
ABSOLUTE = Loss(  # |z - b|: the gradient norm is |a_i| wherever it exists, so theory's S is met exactly
    value=lambda z, b: (z - b).abs(),
    slope=_absolute_slope,
    curvature=None,
    slope_bound=lambda length, b, radius: np.ones_like(b),
    smoothness=math.inf,
)
LOGISTIC = Loss(  # log(1 + exp(-b z)), b in {-1, 1}
    value=lambda z, b: -logsigmoid(z * b),
    slope=_logistic_slope,
    curvature=_logistic_curvature,
    slope_bound=lambda length, b, radius: 1 / (1 + np.exp(-radius * length)),
    smoothness=0.25,
)
WELSCH = Loss(  # 1 - exp(-(z - b)^2 / 2): bounded, not convex (Dennis & Welsch 1978)
    value=lambda z, b: 1 - torch.exp(-(z - b).square() / 2),
    slope=_welsch_slope,
    curvature=_welsch_curvature,
    slope_bound=lambda length, b, radius: np.full_like(b, math.exp(-0.5)),
    smoothness=1.0,
)
