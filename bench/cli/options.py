"""Options that several commands share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from bench.launch import Debug, Local
    from bench.submission import Options
    from strategies.registry import Plugin

F = TypeVar("F", bound=Callable[..., Any])


def _load(ctx: click.Context, param: click.Parameter, files: tuple[str, ...]) -> tuple[Plugin, ...]:
    from strategies import registry

    return tuple(registry.load_file(file) for file in files)


def plugins(function: F) -> F:
    """Add `--plugin FILE` (repeatable); the files are loaded, and passed as `plugins: tuple[Plugin, ...]`."""
    option = click.option(
        "--plugin",
        "plugins",
        metavar="FILE",
        multiple=True,
        is_eager=True,  # before any --strategy is looked at
        callback=_load,
        help="A Python file that registers strategies (repeatable).",
    )
    return option(function)


def json_flag(function: F) -> F:
    """Add `--json`, passed as `as_json: bool`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")(function)


def cluster(function: F) -> F:
    """Add `--cluster`, passed as `cluster: str`; `backend` makes of it what `bench.launch` takes."""
    option = click.option(
        "--cluster",
        type=click.Choice(["local", "slurm", "debug"]),
        default="local",
        show_default=True,
        help="local: a pool of processes; slurm: jobs of the cluster; debug: in this process, one after the other.",
    )
    return option(function)


def slurm(function: F) -> F:
    """Add what matters to `--cluster slurm` only; `retries` and `wait` are None where they were not given."""
    for option in reversed(
        [
            click.option("--wait/--no-wait", default=None, help="slurm: stay until all is done; default: --no-wait."),
            click.option("--retries", type=click.IntRange(min=0), help="slurm: bound for each run; default: 3."),
            click.option("--retry-failed", is_flag=True, help="slurm: submit also what failed by its own error."),
            click.option("--snapshot", is_flag=True, help="slurm: run the code as it is now, edited or not."),
        ]
    ):
        function = option(function)
    return function


def backend(cluster: str, jobs: int | None) -> Local | Debug:
    """Where runs are done; `jobs` None is one a core."""
    import os

    from bench.launch import Debug, Local

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Debug() if cluster == "debug" else Local(jobs or cores or 1)


@contextmanager
def warnings_in_a_line() -> Iterator[None]:
    """Within, a warning is one line like an error's, without the place in our code."""

    def show(message: Warning | str, *place: Any, **more: Any) -> None:
        click.echo(f"costaware: warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def submission(
    cluster: str, jobs: int | None, wait: bool | None, retries: int | None, retry_failed: bool, snapshot: bool
) -> Options | None:
    """How to submit to Slurm; None for another cluster, where the options of Slurm are refused."""
    from strategies import WrongUse

    given = {"--no-wait": wait is False, "--retries": retries is not None}
    given |= {"--retry-failed": retry_failed, "--snapshot": snapshot}
    if cluster != "slurm":
        for option, is_given in given.items():
            if is_given:
                raise WrongUse(f"{option} needs --cluster slurm")
        return None
    from bench.retries import Policy
    from bench.submission import Options

    policy = Policy(failed=retry_failed) if retries is None else Policy(retries, retry_failed)
    return Options(jobs, policy, snapshot)
