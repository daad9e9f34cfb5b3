"""Plans as arrays of Slurm, through submitit: its parameters, its sbatch script, its submission.

The script runs `python -m bench.worker PLAN` where submitit would run its own entry: that one unpickles functions,
takes every preemption of a short job for a timeout, and needs a file for each job that a killed submitter may not have
moved in place.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from io import StringIO

import submitit
from submitit.core.utils import FailedJobError, FailedSubmissionError

from bench import scheduler
from bench.plans import SIGNAL_S, Plan
from strategies import WrongUse

UNBOUNDED = 1 << 20  # jobs at a time, where neither the user nor submitit's default of 256 shall limit them


class Refused(Exception):
    """sbatch takes no such array; the message says why."""


class _Array(submitit.SlurmExecutor):
    """submitit's executor with a command of our own."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan.folder)
        self.plan = plan

    @classmethod
    def affinity(cls) -> int:
        """Usable everywhere: a dry run needs no Slurm, and a submission without one says so itself."""
        return 2

    @property
    def _submitit_command_str(self) -> str:
        return f"{self.python} -u -m bench.worker {shlex.quote(str(self.plan.file))}"


def _executor(plan: Plan) -> _Array:
    wanted, executor = plan.resources, _Array(plan)
    worker = ["--nodes=1", "--ntasks=1"]  # on the first of the nodes
    worker += [f"--cpus-per-task={wanted.cpus}"] if wanted.cpus else []  # srun does not inherit it since Slurm 22.05
    parameters = {
        "job_name": plan.name,
        "time": plan.job_min,
        "partition": wanted.partition,
        "account": wanted.account,
        "qos": wanted.qos,
        "gpus_per_node": wanted.gpus,
        "cpus_per_task": wanted.cpus,
        "mem": None if wanted.mem_gb is None else f"{round(wanted.mem_gb * 1024)}M",
        "nodes": wanted.nodes,
        "ntasks_per_node": 1,
        "setup": list(wanted.setup) or None,
        "signal_delay_s": SIGNAL_S,
        "array_parallelism": plan.parallel or UNBOUNDED,
        "stderr_to_stdout": True,
        "srun_args": worker,
        "wckey": None,  # submitit's own: clusters that track such keys refuse one that they don't know
        "additional_parameters": {"chdir": str(plan.root), "requeue": True, **wanted.sbatch},
    }
    executor.update_parameters(**parameters)
    executor.parameters["map_count"] = len(plan.packs)
    return executor


def script(plan: Plan) -> str:
    """The sbatch script of a plan."""
    executor = _executor(plan)
    return executor._make_submission_file_text(executor._submitit_command_str, "")


def submit(plan: Plan) -> str:
    """Submit a plan that is written; returns Slurm's id of the array.

    Raises:
        Refused: sbatch refuses the array.
        scheduler.NoAnswer: it is not known whether the array got through.
    """
    executor = _executor(plan)
    try:
        with _outside_of_any_job(), redirect_stderr(StringIO()):  # submitit repeats there what the error says
            return str(executor._submit_command(executor._submitit_command_str).job_id)
    except FileNotFoundError as error:
        if error.filename != "sbatch":
            raise
        raise WrongUse("sbatch is not on this machine's PATH: submit where Slurm is installed") from None
    except (FailedJobError, FailedSubmissionError) as error:
        said = "; ".join(line.removeprefix("sbatch: error: ") for line in str(error).splitlines() if line)
        if "ontact slurm controller" in said or "imed out" in said or "zero bytes" in said.lower():
            raise scheduler.NoAnswer(said) from None
        raise Refused(said) from None


@contextmanager
def _outside_of_any_job() -> Iterator[None]:
    """Without the SLURM_* of a job that we may be in: sbatch would hand them on to the jobs."""
    before = dict(os.environ)
    for key in before.keys() - scheduler.environment().keys():
        del os.environ[key]
    try:
        yield
    finally:
        os.environ.update(before)
