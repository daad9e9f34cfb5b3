"""What verl imports in each of its processes on a CPU (VERL_USE_EXTERNAL_MODULES)."""

from __future__ import annotations

from typing import Any

import verl.utils.distributed
from verl.workers.rollout.base import _ROLLOUT_REGISTRY
from verl.workers.rollout.replica import RolloutReplicaRegistry

from suites.verl.cluster.cpu import platform  # noqa: F401  registers it

NAME = "transformers"  # of the rollout, in verl's configuration


def _replica() -> Any:
    from suites.verl.cluster.cpu.rollout import Replica

    return Replica


RolloutReplicaRegistry.register(NAME, _replica)
_ROLLOUT_REGISTRY[(NAME, "async")] = "suites.verl.cluster.cpu.rollout.Adapter"

_initialize = verl.utils.distributed.initialize_global_process_group_ray


def _initialize_gloo(timeout_second: float | None = None, backend: str | None = None) -> None:
    """verl's own names the CPU twice, `cpu:gloo,cpu:gloo`, which torch refuses."""
    _initialize(timeout_second=timeout_second, backend=backend or "cpu:gloo")


verl.utils.distributed.initialize_global_process_group_ray = _initialize_gloo  # before any worker imports the name
