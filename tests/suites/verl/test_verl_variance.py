from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from strategies import Pool, parse
from strategies.theory import mean_square, variance_iid, variance_minibatch
from suites import task as tasks

pytest.importorskip("torch")
pytest.importorskip("verl", reason="needs the extra: install costaware-bench[verl]")

from suites.verl import diagnostics
from suites.verl.settings import PRESETS, Study
from suites.verl.variance import VarianceTable


def test_noise_of_orthogonal_gradients_is_the_closed_form() -> None:
    rng = np.random.default_rng(0)
    pool = Pool(rng.uniform(1, 50, 60), rng.exponential(size=60))
    gram = np.diag(pool.norms**2)
    for spec, variance in {
        "pstar": variance_iid(parse("pstar").strategy.probabilities(pool), pool, 15),
        "uniform": variance_iid(np.full(60, 1 / 60), pool, 15),
        "none": variance_minibatch(pool, 15),
    }.items():
        measured = diagnostics.noise(parse(spec), pool, gram, 4, rng, draws=3000)
        assert measured.relative_variance == pytest.approx(variance / mean_square(pool), rel=0.03)
    assert measured.tokens == pytest.approx(pool.costs.sum() / 4)  # none: each quarter once


def test_noise_without_a_gradient_means_nothing() -> None:
    pool = Pool(np.ones(4), np.zeros(4))
    assert np.isnan(diagnostics.noise(parse("none"), pool, np.zeros((4, 4)), 2, np.random.default_rng(0)).product)


def test_table_has_every_design_and_proxy_at_both_policies(tmp_path: Path) -> None:
    world, stage = PRESETS["tiny"]
    method = parse("pstar:proxy=surprise,draws=0.5")
    task = VarianceTable("verl/variance", world, replace(stage, budget=5_000), Study(pools=1, plans=60))
    world_seed, draw_seed = tasks.seeds(task.name, method, 0)
    request = tasks.Request(method, world_seed, draw_seed, None, tmp_path)
    points = list(task.run(request))
    measured = [point for point in points if point.phase == "eval"]
    assert [point.metric for point in measured] == list(task.metrics)
    table = {point.metric: point.value for point in points if point.phase == "train"}
    assert len(table) == len(points) - 2 == 2 * 25
    for point, name in zip(measured, ("start", "late"), strict=True):
        assert point.value == pytest.approx(point.diagnostics["relative_variance"] * point.diagnostics["tokens"])
        assert point.value < table[f"{name}/uniform"]
        assert table[f"{name}/pps:proxy=oracle,draws=0.25"] < table[f"{name}/pps:draws=0.25"] < table[f"{name}/pstar"]
        assert 0 < point.diagnostics["pearson/advantage"] < 1
    assert list(task.run(request)) == points
