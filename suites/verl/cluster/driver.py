"""A run's ray driver, a process of its own: `python -m suites.verl.cluster.driver DIRECTORY PARENT`.

It starts ray on this machine, and on the other nodes of its Slurm allocation where the run asks for several, or joins
the one that $COSTAWARE_RAY names; then it runs verl's TaskRunner with our trainer.
Ray's own processes die with it, whatever ends it; it dies with the launcher.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suites.processes import die_with
from suites.verl.cluster import allocation
from suites.verl.cluster.node import VARIABLE

if TYPE_CHECKING:
    import psutil

CONFIG, FAILURE, RAY, NODES = "config.yaml", "failure.json", "ray", "nodes.log"  # files in the directory
LAST_S = 10.0  # for ray's processes, once it is shut down; less than the launcher's patience with this one
LONGEST = 40  # characters of a directory that ray's sockets (107 characters at most) still fit below


def main(directory: Path, parent: int) -> None:
    """Run verl's trainer with the configuration in `directory`; leaves the cause there if that fails."""
    die_with(parent)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    from omegaconf import OmegaConf

    config = OmegaConf.load(directory / CONFIG)
    temporary = ray_directory()
    (directory / RAY).write_text(str(temporary))  # whoever comes after a kill removes it
    try:
        run(config, temporary, directory / NODES)
    except Exception as error:
        cause = getattr(error, "cause", None) or error
        text = {"type": type(cause).__name__, "message": str(cause).strip() or str(error).strip()}
        (directory / FAILURE).write_text(json.dumps(text))
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def ray_directory() -> Path:
    """A new directory for ray's sockets and logs, with a short name.

    Raises:
        OSError: the system's temporary directory has too long a name.
    """
    found = Path(tempfile.mkdtemp(prefix="car-"))
    if len(str(found)) > LONGEST:
        found.rmdir()
        raise OSError(f"{found.parent}: too long a name for ray's sockets; set TMPDIR to a shorter one")
    return found


def run(config: Any, temporary: Path, output: Path) -> None:
    """Start or join ray, run verl's TaskRunner on this node, and end what was started; `output`: of other nodes."""
    import psutil
    import ray
    from omegaconf import OmegaConf
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
    from verl.trainer.constants_ppo import get_ppo_ray_runtime_env
    from verl.trainer.main_ppo import TaskRunnerV1

    wanted = OmegaConf.to_container(config.ray_kwargs.ray_init, resolve=True)
    assert isinstance(wanted, dict)
    theirs = get_ppo_ray_runtime_env(config)
    variables = theirs["env_vars"] | {name: os.environ[name] for name in _handed_on()} | {"TRANSFER_QUEUE_ENABLE": "1"}
    own = {key: value for key, value in wanted.pop("runtime_env").items() if value is not None}
    runtime_env = {**theirs, **own, "env_vars": variables | own.get("env_vars", {})}
    address = os.environ.get(VARIABLE, "")
    start = {} if address else {**wanted, "include_dashboard": False, "_temp_dir": str(temporary)}
    ray.init(address=address or "local", runtime_env=runtime_env, **start)
    nodes = config.trainer.nnodes
    try:
        head = ray.get_runtime_context().gcs_address
        own_nodes = 1 if address else nodes
        with allocation.joined(head, own_nodes, wanted.get("num_cpus"), wanted.get("num_gpus"), output):
            allocation.wait_for(nodes)
            base = TaskRunnerV1.__ray_metadata__.modified_class

            class TaskRunner(base):  # type: ignore[misc, valid-type]
                """verl's, with our trainer registered in its process."""

                def run(self, config: Any) -> None:
                    import suites.verl.cluster.trainer  # noqa: F401

                    super().run(config)

            here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
            runner = ray.remote(TaskRunner).options(num_cpus=1, scheduling_strategy=here).remote()
            ray.get(runner.run.remote(config))
    finally:
        started = psutil.Process().children(recursive=True)
        ray.shutdown()
        _see_off(started)


def _see_off(processes: list[psutil.Process]) -> None:
    """Wait for ray's processes, some of which outlive its shutdown for a moment; kill what stays longer."""
    import psutil

    _, alive = psutil.wait_procs(processes, timeout=LAST_S)
    for process in alive:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _handed_on() -> list[str]:
    """Variables of this process that ray's processes on other nodes need as well."""
    return [name for name in os.environ if name.startswith(("VERL_", "COSTAWARE_", "HF_")) or name == "PYTHONPATH"]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
