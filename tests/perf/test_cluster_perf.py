"""Time inside our code in a step of verl's trainer: reading a step's rows, the draw, and the weights of the layout.

    python -m pytest tests/perf/test_cluster_perf.py -s

Made-up rows of growing number and length, prompt 128, U = 16, in one process without a queue; then a real run of
cpu-smoke, whose steps say what they spent in our code, the queue's round trips included (about 100 s, so not with
--benchmark-only). Aimed at: 50 ms at 32 rollouts, and 2% of a step on GPUs. None is asserted. What a step on GPUs takes
is the estimate of preset paper-1.5b.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from strategies import parse

torch = pytest.importorskip("torch")
pytest.importorskip("verl", reason="needs the extra: install costaware-bench[verl]")

from tensordict import TensorDict  # noqa: E402

from suites.verl.cluster import rows  # noqa: E402
from suites.verl.cluster.presets import PRESETS  # noqa: E402
from suites.verl.sampling import build_pool, plan  # noqa: E402

PROMPT, UPDATES, GPUS = 128, 16, 8


def measured(benchmark: BenchmarkFixture, work: Callable[[], object]) -> float:
    """CPU-seconds: the best of the rounds, as neighbours can only slow one down."""
    spent: list[float] = []

    def timed() -> None:
        begun = time.process_time()
        work()
        spent.append(time.process_time() - begun)

    benchmark.pedantic(timed, rounds=5, warmup_rounds=1)
    return min(spent)


@pytest.mark.parametrize(("rollouts", "tokens"), [(32, 64), (512, 1024), (2048, 2048), (4096, 4096)])
def test_our_part_of_a_step(benchmark: BenchmarkFixture, rollouts: int, tokens: int) -> None:
    """`tokens` is the longest response; lengths are uniform up to it."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, tokens + 1, rollouts)
    lengths[0] = tokens
    scores = rng.integers(0, 2, rollouts).astype(float)
    flat = int(lengths.sum())
    offsets = torch.from_numpy(np.concatenate([[0], lengths.cumsum()]))

    def jagged(values: torch.Tensor) -> torch.Tensor:
        return rows.nested(values.split(lengths.tolist()))

    reward = torch.zeros(flat)
    reward[offsets[1:] - 1] = torch.from_numpy(scores).float()
    fields = TensorDict(
        {
            "rm_scores": jagged(reward),
            "advantages": jagged(torch.from_numpy(np.repeat(scores - 0.5, lengths)).float()),
            "old_log_probs": jagged(-torch.rand(flat)),
            "entropy": jagged(torch.rand(flat)),
            "response_mask": jagged(torch.ones(flat, dtype=torch.long)),
        },
        batch_size=[rollouts],
    )
    keys = [f"prompt{place // 16}_{place}_0" for place in range(rollouts)]
    tags = [{"prompt_len": PROMPT, "response_len": int(n)} for n in lengths]
    method = parse("pstar")

    def ours() -> None:
        known = rows.read(keys, tags, fields, np.arange(rollouts))
        pool = build_pool(known.observed, method.proxy)
        drawn = plan(method, pool, UPDATES, "support", rng)
        layout = rows.lay_out(drawn, pool.costs, GPUS, rollouts / UPDATES)
        rows.token_weights(known, layout, np.arange(len(layout.rows)))

    spent = measured(benchmark, ours)
    price = PRESETS["paper-1.5b"].price
    sequence = PROMPT + lengths.mean()
    training = 8 * price.parameters * rollouts * sequence / price.training / GPUS  # update and old log-probs
    sampling = 2 * price.parameters * flat / price.generating / GPUS
    step = training + sampling
    share = f"{spent / step:.1%} of a step of about {step:.1f} s on {GPUS} GPUs"
    print(f"\n{rollouts} rollouts of up to {tokens} tokens: {spent * 1000:.0f} ms, {share}")


def test_a_real_step(tmp_path: Path) -> None:
    """The median over 30 steps or more of verl's trainer at 32 rollouts."""
    words = [sys.executable, "-m", "bench.cli", "run", "verl/grpo@cpu-smoke", "--strategy", "pstar", "--json"]
    words += ["--out", str(tmp_path), "--budget", "9500", "--set", "evaluations=1"]
    outcome = json.loads(subprocess.run(words, capture_output=True, text=True).stdout)
    assert outcome["state"] == "ok", outcome["why"]
    lines = (Path(outcome["dir"]) / "points.jsonl").read_text().splitlines()
    spent = [point["diagnostics"]["seconds"] for line in lines if (point := json.loads(line))["phase"] == "train"]
    print(f"\na real step at 32 rollouts: {np.median(spent) * 1000:.0f} ms in our code (median of {len(spent)})")
