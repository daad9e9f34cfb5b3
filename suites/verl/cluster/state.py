"""Where a run of verl's trainer stands: beside each checkpoint of verl's, what its own files do not hold.

The file is written last, so a checkpoint without it is not whole and never resumed from. Random numbers need no saving
(see `suites.verl.streams`).
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path

from suites.task import Ledger

FOLDER = "checkpoints"  # in a run's directory
NAME = "costaware.json"
STEP = "global_step_"  # verl's name for a checkpoint's folder


@dataclass(frozen=True)
class State:
    """How far a run is.

    step: verl's steps done. mark: the next evaluation's. recorded: Points given out. idle: steps in a row that drew
    nothing.
    """

    step: int = 0
    mark: int = 0
    recorded: int = 0
    idle: int = 0
    ledger: Ledger = field(default_factory=Ledger)


def latest(workdir: Path) -> Path | None:
    """The newest whole checkpoint of a run, None without one."""
    found = [path.parent for path in (workdir / FOLDER).glob(f"{STEP}*/{NAME}")]
    return max(found, key=lambda path: int(path.name.removeprefix(STEP)), default=None)


def recorded(workdir: Path) -> int:
    """Points that the newest checkpoint stands behind; 0 without one."""
    checkpoint = latest(workdir)
    return load(checkpoint).recorded if checkpoint else 0


def load(checkpoint: Path) -> State:
    """The state beside a checkpoint."""
    tree = json.loads((checkpoint / NAME).read_text())
    return State(**tree | {"ledger": Ledger(**tree["ledger"])})


def save(checkpoint: Path, state: State) -> None:
    """Declare a checkpoint whole, and remove all others."""
    part = checkpoint / f"{NAME}.part"
    part.write_text(json.dumps(asdict(state)))
    part.replace(checkpoint / NAME)
    prune(checkpoint.parent, checkpoint)


def prune(folder: Path, kept: Path | None) -> None:
    """Remove every checkpoint of a folder but one, those that are not whole included."""
    for path in folder.glob(f"{STEP}*"):
        if path != kept:
            shutil.rmtree(path, ignore_errors=True)
