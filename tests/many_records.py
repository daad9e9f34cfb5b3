"""Made-up records of many runs, in the bench's own format and fast to write: for benchmarks of the leaderboard.

    python tests/many_records.py DIR             10,000 runs of 100 points: 20 tasks x 25 rows x 20 seeds

Curves are exponential with a method's own rate; run-to-run and evaluation noise are those of `verl/grpo`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np

from bench.rundir import Status
from bench.spec import RunSpec

METRICS = {"acc": {"direction": "up", "scale": "linear"}}
LINE = (
    '{{"run": "{run}", "step": {step}, "phase": "eval", "metric": "acc", "value": {value:.6f}, "sd": null, "n": 1, '
    '"diagnostics": {{"pearson": {rho:.6f}, "chi2": {chi2:.6f}, "ess": {ess:.3f}, "nonzero": {nonzero:.6f}}}, '
    '"generated": {x2:.0f}.0, "forward": {x:.0f}.0, "backward": {x:.0f}.0, "backward_drawn": {x15:.0f}.0, '
    '"draws": {step}.0, "wall_s": {wall:.3f}}}\n'
)


def write(directory: Path, tasks: int = 20, methods: int = 24, seeds: int = 20, points: int = 100) -> Path:
    """A sweep directory of tasks x (methods + the A/A repeat) x seeds finished runs, all of them planned."""
    rng = np.random.default_rng(0)
    status = json.dumps(asdict(Status("ok", metrics=METRICS, budget=4e5, host="here", wall_s=60.0)))
    entries = [("none", 0), ("none", 1), *((f"made-up:alpha=0.{i:02d}", 0) for i in range(1, methods))]
    specs = [
        RunSpec(f"verl/made-up@{task}", method, seed, repeat)
        for task in range(tasks)
        for method, repeat in entries
        for seed in range(seeds)
    ]
    grid = []
    for i, spec in enumerate(specs):
        tree, run = spec.to_json(), spec.run_id
        grid.append(tree | {"run": run})
        folder = directory / run
        folder.mkdir(parents=True)
        (folder / "spec.json").write_text(json.dumps(tree))
        (folder / "status.json").write_text(status)
        rate = 1 + 0.05 * (i // seeds % len(entries) - 1) if spec.method != "none" else 1.0
        (folder / "points.jsonl").write_text(_points(run, rate, points, rng))
    baselines = {spec.task: "none" for spec in specs}
    plan = {"name": "many", "title": "", "command": "costaware sweep many", "baselines": baselines, "runs": grid}
    (directory / "sweep.json").write_text(json.dumps(plan))
    return directory


def _points(run: str, rate: float, points: int, rng: np.random.Generator) -> str:
    tokens = np.linspace(0, 4e5, points)
    speed = rate * np.exp(rng.normal(0, 0.08))
    value = 0.42 + 0.23 * -np.expm1(-4 * speed * tokens / 4e5) + rng.normal(0, 0.015, points)
    noise = rng.random((points, 4))
    rows = zip(tokens.tolist(), value.tolist(), noise.tolist(), strict=True)
    return "".join(
        LINE.format(
            run=run, step=k, value=y, x=x, x2=2 * x, x15=1.5 * x, wall=x / 7e3, rho=a, chi2=b, ess=100 * c, nonzero=d
        )
        for k, (x, y, (a, b, c, d)) in enumerate(rows)
    )


if __name__ == "__main__":
    print(write(Path(sys.argv[1])))
