"""Records of any number of made-up runs, in memory: what a board of thousands of runs is measured with."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bench.records import KEYS, LEDGER, POINT, RUN, Records

UP = {"acc": {"direction": "up", "scale": "linear"}}


def records(tasks: int, methods: int, seeds: int, points: int) -> Records:
    """tasks x methods x seeds finished runs of `points` evaluations; method 0 is the baseline, 1 its A/A repeat."""
    rng = np.random.default_rng(0)
    cells = [(t, m, s) for t in range(tasks) for m in range(methods) for s in range(seeds)]
    runs = pd.DataFrame([_run(*cell) for cell in cells], columns=[*KEYS, *RUN])
    runs["dir"] = pd.Series([None] * len(cells), dtype="object")
    rate = np.array([1 + 0.03 * max(0, m - 1) for _, m, _ in cells])
    tokens = np.linspace(0, 1e6, points)
    curve = 0.4 + 0.25 * -np.expm1(-4 * rate[:, None] * tokens / 1e6) + rng.normal(0, 0.01, (len(cells), points))
    table = runs.loc[runs.index.repeat(points), list(KEYS)].reset_index(drop=True)
    table = table.assign(phase="eval", metric="acc", value=curve.ravel(), sd=np.nan, n=1)
    x = np.tile(tokens, len(cells)) * (1 + 0.01 * rng.random(len(table)))
    table = table.assign(step=np.tile(np.arange(points), len(cells)), wall_s=x / 1e4, **dict.fromkeys(LEDGER, x))
    table["diagnostics"] = [{"ess_share": float(value)} for value in curve.ravel()]
    return Records(runs, table[[*KEYS, *POINT]], {f"verl/made-up-{t}": "method-0" for t in range(tasks)})


def _run(task: int, method: int, seed: int) -> dict[str, object]:
    name, repeat = (f"method-{method}", 0) if method != 1 else ("method-0", 1)
    where = f"verl/made-up-{task}"
    return {
        "run": f"{task:04x}{method:04x}{seed:08x}",
        "task": where,
        "method": name,
        "seed": seed,
        "repeat": repeat,
        "budget": 1e6,
        "state": "ok",
        "why": "",
        "attempts": 1,
        "wall_s": 100.0,
        "metrics": UP,
        "settings": {"model": "small"},
        "command": f"costaware run {where} --strategy {name} --seed {seed}",
        "versions": {"python": "3.11", "torch": "2.12"},
        "git": {"commit": "0" * 40, "dirty": False},
    }
