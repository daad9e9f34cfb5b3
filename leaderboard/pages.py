"""What every page shares: templates with escaping, inlined style and scripts, the policy, links from page to page."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2

from leaderboard.row import Row
from leaderboard.sections import MOST_DRAWN
from leaderboard.svg import slug
from leaderboard.verdict import estimate, percent

OPEN = ("running", "missing")  # states that a later look may find finished
OURS = "costaware leaderboard</title>"  # in the head of every page
LIBRARY = "plotly-basic-4.1.1.min.js"  # leaderboard/vendor/README.md says why this one


@dataclass(frozen=True)
class Pages:
    """Renders the pages of one board.

    Args:
        seal: a digest of the records: what lets the vendored library run. It can't be guessed by a text in the records.
        pdf: whether figures are there as PDF.
        cells: run id -> file of its (task, method) page, relative to the site.
    """

    seal: str
    cells: Mapping[str, str]
    pdf: bool = True

    def text(self, template: str, *, depth: int = 0, charts: bool = False, **context: Any) -> str:
        """The text of a page that lies `depth` folders below the site; `charts` adds the library."""
        script = "\n".join(_part(name) for name in ("page.js", *(["charts.js"] if charts else [])))
        return self._environment.get_template(template).render(
            root="../" * depth,
            css=_part("style.css"),
            js=script,
            js_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            nonce=self.seal if charts else None,
            library=LIBRARY,
            cells=self.cells,
            pdf=self.pdf,
            **context,
        )

    @cached_property
    def _environment(self) -> jinja2.Environment:
        environment = jinja2.Environment(
            loader=jinja2.PackageLoader("leaderboard"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=jinja2.StrictUndefined,
        )
        environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
        filters = (percent, estimate, figure, gain, points, raw, tone)
        environment.filters |= {each.__name__: each for each in filters}
        environment.globals |= {"slug": slug, "task_file": task_file, "most_drawn": MOST_DRAWN}
        return environment


def seal(*texts: str) -> str:
    """A digest of everything that a page may quote."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:32]


def cell_file(task: str, method: str, repeat: int) -> str:
    """The page of a (task, method, repeat), relative to the site; the hash keeps any two apart."""
    digest = hashlib.sha256("\0".join((task, method, str(repeat))).encode()).hexdigest()[:8]
    return f"cells/{slug(task)[:48]}__{slug(method)[:48]}-{digest}.html"


def task_file(task: str) -> str:
    """The page of a task, relative to the site."""
    return f"tasks/{slug(task)}.html"


def install_library(site: Path) -> None:
    """Copy the chart library and its licence to SITE/assets, once for all pages."""
    (site / "assets").mkdir(parents=True, exist_ok=True)
    for name in (LIBRARY, "plotly-LICENSE"):
        (site / "assets" / name).write_bytes((files("leaderboard") / "vendor" / name).read_bytes())


def clear(site: Path, keep: Collection[str]) -> None:
    """Remove the pages that an earlier board left in cells/ and tasks/ and that this one has not; nothing else."""
    for file in [*site.glob("cells/*.html"), *site.glob("tasks/*.html")]:
        if str(file.relative_to(site)) not in keep and OURS in file.read_text(errors="replace")[:3000]:
            file.unlink()


def tone(state: str) -> str:
    """Colour of a state: finished, still open, gone wrong."""
    return "ok" if state == "ok" else "open" if state in OPEN else "bad"


def figure(value: Any) -> str:
    """A number as tables show it: three decimals, none from a thousand on, two digits of what is tiny."""
    if value is None:
        return "–"
    size = abs(value)
    return f"{value:{'.2g' if 0 < size < 0.01 else ',.3f' if size < 1000 else ',.0f'}}".replace("-", "−")


def raw(value: float | None) -> str:
    """What a cell sorts by: nothing where there is no value."""
    return "" if value is None else str(value)


def gain(value: float | None, row: Row) -> str:
    """A gain in progress as a reader knows it: points, or the ratio of the values where the scale is logarithmic."""
    if value is None:
        return "–"
    if row.scale == "log":
        return f"×{math.exp(value if row.direction == 'up' else -value):.3g}"
    return f"{points(100 * value)} pp"


def points(value: float | None) -> str:
    """A difference in percentage points, with its sign.

    >>> points(-0.01), points(1.25), points(None)
    ('0.0', '+1.2', '–')
    """
    if value is None:
        return "–"
    text = f"{value:+.1f}"
    return "0.0" if float(text) == 0 else text.replace("-", "−")


@cache
def _part(name: str) -> str:
    return (files("leaderboard") / "templates" / name).read_text(encoding="utf-8").strip()
