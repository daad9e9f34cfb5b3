from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from strategies import Method, Pool, WithoutReplacement, WrongUse, parse
from suites import task as tasks
from suites.task import Point

torch = pytest.importorskip("torch")
pytest.importorskip("verl", reason="needs the extra: install costaware-bench[verl]")

from suites.verl.actor import Diverged  # noqa: E402
from suites.verl.rollouts import NoSignal, collect  # noqa: E402
from suites.verl.settings import PRESETS  # noqa: E402
from suites.verl.streams import Streams  # noqa: E402
from suites.verl.warmstart import warm_start  # noqa: E402

TINY = "verl/grpo@tiny"
BUDGET = 12_000.0


def run(
    workdir: Path, spec: str, name: str = TINY, budget: float | None = BUDGET, repeat: int = 0, **settings: Any
) -> Iterator[Point]:
    """The points of a run, from wherever `workdir` has got to."""
    method: Method = parse(spec)
    task = tasks.make(name, {"eval_prompts": 16, **settings})
    task.check(method)
    world, draw = tasks.seeds(name, method, 0, repeat)
    return task.run(tasks.Request(method, world, draw, budget, workdir))


@pytest.mark.parametrize(("spec", "stop"), [("pstar", 5), ("pps:proxy=surprise,draws=0.5", 17), ("none", 11)])
def test_killed_and_resumed_equals_uninterrupted(spec: str, stop: int, tmp_path: Path) -> None:
    for directory in ("whole", "killed"):
        (tmp_path / directory).mkdir()
    settings = {"kl_loss_coef": 0.01} if spec == "none" else {}
    whole = list(run(tmp_path / "whole", spec, **settings))
    assert stop < len(whole)
    written = list(islice(run(tmp_path / "killed", spec, **settings), stop))  # the generator is dropped at a point
    recorded = tasks.make(TINY, settings).recorded(tmp_path / "killed")
    assert 0 < recorded <= stop
    assert written[:recorded] + list(run(tmp_path / "killed", spec, **settings)) == whole


def test_evaluations_stand_at_the_marks_of_the_budget(tmp_path: Path) -> None:
    points = list(run(tmp_path, "pps:draws=0.25", budget=30_000, evaluations=10))
    evaluated = [point for point in points if point.phase == "eval"]
    spent = np.array([point.ledger.backward for point in evaluated])
    steps = np.array([0.0] + [point.ledger.backward for point in points if point.phase == "train"])
    marks = np.arange(11) * 3_000
    first_past = {float(steps[np.argmax(steps >= mark)]) for mark in marks}
    assert spent.tolist() == sorted(first_past)
    assert points[-1].phase == "eval"
    assert spent[-1] >= 30_000 > steps[steps < spent[-1]].max()


def test_ledger_counts_every_token_once(tmp_path: Path) -> None:
    world, stage = PRESETS["tiny"]
    first = next(islice(run(tmp_path, "none"), 1, 2))
    streams = Streams(*tasks.seeds(TINY, parse("none"), 0))
    rollouts, generated = collect(warm_start(world), world.chain, stage, streams, step=0)
    assert first.ledger.generated == generated == rollouts.response_lengths.sum()
    assert first.ledger.backward == first.ledger.backward_drawn == rollouts.lengths.sum()
    assert (first.ledger.forward, first.ledger.draws) == (0, 128)
    assert first.value == rollouts.scores.mean()


def test_duplicates_are_processed_once_and_counted_as_drawn(tmp_path: Path) -> None:
    points = [point for point in run(tmp_path, "pstar") if point.phase == "train"]
    assert all(point.ledger.backward < point.ledger.backward_drawn for point in points)
    assert points[-1].ledger.draws == 128 * len(points)
    assert all(0 < point.diagnostics["unique_share"] < 1 for point in points)


def test_methods_meet_the_same_world(tmp_path: Path) -> None:
    runs = [list(run(tmp_path / spec, spec)) for spec in ("none", "pstar") if not (tmp_path / spec).mkdir()]
    assert runs[0][0] == runs[1][0]  # the same evaluation before anything is learned
    assert runs[0][1].value == runs[1][1].value  # the same first rollouts
    assert runs[0][1].ledger.generated == runs[1][1].ledger.generated


def test_baseline_repeat_draws_anew_in_the_same_world(tmp_path: Path) -> None:
    for directory in ("a", "b"):
        (tmp_path / directory).mkdir()
    one, other = list(run(tmp_path / "a", "none")), list(run(tmp_path / "b", "none", repeat=1))
    assert one[:1] == other[:1]
    assert one[1].value == other[1].value
    assert one[-1] != other[-1]


@pytest.mark.parametrize("loss", ["grpo", "cispo"])
def test_zero_variance_groups_are_dropped_and_their_tokens_counted(loss: str, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    points = [point for point in run(tmp_path, "none", name=f"verl/{loss}+zvf@tiny") if point.phase == "train"]
    plain = next(point for point in run(tmp_path / "plain", "none", name=f"verl/{loss}@tiny") if point.phase == "train")
    assert plain.diagnostics["zero_advantage"] > 0
    assert all(point.diagnostics["zero_advantage"] == 0 for point in points)
    assert points[0].ledger.draws == 128
    assert points[0].ledger.generated > plain.ledger.generated


def test_a_batch_that_never_fills_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(NoSignal, match=r"step 0: 16 prompts gave \d+ groups with unequal scores, not 16"):
        list(run(tmp_path, "none", name="verl/grpo+zvf@tiny", max_prompt_ratio=1))


def test_divergence_stops_the_run_with_its_step(tmp_path: Path) -> None:
    with pytest.raises(Diverged, match=r"step \d+: loss .*nan"):
        list(run(tmp_path, "pstar", lr=1e30, warmup=0))


@dataclass(frozen=True)
class DrawsNothing(WithoutReplacement):
    name = "draws-nothing"

    def inclusion(self, pool: Pool, size: int) -> np.ndarray:
        return np.zeros(len(pool))


def test_a_method_that_draws_nothing_does_not_run_for_ever(tmp_path: Path) -> None:
    task, method = tasks.make(TINY, {"eval_prompts": 16}), Method(DrawsNothing())
    with pytest.raises(NoSignal, match="step 19: nothing was drawn in 20 steps"):
        list(task.run(tasks.Request(method, *tasks.seeds(TINY, method, 0), BUDGET, tmp_path)))


def test_diagnostics_are_measured_when_due_and_change_nothing(tmp_path: Path) -> None:
    for directory in ("plain", "studied"):
        (tmp_path / directory).mkdir()
    plain = list(run(tmp_path / "plain", "smoothed"))
    studied = list(run(tmp_path / "studied", "smoothed", diagnostics=3))
    assert [(p.value, p.ledger) for p in plain] == [(p.value, p.ledger) for p in studied]
    trained = [point.diagnostics for point in studied if point.phase == "train"]
    assert ["J" in shown for shown in trained] == [step % 3 == 0 for step in range(len(trained))]
    shown = trained[0]
    assert shown["J"] == pytest.approx(shown["relative_variance"] * shown["update_tokens"])
    assert 0 < shown["pearson/advantage"] < shown["pearson/surprise"] < 1
    assert shown["chi2/surprise"] >= 0
    assert studied[-1].diagnostics["J"] > 0


def test_oracle_pays_for_its_gradients(tmp_path: Path) -> None:
    points = [point for point in run(tmp_path, "pps:proxy=oracle,draws=0.5", budget=3_000) if point.phase == "train"]
    assert all(point.ledger.forward > point.ledger.backward > 0 for point in points)


def test_kl_term_reads_the_reference_and_refuses_undrawable_rollouts(tmp_path: Path) -> None:
    points = [point for point in run(tmp_path, "none", budget=3_000, kl_loss_coef=0.1) if point.phase == "train"]
    assert all(point.ledger.forward == point.ledger.backward for point in points)
    with pytest.raises(WrongUse, match="kl_loss_coef with pstar"):
        run(tmp_path, "pstar", kl_loss_coef=0.1)


def test_training_learns(tmp_path: Path) -> None:
    points = list(run(tmp_path, "pps:proxy=surprise,draws=0.5", budget=25_000, eval_prompts=256))
    first, last = points[0], points[-1]
    gain, error = last.value - first.value, math.hypot(first.sd, last.sd) / math.sqrt(256)
    assert gain > 4 * error


def test_verl_is_used_without_a_ray_cluster(tmp_path: Path) -> None:
    import ray

    list(run(tmp_path, "none", budget=2_000))
    assert not ray.is_initialized()
