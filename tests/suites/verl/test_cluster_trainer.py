"""What our trainer adds to a validation of verl's, on verl's own summary of it; no ray."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("verl", reason="needs the extra: install costaware-bench[verl]")

from omegaconf import OmegaConf

from suites.task import Ledger, Point
from suites.verl.cluster.channel import Receiver, Sender
from suites.verl.cluster.state import State
from suites.verl.cluster.trainer import SamplingTrainer
from suites.verl.marks import Marks


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.close()


def trainer(receiver: Receiver, spent: float) -> SamplingTrainer:
    """One that stands somewhere in a budget of 100 with marks at 0, 50 and 100; verl's parts are not set up."""
    found: Any = object.__new__(SamplingTrainer)
    found.config = OmegaConf.create(
        {"trainer": {"v1": {"sampler": {"sampler_kwargs": {"benchmarks": ["AIME", "AMC"]}}}}}
    )
    found.marks, found.state = Marks(100.0, 2), State(ledger=Ledger(backward=spent), recorded=3)
    found.sender, found.global_steps, found.total_training_steps = Sender(receiver.address), 7, 1000
    return found


def validate(validated: SamplingTrainer, each: int = 4) -> tuple[dict[str, float], np.ndarray]:
    """Two prompts of each benchmark with `each` responses; returns verl's summary and what was right."""
    right = np.random.default_rng(0).integers(0, 2, (4, each)).astype(float)
    sources = np.repeat(["AMC", "AIME", "AMC", "AIME"], each)
    prompts = np.repeat(["p0", "p1", "p2", "p3"], each)
    infos = {"reward": right.ravel().tolist(), "acc": right.ravel().tolist()}
    counts = {(str(source), str(prompt)): each for source, prompt in zip(sources, prompts, strict=True)}
    found = validated._val_metrics_update(sources.tolist(), prompts.tolist(), infos, [], expected_acc_counts=counts)
    validated.sender.socket.close()
    return found, right


def test_points_are_verls_means_with_their_spread_over_prompts(receiver: Receiver) -> None:
    validated = trainer(receiver, spent=60.0)
    summary, right = validate(validated)
    points: list[Point] = list(receiver.points(alive=lambda: False))
    assert [(point.step, point.phase, point.metric, point.n) for point in points] == [
        (7, "eval", "acc/AIME", 2),
        (7, "eval", "acc/AMC", 2),
    ]
    for point, rows, source in zip(points, (right[1::2], right[0::2]), ("AIME", "AMC"), strict=True):
        assert point.value == pytest.approx(summary[f"val-core/{source}/acc/mean@4"])
        assert point.value == pytest.approx(rows.mean())
        assert point.sd == pytest.approx(rows.mean(1).std(ddof=1))
        assert point.ledger.backward == 60.0
    assert (validated.state.mark, validated.state.recorded) == (2, 5)
    assert validated.total_training_steps == 1000


def test_a_spent_budget_ends_training_also_where_a_run_was_continued_from_its_last_checkpoint(
    receiver: Receiver,
) -> None:
    validated = trainer(receiver, spent=100.0)
    validate(validated)
    assert validated.total_training_steps == validated.global_steps


def test_a_benchmark_without_rows_is_an_error_that_names_it(receiver: Receiver) -> None:
    validated = trainer(receiver, spent=0.0)
    validated.config.trainer.v1.sampler.sampler_kwargs.benchmarks = ["GSM8K"]
    with pytest.raises(ValueError, match="data_source GSM8K"):
        validate(validated)
