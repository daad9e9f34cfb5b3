"""`costaware doctor`: what this machine can run, and what is missing for the rest."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from bench.cli import FAILED, options

if TYPE_CHECKING:
    from bench.doctor import Verdict
    from bench.machine import Gpu, Machine


@click.command("doctor")
@click.argument("presets", nargs=-1, metavar="[PRESET]...")
@options.json_flag
def command(presets: tuple[str, ...], as_json: bool) -> None:
    """Say what this machine can run, and how to mend what it can't.

    PRESET is that of a verl task (paper-1.5b, or verl/grpo@paper-1.5b); default: all. Exits with 1 where one of them
    can't run here. A preset for GPUs can also run through a Slurm partition that has them.
    """
    from bench import doctor, machine

    found = machine.look()
    verdicts = [doctor.examine(name, found) for name in presets or doctor.names()]
    lines = _lines(found)
    ok = not any(verdict.problems for verdict in verdicts)
    if as_json:
        rows = [{**asdict(verdict), "ok": not verdict.problems} for verdict in verdicts]
        click.echo(json.dumps({"ok": ok, "machine": asdict(found), "lines": lines, "presets": rows}))
    else:
        click.echo("\n".join([*lines, "", *_text(verdicts)]))
    if not ok:
        raise click.exceptions.Exit(FAILED)


def _lines(machine: Machine) -> list[str]:
    """The machine in a few lines."""
    from bench import provenance
    from suites.verl.data import SETS
    from suites.verl.places import data_dir

    versions = provenance.versions()
    here = ", ".join(f"{name} {versions[name]}" for name in provenance.LIBRARIES if name in versions)
    gone = ", ".join(name for name in provenance.LIBRARIES if name not in versions)
    built = f"CUDA {machine.torch_cuda}" if machine.torch_cuda else "no CUDA"
    partitions = ", ".join(f"{p.name} ({p.nodes} nodes, {p.gpus} GPUs each)" for p in machine.slurm)
    prepared = [name for name in SETS if (data_dir() / f"{name}.parquet").is_file()]
    return [
        f"Python {machine.python}, {machine.cores} cores, {machine.memory:.0f} GiB of memory",
        f"packages: {here}{'; not installed: ' + gone if gone else ''}",
        f"torch's build: {built}",
        f"GPUs: {_gpus(machine.gpus)}" + (f"; driver for CUDA {machine.driver_cuda}" if machine.driver_cuda else ""),
        f"Slurm: {partitions or machine.slurm_why}",
        f"data in {data_dir()}: {', '.join(prepared) or 'none'}",
    ]


def _gpus(gpus: tuple[Gpu, ...]) -> str:
    counts = Counter(f"{gpu.name}, {gpu.memory:.0f} GiB" for gpu in gpus)
    return "; ".join(f"{count} x {kind}" for kind, count in counts.items()) or "none"


def _text(verdicts: list[Verdict]) -> list[str]:
    """A problem that several presets have stands once, with their names where not all have it."""
    able = [verdict.preset for verdict in verdicts if not verdict.problems]
    unable = [verdict.preset for verdict in verdicts if verdict.problems]
    lines = [f"can run: {', '.join(able)}"] if able else []
    lines += [f"can't run: {', '.join(unable)}"] if unable else []
    for problem in dict.fromkeys(problem for verdict in verdicts for problem in verdict.problems):
        hit = [verdict.preset for verdict in verdicts if problem in verdict.problems]
        whose = "" if hit == unable else f"{', '.join(hit)}: "
        lines.append(f"  - {whose}{problem.what}\n    mend: {problem.mend}")
    notes = dict.fromkeys(note for verdict in verdicts for note in verdict.notes)
    return [*lines, *(f"note: {note}" for note in notes)]
