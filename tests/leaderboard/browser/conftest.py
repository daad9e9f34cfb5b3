"""A site of made-up runs and a real browser to read it with."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leaderboard.site import build

OFF = ("quic", "background-networking", "component-update", "sync", "gpu")  # what would go to the network, or hang
HOSTILE = '</script><script>window.stung=1</script><img src=x onerror="window.stung=1">"\'&größe' + "n" * 150
UP = {"acc": {"direction": "up", "scale": "linear"}}


def study(j: float, step: int) -> dict[str, float]:
    return {"pearson/surprise": 0.5 + 0.01 * step, "J": j}


@pytest.fixture(scope="session")
def site(sweep_writer: Any, racers: Callable[..., tuple[np.ndarray, np.ndarray]], tmp_path_factory: Any) -> Path:
    """Three methods, baseline and A/A with three seeds on one task; a failed run; hostile names on another task."""
    top = tmp_path_factory.mktemp("board")
    (top / "runs").mkdir()
    sweep = sweep_writer(top / "runs")
    rates = {"none": 1.0, "fast": 2.0, "slow": 0.7, "same": 1.02}
    for seed in range(3):
        for i, (method, rate) in enumerate(rates.items()):
            curve = racers(rate, noise=0.01, seed=10 * i + seed)
            sweep.run(method, *curve, seed=seed, diagnostics=partial(study, 1 / rate))
        sweep.run("none", *racers(1.0, noise=0.01, seed=90 + seed), seed=seed, repeat=1)
        for method, rate in (("none", 1.0), (HOSTILE, 1.5)):
            run = sweep.run(method, *racers(rate, noise=0.01, seed=50 + seed), seed=seed, task=f"verl/{HOSTILE}")
            run.log_file.write_text(HOSTILE)
    sweep.run("broken", state="failed", why="ValueError: no", metrics=UP)
    build([sweep.write()], top / "site")
    return top / "site"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        switches = ["--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in OFF)]
        started = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=switches)
        yield started
        started.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """visit(url, **context): a page of a fresh context; complaints and requests are kept as page.complaints, .asked."""
    contexts = []

    def opened(url: str, **options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.complaints, page.asked = [], []
        page.on("console", lambda message: page.complaints.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("dialog", lambda dialog: page.complaints.append(dialog.message))
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
