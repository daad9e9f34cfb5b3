"""Where a run stands, on disk: policy, optimizer, and how far it is. Random numbers need no saving (see `streams`)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from suites.task import Ledger
from suites.verl.model import Qwen3

NAME = "checkpoint.pt"


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    step: steps done. mark: the next evaluation's, in units of budget / evaluations. recorded: Points given out.
    idle: steps in a row that drew nothing. study: the latest diagnostics.
    """

    step: int = 0
    mark: int = 0
    recorded: int = 0
    idle: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    study: dict[str, float | None] = field(default_factory=dict)


def recorded(workdir: Path) -> int:
    """Points that the checkpoint in `workdir` stands behind; 0 without one."""
    file = workdir / NAME
    return int(torch.load(file, weights_only=True)["progress"]["recorded"]) if file.exists() else 0


def save(workdir: Path, progress: Progress, policy: Qwen3, optimizer: torch.optim.Optimizer) -> None:
    """Replace the checkpoint in one step: a reader sees the old one or the new one."""
    state = {"progress": asdict(progress), "policy": policy.state_dict(), "optimizer": optimizer.state_dict()}
    part = workdir / f"{NAME}.part"
    torch.save(state, part)
    part.replace(workdir / NAME)


def restore(workdir: Path, policy: Qwen3, optimizer: torch.optim.Optimizer) -> Progress:
    """Load policy and optimizer in place; a Progress at the start, and nothing loaded, without a checkpoint."""
    if not (workdir / NAME).exists():
        return Progress()
    state = torch.load(workdir / NAME, map_location="cpu", weights_only=True)
    policy.load_state_dict(state["policy"])
    optimizer.load_state_dict(state["optimizer"])
    return Progress(**state["progress"] | {"ledger": Ledger(**state["progress"]["ledger"])})


def remove(workdir: Path) -> None:
    """A finished run needs none."""
    (workdir / NAME).unlink(missing_ok=True)
