"""`costaware list`: what there is to choose from."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import click

from bench.cli import options

KINDS = ("strategies", "proxies", "tasks", "sweeps")


@click.command("list")
@click.argument("kind", type=click.Choice(KINDS), required=False)
@options.plugins
@options.json_flag
def command(kind: str | None, plugins: tuple[Any, ...], as_json: bool) -> None:
    """List what there is: strategies, proxies, tasks, sweeps.

    Plugins that do not load are listed with their error.
    """
    found = {name: rows for name, rows in _everything().items() if kind is None or name in (kind, "broken")}
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    for name, rows in found.items():
        if rows:
            click.echo("\n".join([f"{name}:", *_lines(rows), ""]))


def _everything() -> dict[str, list[dict[str, Any]]]:
    from bench import sweep
    from strategies import proxies, registry
    from suites import task

    strategies = [
        {"name": entry.name, "unbiased": entry.cls.unbiased, "origin": entry.origin, "doc": entry.doc}
        for entry in registry.entries()
    ]
    names = [
        {"name": proxy.name, "needs": list(proxy.needs), "suits": proxy.suits, "doc": proxy.doc}
        for proxy in proxies.entries()
    ]
    tasks = [{"name": info.name, "doc": info.doc} for info in task.infos()]
    titles = {name: tomllib.loads(file.read_text(encoding="utf-8")) for name, file in sorted(sweep.shipped().items())}
    sweeps = [{"name": name, "doc": tree["title"]} for name, tree in titles.items()]
    broken = [{"origin": plugin.origin, "why": plugin.why} for plugin in registry.broken()]
    return {"strategies": strategies, "proxies": names, "tasks": tasks, "sweeps": sweeps, "broken": broken}


def _lines(rows: list[dict[str, Any]]) -> list[str]:
    width = max(len(row.get("name", row.get("origin", ""))) for row in rows)
    lines = []
    for row in rows:
        biased = " (biased)" if row.get("unbiased") is False else ""
        lines.append(f"  {row.get('name', row.get('origin')):{width}}  {row.get('doc', row.get('why'))}{biased}")
    return lines
