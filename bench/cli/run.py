"""`costaware run`: one task, one strategy, one seed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench.cli import FAILED, options

if TYPE_CHECKING:
    from bench.rundir import RunDir, Status
    from suites.task import Preview


@click.command("run")
@click.argument("task")
@click.option("--strategy", required=True, metavar="SPEC", help="E.g. smoothed:alpha=0.05; see `costaware list`.")
@click.option("--seed", default=0, show_default=True, help="Seed of the world.")
@click.option("--repeat", default=0, show_default=True, help="Draw anew in the same world.")
@click.option("--budget", type=float, metavar="TOKENS", help="Backward tokens; default: the task's own.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the task (repeatable).")
@click.option("--dry-run", is_flag=True, help="Print the whole configuration and what the run would take; run nothing.")
@click.option("--out", default=Path("runs/single"), type=click.Path(path_type=Path), show_default=True)
@options.cluster
@options.plugins
@options.json_flag
def command(
    task: str,
    strategy: str,
    seed: int,
    repeat: int,
    budget: float | None,
    settings: tuple[str, ...],
    dry_run: bool,
    out: Path,
    cluster: str,
    plugins: tuple[Any, ...],
    as_json: bool,
) -> None:
    """Run TASK with one strategy. A run that is finished is not done again."""
    from bench import launch, plan
    from bench.resources import Resources
    from bench.rundir import RunDir
    from bench.spec import specify
    from bench.sweep import Entry, Sweep
    from strategies import WrongUse, parse
    from suites import task as suites

    if cluster == "slurm":
        raise WrongUse("a single run goes to Slurm as a sweep: write FILE.toml, then `costaware sweep FILE.toml`")
    method = parse(strategy)
    spec = specify(task, method, seed, repeat, budget, dict(map(setting, settings)))
    plan.check(Sweep("", "", (Entry(task, (str(method),), str(method), settings=spec.settings),)))
    if dry_run:
        click.echo(_preview(suites.make(task, spec.settings).preview(spec.budget), as_json))
        return
    run = RunDir(out / spec.run_id)
    plan.make_writable(out)
    for problem in launch.launch(out, [(spec, Resources())], options.backend(cluster, 1)):
        click.echo(problem, err=True)
    status = run.status()
    click.echo(json.dumps(_outcome(run, status)) if as_json else _text(run, status))
    if status is None or status.state != "ok":
        raise click.exceptions.Exit(FAILED)


def setting(text: str) -> tuple[str, Any]:
    """key=value; a value that reads as JSON (a number, true, a list) is one, all else is text."""
    from strategies import WrongUse

    key, equals, value = text.partition("=")
    if not key or not equals:
        raise WrongUse(f"--set {text}: write key=value")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _preview(preview: Preview, as_json: bool) -> str:
    from bench.meter import si

    if as_json:
        return json.dumps({"config": preview.config, "estimate": preview.estimate}, indent=1)
    config = [f"{key}={value}" for key, value in _leaves(preview.config)]
    return "\n".join([*config, "estimate:", *(f"  {key}: {si(value)}" for key, value in preview.estimate.items())])


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Dotted keys and values, as `--set` takes them."""
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value if isinstance(value, str) else json.dumps(value)


def _outcome(run: RunDir, status: Status | None) -> dict[str, Any]:
    last = {point["metric"]: point for point in run.points()}
    state, why = (status.state, status.why) if status else ("missing", "")
    return {"run": run.path.name, "dir": str(run.path), "state": state, "why": why, "last": list(last.values())}


def _text(run: RunDir, status: Status | None) -> str:
    from bench.meter import si

    found = _outcome(run, status)
    spread = {point["metric"]: "" if point["sd"] is None else f" (sd {point['sd']:.3g})" for point in found["last"]}
    lines = [
        f"{point['metric']}: {point['value']}{spread[point['metric']]} after {si(point['backward'])} backward tokens"
        for point in found["last"]
    ]
    why = f": {found['why']}" if found["why"] else ""
    return "\n".join([*lines, f"{found['state']}{why}; records: {run.path}"])
