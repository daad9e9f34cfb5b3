"""Ray over the nodes of a Slurm allocation: the run's own on its node, joined from the others by `srun`.

The steps are children of the run's driver and end with it; what a killed driver leaves ends with the job.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE_S = 300.0  # until every node has joined: importing ray from a loaded file system takes a while
LOOK_EVERY_S = 0.5
GRACE_S = 40.0  # a node that leaves waits up to 30 s for what runs there
TAIL = 400  # characters of a step's output in an error


class NotJoined(RuntimeError):
    """Ray does not span the nodes that the run asks for; the message says what the others said."""


def size() -> int:
    """Nodes of the Slurm allocation that this process is in; 1 outside of any."""
    return int(os.environ.get("SLURM_JOB_NUM_NODES", "1"))


@contextmanager
def joined(address: str, nodes: int, cpus: int | None, gpus: int | None, output: Path) -> Iterator[None]:
    """Within, `nodes` - 1 other nodes of the allocation belong to the ray at `address`.

    Args:
        address: HOST:PORT of ray's head, on this node.
        nodes: of the run, this one included; 1 does nothing.
        cpus, gpus: what each node offers; None lets ray count.
        output: file for what the steps print.

    Raises:
        NotJoined: a step ended, or not all of them joined in time.
    """
    if nodes == 1:
        yield
        return
    with output.open("wb") as file:
        step = subprocess.Popen(
            _step(address, nodes - 1, cpus, gpus), stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
        )
    try:
        wait_for(nodes, step, output)
        yield
    finally:
        step.terminate()  # srun hands it on
        with suppress(subprocess.TimeoutExpired):
            step.wait(GRACE_S)
        step.kill()


def wait_for(nodes: int, step: subprocess.Popen[bytes] | None = None, output: Path | None = None) -> None:
    """Return when so many nodes are in the ray that this process is connected to; NotJoined says why they are not."""
    import ray

    deadline = time.monotonic() + PATIENCE_S
    while (found := sum(node["Alive"] for node in ray.nodes())) < nodes:
        ended = step is not None and step.poll() is not None
        if ended or time.monotonic() > deadline:
            said = output.read_text(errors="replace")[-TAIL:].strip() if output is not None else ""
            raise NotJoined(f"{found} of {nodes} nodes are in ray's cluster" + (f": {said}" if said else ""))
        time.sleep(LOOK_EVERY_S)


def _step(address: str, others: int, cpus: int | None, gpus: int | None) -> list[str]:
    """The command that has other nodes of the allocation join: one task each, beside the step that we are in."""
    here = os.environ.get("SLURMD_NODENAME", "")
    names = subprocess.check_output(["scontrol", "show", "hostnames"], text=True).split()
    chosen = [name for name in names if name != here][:others]
    words = ["srun", "--overlap", "--mem=0", f"--nodes={others}", f"--ntasks={others}", "--ntasks-per-node=1"]
    words += [f"--nodelist={','.join(chosen)}"]
    words += [f"--cpus-per-task={own}"] if (own := os.environ.get("SLURM_CPUS_PER_TASK")) else []
    words += [sys.executable, "-m", "suites.verl.cluster.node", "--join", address]
    words += [f"--num-cpus={cpus}"] if cpus is not None else []
    return words + ([f"--num-gpus={gpus}"] if gpus is not None else [])
