"""How far every trial has come: excess error or squared gradient norm of (trials, d) points, in float64."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from suites.synthetic.losses import Loss
from suites.synthetic.optimum import Optimum
from suites.synthetic.worlds import World

CHUNK = 128  # trials whose (chunk, N) predictions are held at once
Measure = Callable[[Tensor], Tensor]  # (trials, d) -> (trials,)


def excess_error(world: World, loss: Loss, optimum: Optimum, device: torch.device) -> Measure:
    """f(x) - f(x*). A quadratic is measured around its optimum by its Gram matrix: cheap, and exact close to it too."""
    rows, targets = _on(world, device)
    if not loss.quadratic:
        return _by_chunks(lambda x: loss.value(x @ rows.T, targets).mean(1) - optimum.value)
    best = torch.as_tensor(optimum.x, device=device)
    hessian = rows.T @ rows / len(rows)
    gradient = rows.T @ (rows @ best - targets) / len(rows)  # not 0 where the ball holds the optimum back

    def excess(x: Tensor) -> Tensor:
        gap = x.double() - best
        return ((gap @ hessian / 2 + gradient) * gap).sum(1)

    return excess


def gradient_norm2(world: World, loss: Loss, device: torch.device) -> Measure:
    """|grad f(x)|^2."""
    rows, targets = _on(world, device)

    def norm2(x: Tensor) -> Tensor:
        z = x @ rows.T
        slopes = torch.empty_like(z)
        loss.slope(z, targets, slopes)
        return (slopes @ rows / len(rows)).square().sum(1)

    return _by_chunks(norm2)


def _on(world: World, device: torch.device) -> tuple[Tensor, Tensor]:
    return torch.as_tensor(world.rows, device=device), torch.as_tensor(world.targets, device=device)


def _by_chunks(measure: Measure) -> Measure:
    return lambda x: torch.cat([measure(part.double()) for part in torch.split(x, CHUNK)])
