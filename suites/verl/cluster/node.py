"""Ray on the nodes of a cluster: `python -m suites.verl.cluster.node --head | --join HOST:PORT`.

Each stays in the foreground until it is ended, and ends what it started. One node runs the head, every other one joins
it, and the run itself, on the head's node, finds it by $COSTAWARE_RAY=HOST:PORT. Without that variable a run starts a
ray of its own, which the other nodes of a Slurm allocation join by this module (`suites.verl.cluster.allocation`).
"""

from __future__ import annotations

import argparse
import os
import sys

VARIABLE = "COSTAWARE_RAY"
PORT = 6379  # ray's default


def command(join: str = "", port: int = PORT, cpus: int | None = None, gpus: int | None = None) -> list[str]:
    """The command that runs a node's part of ray in the foreground.

    Args:
        join: HOST:PORT of the head; empty starts one.
        port: the head's.
        cpus, gpus: what the node offers; None lets ray count.
    """
    words = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats"]
    words += [f"--address={join}"] if join else ["--head", f"--port={port}", "--include-dashboard=false"]
    words += [f"--num-cpus={cpus}"] if cpus is not None else []
    return words + ([f"--num-gpus={gpus}"] if gpus is not None else [])


def main() -> None:
    """Become ray's process."""
    parser = argparse.ArgumentParser(prog="python -m suites.verl.cluster.node", description=__doc__)
    role = parser.add_mutually_exclusive_group(required=True)
    role.add_argument("--head", action="store_true", help="start a cluster")
    role.add_argument("--join", metavar="HOST:PORT", default="", help="join one")
    parser.add_argument("--port", type=int, default=PORT, help="of the head (default %(default)s)")
    parser.add_argument("--num-cpus", type=int)
    parser.add_argument("--num-gpus", type=int)
    asked = parser.parse_args()
    words = command(asked.join, asked.port, asked.num_cpus, asked.num_gpus)
    os.execv(words[0], words)


if __name__ == "__main__":
    main()
