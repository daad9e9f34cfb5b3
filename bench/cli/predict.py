"""`costaware predict`: rollout logs in, what each method would have cost out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.cli import FAILED, options

if TYPE_CHECKING:
    from strategies.registry import Plugin
    from suites.replay.log import Log
    from suites.replay.report import Report
    from suites.replay.verify import Verdict


@click.command("predict")
@click.argument("rollouts", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--strategy", "strategies", multiple=True, metavar="SPEC", help="Only these (repeatable); default: all.")
@click.option(
    "--baseline", default="none", show_default=True, metavar="SPEC", help="What savings are measured against."
)
@click.option("--updates", default=4, show_default=True, metavar="U", help="Optimizer updates a step.")
@click.option("--minibatch", default=0, metavar="B", help="Rollouts in one update of `none`; default: a quarter.")
@click.option("--tokenizer", metavar="NAME", help="Counts tokens: a tokenizer.json, a folder with one, a hub name.")
@click.option("--columns", default="", metavar="KEY=NAME,...", help="prompt, response, reward, group, step, ...")
@click.option("--norms", default="", metavar="PROXY", help="Proxy of the gradient norms that all are judged by.")
@click.option("--skip-bad", is_flag=True, help="Drop and count bad records.")
@click.option("--check", "draws", type=int, metavar="N", help="Hold the closed forms against N real draws a step.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Also write table and figure there.")
@options.plugins
@options.json_flag
def command(
    rollouts: tuple[Path, ...],
    strategies: tuple[str, ...],
    baseline: str,
    updates: int,
    minibatch: int,
    tokenizer: str | None,
    columns: str,
    norms: str,
    skip_bad: bool,
    draws: int | None,
    out: Path | None,
    plugins: tuple[Plugin, ...],
    as_json: bool,
) -> None:
    """What would each strategy have saved on the runs that left these ROLLOUTS?

    ROLLOUTS are files or folders: verl's dumps (trainer.rollout_data_dir), or any JSONL, JSON array or parquet with a
    prompt, a response and a reward in each record.

    A pool is one step (the whole file where there are no steps). A group is what --columns group= names, else the uid
    up to its first underscore, else a column `group`, else equal prompts within a step. Costs are tokens by
    --tokenizer, else by the log's own counts (prompt_tokens, response_tokens), else by characters.
    """
    from bench.meter import meter
    from strategies import parse
    from suites.replay import comparison, output, report, verify
    from suites.replay.terms import Terms

    terms = Terms(parse(baseline), updates, minibatch, norms)
    asked = list(dict.fromkeys(map(parse, strategies)))
    if out is not None:
        output.claim(out)
    log = _read(rollouts, columns, tokenizer, skip_bad)
    methods = asked or report.default_methods(log, plugins)
    with meter("comparing", len(methods), "methods") as done:
        answer = report.Report(log, terms, comparison.compare(log, methods, terms, done))
    verdict = None if draws is None else verify.verify(log, methods, terms, draws)
    tree = answer.to_json() | ({} if verdict is None else {"check": verdict.to_json()})
    if as_json:
        click.echo(json.dumps(tree, allow_nan=False))
    else:
        _print(answer, verdict)
    if out is not None:
        click.echo(f"wrote {', '.join(map(str, output.write(answer, tree, out)))}", err=True)
    if verdict is not None and verdict.off:
        raise click.exceptions.Exit(FAILED)


def _read(rollouts: Sequence[Path], columns: str, tokenizer: str | None, skip_bad: bool) -> Log:
    from bench.meter import meter
    from suites.replay import files, log
    from suites.replay.columns import parse

    size = sum(file.stat().st_size for file in files.sources(rollouts))
    with meter("reading", size, "bytes") as advance:
        return log.read(rollouts, parse(columns), tokenizer, skip_bad, advance)


def _print(answer: Report, verdict: Verdict | None) -> None:
    from rich.console import Console

    from suites.replay import text

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 120  # nobody's window: don't cut
    console.print(text.render(answer))
    if verdict is not None:
        console.print(text.render_check(verdict))
