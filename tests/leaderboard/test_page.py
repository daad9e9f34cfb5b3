"""The site: self-contained, deterministic, safe with any name, and there whatever the records hold."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bench.records import load
from leaderboard.pages import cell_file, figure, gain, points
from leaderboard.row import Row
from leaderboard.sections import MOST_DRAWN
from leaderboard.site import build
from leaderboard.svg import slug

HOSTILE_TAGS = ("marquee", "img")
HOSTILE = [
    '<script>alert("x")</script>',
    "</script><marquee><img src=x>",
    "a'b\"c&d",
    "../../etc/passwd",
    "größe→模型$x$",
    "n" * 200,
]
UP, DOWN = ({"direction": direction, "scale": "linear"} for direction in ("up", "down"))
Racers = Callable[..., tuple[np.ndarray, np.ndarray]]


class Page(HTMLParser):
    """Tags, ids and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def attributes(self, *names: str) -> list[str]:
        return [value for _, attrs in self.tags for name, value in attrs.items() if name in names and value]


@pytest.fixture(scope="module")
def raced(sweep_writer: Any, racers: Racers, tmp_path_factory: pytest.TempPathFactory) -> Any:
    sweep = sweep_writer(tmp_path_factory.mktemp("runs"))
    for seed in range(3):
        for i, (method, rate) in enumerate({"none": 1.0, "fast": 2.0, "slow": 0.5}.items()):
            sweep.run(method, *racers(rate, noise=0.01, seed=10 * i + seed), seed=seed, diagnostics={"J": 1 / rate})
    sweep.run("broken", state="failed", why="ValueError: no")
    sweep.run(
        "pstar", [5], [0.5], task="replay/log", metrics={"tokens_share": {"direction": "down", "scale": "linear"}}
    )
    fast = next(sweep.path / spec.run_id for spec in sweep.specs if spec.method == "fast")
    (fast / "log.txt").write_text("x" * 5000 + "\nlast words")
    return sweep


@pytest.fixture(scope="module")
def built(raced: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("board") / "site"
    build([raced.write()], site)
    return site


def test_pages_are_self_contained(built: Path) -> None:
    for path in built.rglob("*.html"):
        text = path.read_text()
        page = Page(text)
        for url in page.attributes("src", "href", "xlink:href", "action", "data", "poster"):
            assert "//" not in url, url
            assert not url.startswith(("http:", "https:", "javascript:", "data:"))
        assert "@import" not in text
        assert "url(http" not in text
        ids = page.attributes("id")
        assert len(ids) == len(set(ids))
        assert {url[1:] for url in page.attributes("href", "xlink:href") if url.startswith("#")} <= set(ids)
        policy = next(attrs["content"] for tag, attrs in page.tags if tag == "meta" and "http-equiv" in attrs)
        assert policy
        assert "default-src 'none'" in policy
        scripts = [attrs for tag, attrs in page.tags if tag == "script"]
        assert all("nonce" in attrs or "src" not in attrs for attrs in scripts)


def test_overview_is_one_file_with_table_curves_and_reasons(built: Path) -> None:
    page = Page((built / "index.html").read_text())
    assert not page.attributes("src")
    assert {"fast", "slow", "broken"} <= set(page.text.split())
    assert "ValueError: no" in page.text
    assert any(attrs.get("class") == "sortable" for tag, attrs in page.tags if tag == "table")
    assert "Curves of verl/grpo@tiny" in page.attributes("aria-label")


def test_a_page_of_runs_says_what_made_them_and_how_they_ended(built: Path) -> None:
    fast, broken = (Page(next((built / "cells").glob(f"*__{name}-*.html")).read_text()) for name in ("fast", "broken"))
    assert "last words" in fast.text
    assert "x" * 4000 not in fast.text
    assert "costaware run verl/grpo@tiny --strategy fast --seed 0" in fast.text
    assert sum(tag == "path" and attrs.get("d", "") != "" for tag, attrs in fast.tags) == 3  # a curve a seed
    assert "ValueError: no" in broken.text


def test_links_of_the_page_lead_to_files(built: Path) -> None:
    pages = {path: Page(path.read_text()) for path in built.rglob("*.html")}
    assert len(pages) == 1 + 2 + 5  # overview, tasks, (task, method)
    for path, page in pages.items():
        links = [link for link in page.attributes("href", "src") if not link.startswith("#")]
        assert len(links) > 2
        for file, _, anchor in (link.partition("#") for link in links):
            target = path.parent / file
            assert target.exists(), (path.name, file)
            assert not anchor or anchor in pages[target.resolve()].attributes("id"), (path.name, file, anchor)


def test_the_same_records_give_the_same_bytes(raced: Any, built: Path) -> None:
    again = built.parent / "again"
    build([raced.path], again)
    first, second = ({p.relative_to(site): p.read_bytes() for p in site.rglob("*.*")} for site in (built, again))
    assert first == second


def test_json_and_csv_hold_the_same_rows(built: Path) -> None:
    rows = json.loads((built / "leaderboard.json").read_text())["rows"]
    with (built / "leaderboard.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [(r["task"], r["method"]) for r in rows] == [(r["task"], r["method"]) for r in table]
    for row, line in zip(rows, table, strict=True):
        assert line["saving"] == ("" if row["saving"] is None else str(row["saving"]))
    assert {(row["task"], row["method"]) for row in rows} == {
        *(("verl/grpo@tiny", m) for m in ("none", "fast", "slow", "broken")),
        ("replay/log", "pstar"),
    }


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text_and_files_are_safe(sweep: Any, racers: Racers, tmp_path: Path, name: str) -> None:
    for seed in range(2):
        sweep.run(
            "none", *racers(1.0), seed=seed, task=f"verl/{name}", metrics={name: {"direction": "up", "scale": "linear"}}
        )
        sweep.run(
            name, *racers(1.5), seed=seed, task=f"verl/{name}", metrics={name: {"direction": "up", "scale": "linear"}}
        )
    failed = sweep.run(name, seed=5, task=f"verl/{name}", state="failed", why=name)
    failed.log_file.write_text(name)
    failed.write_status(replace(failed.recorded_status(), host=name, versions={name: name}))
    site = tmp_path / "site"
    build([sweep.write()], site)
    for path in site.rglob("*.html"):
        page = Page(path.read_text())
        scripts = [attrs for tag, attrs in page.tags if tag == "script"]
        assert len(scripts) == (1 if path.name == "index.html" else 3)  # elsewhere: the data and the library as well
        assert not any(key.startswith("on") for _, attrs in page.tags for key in attrs)
        assert not set(HOSTILE_TAGS) & {tag for tag, _ in page.tags}
        assert name in page.text
    written = [path for path in tmp_path.rglob("*") if path.is_file() and (tmp_path / "runs") not in path.parents]
    assert all(site in path.parents for path in written)
    assert len(list((site / "figures").glob("*.svg"))) == 3


def test_slugs_keep_different_names_apart() -> None:
    names = [*HOSTILE, "a/b", "a__b", "a-b", "a b", "", ".hidden"]
    slugs = [slug(name) for name in names]
    assert len(set(slugs)) == len(names)
    assert all("/" not in s and not s.startswith(".") and len(s) <= 80 for s in slugs)


def test_a_board_of_nothing_but_plans(sweep: Any, tmp_path: Path) -> None:
    sweep.planned("none")
    build([sweep.write()], tmp_path / "site")
    assert "No saving can be stated" in (tmp_path / "site" / "index.html").read_text()
    assert json.loads((tmp_path / "site" / "leaderboard.json").read_text())["rows"][0]["state"] == "missing"


def test_pages_of_cells_never_share_a_file() -> None:
    names = ["a", "b", "a/b", "A", *HOSTILE]
    cells = [(task, method, repeat) for task in names for method in names for repeat in (0, 1)]
    files = [cell_file(*cell) for cell in cells]
    assert len({file.lower() for file in files}) == len(cells)
    assert all(file.startswith("cells/") and file.count("/") == 1 and len(file) < 150 for file in files)


def test_numbers_in_tables() -> None:
    shown = [figure(value) for value in (None, 0.0, 0.5, -1234.5, 0.00012345)]
    assert [points(value) for value in (None, -0.01, 1.25, -3.0)] == ["–", "0.0", "+1.2", "−3.0"]
    assert shown == ["–", "0.000", "0.500", "−1,234", "0.00012"]


def test_many_methods_keep_the_overview_small_and_the_figures_readable(
    sweep: Any, racers: Racers, tmp_path: Path
) -> None:
    for seed in range(2):
        for i in range(50):
            method = "none" if i == 0 else f"method:alpha={i}"
            sweep.run(method, *racers(1 + 0.02 * i, noise=0.01, seed=100 * seed + i, points=100), seed=seed)
    build([sweep.write()], tmp_path / "site")
    site = tmp_path / "site"
    assert (site / "index.html").stat().st_size < 300_000, "ten such tasks must stay below 3 MB"
    drawn = (site / "figures" / "verl__grpo@tiny__acc-curves.svg").read_text()
    assert drawn.count("method:alpha") == MOST_DRAWN
    page = Page((site / "tasks" / "verl__grpo@tiny.html").read_text())
    assert "method:alpha=1" in page.text
    assert len(list((site / "cells").glob("*.html"))) == 50


def test_a_new_board_replaces_the_pages_of_the_old_one_and_touches_no_other(sweep: Any, tmp_path: Path) -> None:
    site = tmp_path / "site"
    sweep.planned("none")
    sweep.planned("old", task="verl/old")
    build([sweep.write()], site)
    (site / "tasks" / "mine.html").write_text("<title>my own page</title>")
    del sweep.specs[1]
    build([sweep.write()], site)
    assert {path.name for path in (site / "tasks").iterdir()} == {"verl__grpo@tiny.html", "mine.html"}
    assert len(list((site / "cells").iterdir())) == 1


def test_raw_points_as_parquet(raced: Any, built: Path) -> None:
    table, records = pd.read_parquet(built / "points.parquet"), load([raced.path])
    assert table["value"].tolist() == records.points["value"].tolist()
    assert table["diagnostics"].tolist() == [each or {"J": None} for each in records.points["diagnostics"]]
    assert set(table["run"]) <= set(records.runs["run"])


def test_other_rules_stand_beside_the_headline(built: Path) -> None:
    text = Page((built / "tasks" / "verl__grpo@tiny.html").read_text()).text
    assert "share of wins" in text
    assert "to the peak − 0.01" in text
    up = Row("t", "acc", "m", "none", False, 1, "ok", scale="linear", direction="up")
    down = Row("t", "error", "m", "none", False, 1, "ok", scale="log", direction="down")
    assert [gain(value, up) for value in (0.012, None)] == ["+1.2 pp", "–"]
    assert gain(math.log(2), down) == "×0.5"
