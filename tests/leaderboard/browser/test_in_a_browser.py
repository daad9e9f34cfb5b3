"""The site in Chromium: it sorts, filters, toggles, links to a view, asks nothing of a network, reads for everybody."""

from __future__ import annotations

import csv
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from leaderboard.serve import address, server

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

TASK = "tasks/verl__grpo@tiny.html"
CURVES = ".chart[data-chart=curves] .scatterlayer .trace"
ROWS = "#all tbody tr:visible"
Visit = Callable[..., Any]


def pages(site: Path) -> list[str]:
    """One of every kind, and all that hold hostile names."""
    cells = sorted(path.name for path in (site / "cells").glob("*.html"))
    own = [next(name for name in cells if re.search(kind, name)) for kind in ("tiny__fast", "tiny__broken")]
    hostile = [f"tasks/{path.name}" for path in (site / "tasks").glob("*.html") if path.name not in TASK]
    return ["index.html", TASK, *(f"cells/{name}" for name in own), *hostile, f"cells/{_hostile_cell(site)}"]


def _hostile_cell(site: Path) -> str:
    return next(
        path.name for path in (site / "cells").glob("*.html") if "tiny" not in path.name and "__none-" not in path.name
    )


def column(page: Any, number: int, table: str = "all") -> list[str]:
    """What a column's visible cells sort by, or show."""
    found: list[str] = page.eval_on_selector_all(
        f"#{table} tbody tr:not([hidden])",
        f"rows => rows.map(r => r.cells[{number}].dataset.sort ?? r.cells[{number}].textContent.trim())",
    )
    return found


@pytest.fixture
def served(site: Path) -> Iterator[str]:
    with server(site) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield address(serving).removesuffix("index.html")
        serving.shutdown()
        thread.join()


@pytest.mark.parametrize("how", ["disk", "server"])
def test_no_page_complains_and_no_request_leaves(site: Path, visit: Visit, served: str, how: str) -> None:
    home = f"{site.as_uri()}/" if how == "disk" else served
    for name in pages(site):
        page = visit(home + name)
        assert page.complaints == [], name
        assert all(url.startswith(home) for url in page.asked), page.asked
        if name == TASK:
            assert page.locator(CURVES).count() > 4, "the charts were not drawn"


def test_names_from_the_records_stay_text(site: Path, visit: Visit) -> None:
    for name in pages(site):
        page = visit(f"{site.as_uri()}/{name}")
        assert page.evaluate("window.stung") is None, name
        assert page.locator("img").count() == 0
    page = visit(f"{site.as_uri()}/cells/{_hostile_cell(site)}")
    assert "window.stung" in page.locator("h1").text_content()
    assert "window.stung" in page.locator("pre").first.text_content()


def test_the_policy_stops_a_script_that_got_in(site: Path, visit: Visit) -> None:
    page = visit(f"{site.as_uri()}/{TASK}")
    inject = "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.stung = 1'}))"
    page.evaluate(inject)
    assert page.evaluate("window.stung") is None
    assert any("Content Security Policy" in text for text in page.complaints)


def test_sorts_both_ways_with_empty_cells_last(site: Path, visit: Visit) -> None:
    page = visit(f"{site.as_uri()}/index.html")
    head = page.locator("#all thead th", has_text="tokens saved")
    number = head.evaluate("head => head.cellIndex")
    for way in ("descending", "ascending"):
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == way
        values = column(page, number)
        known = [float(value) for value in values if value]
        assert values[: len(known)] == [value for value in values if value]
        assert len(known) < len(values)
        assert known == sorted(known, reverse=way == "descending")


def test_sorts_with_the_keyboard(site: Path, visit: Visit) -> None:
    page = visit(f"{site.as_uri()}/index.html")
    head = page.locator("#all thead th", has_text="method")
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"


def test_filters_rows_and_says_how_many(site: Path, visit: Visit) -> None:
    page = visit(f"{site.as_uri()}/index.html")
    every = page.locator(ROWS).count()
    page.locator("#rows input[type=search]").fill("GRPO@tiny fast")
    assert page.locator(ROWS).count() == 1
    assert page.locator("#rows [role=status]").inner_text() == f"1 of {every} rows"


def test_toggles_a_method_in_every_chart(site: Path, visit: Visit) -> None:
    page = visit(f"{site.as_uri()}/{TASK}")
    before = page.locator(CURVES).count()
    page.get_by_label("fast", exact=True).uncheck()
    assert page.locator(CURVES).count() == before - 2  # its line and its band
    page.get_by_label("bands").uncheck()
    assert page.locator(CURVES).count() == 4  # none, none A/A, slow, same
    page.get_by_role("button", name="none", exact=True).click()
    assert page.locator(CURVES).count() == 0
    assert page.complaints == []


def test_hover_tells_the_values(site: Path, visit: Visit) -> None:
    page = visit(f"{site.as_uri()}/{TASK}")
    page.locator(".chart[data-chart=curves] .nsewdrag").hover(position={"x": 300, "y": 150})
    box = page.locator(".chart[data-chart=curves] .hoverlayer")
    box.locator("text").first.wait_for()
    assert all(name in box.text_content() for name in ("fast", "slow", "none A/A"))


def test_a_link_restores_the_view(site: Path, visit: Visit) -> None:
    page = visit(f"{site.as_uri()}/{TASK}")
    page.get_by_label("Cost in").select_option("step")
    page.get_by_label("fast", exact=True).uncheck()
    page.get_by_label("bands").uncheck()
    page.locator("#table-verl__grpo\\@tiny__acc thead button", has_text="method").click()
    page.locator("#runs input[type=search]").fill("slow")
    page.get_by_role("button", name="Colours").click()
    page.get_by_role("button", name="Colours").click()
    again = visit(page.url)
    assert again.get_by_label("Cost in").input_value() == "step"
    assert not again.get_by_label("fast", exact=True).is_checked()
    assert not again.get_by_label("bands").is_checked()
    assert again.locator(CURVES).count() == 4
    assert "steps" in again.locator(".chart[data-chart=curves] .xtitle").text_content()
    assert again.locator("#table th[aria-sort=ascending]").inner_text().startswith("method")
    assert again.locator("#all-runs tbody tr:visible").count() == 3
    assert again.locator("html").get_attribute("data-theme") == "dark"
    assert again.complaints == []


@pytest.mark.parametrize("hash", ["#%", "#?x=__proto__&diagnostic=constructor&metric=0&theme=pink&sort-all-runs=99u"])
def test_a_broken_link_does_no_harm(site: Path, visit: Visit, hash: str) -> None:
    page = visit(f"{site.as_uri()}/{TASK}{hash}")
    assert page.complaints == []
    assert page.locator(CURVES).count() > 4
    assert page.get_by_label("Cost in").input_value() == "backward"


def test_a_link_to_a_run_opens_it(site: Path, visit: Visit) -> None:
    page = visit(f"{site.as_uri()}/{TASK}")
    page.locator("#all-runs tbody tr", has_text="fast").first.locator("a").click()
    page.locator("details.run:target[open] dt").first.wait_for(timeout=10_000)


def test_csv_equals_the_table(site: Path, visit: Visit, tmp_path: Path) -> None:
    page = visit(f"{site.as_uri()}/index.html")
    page.locator("#rows input[type=search]").fill("verl")
    page.locator("#all thead button", has_text="tokens saved").click()
    with page.expect_download() as download:
        page.locator("#rows").get_by_role("button", name="CSV of these rows").click()
    download.value.save_as(tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file)
    heads = page.locator("#all thead th")
    shown = [i for i in range(heads.count()) if "plain" not in (heads.nth(i).get_attribute("class") or "")]
    assert len(header) == len(shown)
    assert len(lines) == page.locator(ROWS).count() > 5
    for place, number in enumerate(shown):
        cells = [re.sub(r"\s+", " ", cell) for cell in column(page, number)]
        assert [line[place] for line in lines] == cells


def test_csv_of_the_curves_has_what_is_drawn(site: Path, visit: Visit, tmp_path: Path) -> None:
    page = visit(f"{site.as_uri()}/{TASK}")
    page.get_by_label("fast", exact=True).uncheck()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV of the curves").click()
    download.value.save_as(tmp_path / "curves.csv")
    with (tmp_path / "curves.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["method"] for row in rows} == {"none", "none A/A", "slow", "same"}
    assert sum(row["method"] == "slow" for row in rows) == 21


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(site: Path, visit: Visit, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    for name in pages(site)[:4]:
        page = visit(f"{site.as_uri()}/{name}", color_scheme=scheme, bypass_csp=True)
        found = Axe().run(page).response["violations"]
        serious = [(fault["id"], node["html"][:200]) for fault in found for node in fault["nodes"]]
        assert not serious, (name, serious)


def test_dark_and_light_by_system_and_by_hand(site: Path, visit: Visit) -> None:
    def paper(page: Any) -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light, dark = (visit(f"{site.as_uri()}/{TASK}", color_scheme=scheme) for scheme in ("light", "dark"))
    day, night = paper(light), paper(dark)
    assert (day, night) == ("rgb(255, 255, 255)", "rgb(20, 23, 27)")
    dark.get_by_role("button", name="Colours: auto").click()
    assert paper(dark) == day
    light.get_by_role("button", name="Colours: auto").click()
    light.get_by_role("button", name="Colours: light").click()
    assert paper(light) == night
    ink = light.locator(".chart[data-chart=curves] .xtitle").evaluate("text => getComputedStyle(text).fill")
    assert ink == light.evaluate("getComputedStyle(document.body).color")


def test_a_phone_scrolls_down_only(site: Path, visit: Visit) -> None:
    for name in pages(site):
        page = visit(f"{site.as_uri()}/{name}", viewport={"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name


def test_reads_without_javascript(site: Path, visit: Visit) -> None:
    page = visit(f"{site.as_uri()}/index.html", java_script_enabled=False)
    assert page.locator("#all tbody tr").first.is_visible()
    assert page.locator("figure svg").first.is_visible()
    page.goto(f"{site.as_uri()}/{TASK}")
    assert page.locator("#curves figure svg").is_visible()
    assert page.locator("#savings figure svg").count() == 2
    assert page.locator("#diagnostics td").first.is_visible()
    assert not page.locator("#controls").is_visible()
    page.locator("#all-runs a").first.click()
    assert page.locator("details.run[open] dt", has_text="command").first.is_visible()


def test_prints_black_on_white_without_controls(site: Path, visit: Visit) -> None:
    page = visit(f"{site.as_uri()}/{TASK}", color_scheme="dark")
    page.emulate_media(media="print")
    assert not page.locator("#controls").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("#table table").first.is_visible()
