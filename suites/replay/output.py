"""The report as files: table (JSON, CSV) and figure (SVG, PDF) in a folder of its own."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strategies.errors import WrongUse
from suites.replay.report import Report

MADE_BY = "costaware predict"
FILES = ("predict.json", "predict.csv", "predict.svg", "predict.pdf")


def claim(folder: Path) -> None:
    """Raise WrongUse where writing to the folder would replace a file that an earlier `predict` did not make."""
    if folder.exists() and not folder.is_dir():
        raise WrongUse(f"--out {folder}: is a file, not a folder")
    if _made_by_us(folder / FILES[0]):
        return
    for name in FILES:
        if (folder / name).exists():
            raise WrongUse(f"--out {folder}: {name} there was not written by `{MADE_BY}`: choose another folder")


def _made_by_us(file: Path) -> bool:
    try:
        return bool(json.loads(file.read_text(encoding="utf-8"))["made_by"] == MADE_BY)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def write(report: Report, tree: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write all files of a claimed folder; returns their paths.

    Args:
        report: what the figure shows.
        tree: what predict.json holds and predict.csv tabulates (its "methods").
        folder: made where it is missing.
    """
    from suites.replay.figure import draw

    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in FILES]
    figure = draw(report)
    for path, date in zip(paths[2:], ("Date", "CreationDate"), strict=True):
        figure.savefig(path, bbox_inches="tight", metadata={date: None})  # equal reports, equal files
    with paths[1].open("w", newline="", encoding="utf-8") as handle:
        table = csv.DictWriter(handle, tree["methods"][0].keys())
        table.writeheader()
        table.writerows(tree["methods"])
    paths[0].write_text(json.dumps({"made_by": MADE_BY, **tree}, indent=1) + "\n", encoding="utf-8")
    return paths
