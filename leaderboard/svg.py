"""Figures as files and as markup: the same bytes for the same records, nothing that points outside."""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from pathlib import Path

from matplotlib.figure import Figure

from leaderboard.style import INK, drawing

_LONG = re.compile(r"\d+\.\d{3,}")  # a hundredth of a point is finer than any screen or print
_SAFE = re.compile(r"[^A-Za-z0-9@+=._-]")


def slug(*names: str | None) -> str:
    """A file name and anchor for names that may hold anything; names that lose something in it get a hash.

    >>> slug("synthetic/least-squares", "excess_error")
    'synthetic__least-squares__excess_error'
    """
    full = "/".join(name or "" for name in names)
    plain = "__".join(_SAFE.sub("-", part) for part in full.split("/"))
    if len(plain) <= 80 and plain.replace("__", "/") == full and not plain.startswith((".", "-")):
        return plain
    return f"{plain.strip('.-_')[:60]}-{hashlib.sha256(full.encode()).hexdigest()[:8]}"


def save(figure: Figure, folder: Path, name: str, pdf: bool = True) -> str:
    """Write NAME.svg and, with `pdf`, NAME.pdf (on white, for papers) and return the SVG as markup for a page."""
    folder.mkdir(parents=True, exist_ok=True)
    buffer = io.StringIO()
    with drawing(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)  # a name in a script that the font lacks
        figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
        if pdf:
            figure.set_layout_engine("none")  # laid out once is enough
            figure.savefig(folder / f"{name}.pdf", metadata={"CreationDate": None}, facecolor="white")
    text = _LONG.sub(lambda number: f"{float(number[0]):.2f}", buffer.getvalue())
    (folder / f"{name}.svg").write_text(_on_white(text))
    return inline(text, name)


def _on_white(svg: str) -> str:
    head = svg.index(">", svg.index("<svg")) + 1
    return f'{svg[:head]}\n <rect width="100%" height="100%" fill="#ffffff"/>{svg[head:]}'


def inline(svg: str, name: str) -> str:
    """An SVG file's text as an element of a page: no prologue, no repeated ids, ink in the page's own colour."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    body = re.sub(r'<g id="[^"]*"', "<g", body)  # matplotlib's group names repeat from figure to figure
    body = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", body)
    body = re.sub(r"<!--.*?-->\s*", "", body, flags=re.DOTALL)
    body = body.replace(INK, "currentColor")
    return re.sub(r'(<svg[^>]*?) width="[^"]*" height="[^"]*"', r"\1", body, count=1)
