"""Every built-in rule against its formula, and at the edges that its definition names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from pools_for_tests import pools, z

from strategies import Draw, IIDStrategy, Pool, WithoutReplacement, WrongUse, parse, registry, subset
from strategies.types import Floats

POOL = Pool(costs=[100, 400, 2500, 900], norms=[2, 0, 5, 3])
SILENT = Pool(costs=[1, 4, 9], norms=[0, 0, 0])
NAMES = [entry.name for entry in registry.entries() if entry.origin.startswith("strategies.builtin")]


def p_of(spec: str, pool: Pool = POOL) -> Floats:
    strategy = parse(spec).strategy
    assert isinstance(strategy, IIDStrategy)
    return strategy.probabilities(pool)


def draw(spec: str, pool: Pool, size: int = 4, seed: int = 0) -> Draw:
    return parse(spec).strategy.draw(pool, size, np.random.default_rng(seed))


def test_all_rows_of_the_design_are_here() -> None:
    assert [
        *("indicator", "inverse-sqrt-cost", "knapsack", "noisy", "none", "nonzero", "pps", "pstar", "smoothed"),
        *("uniform", "variance"),
    ] == NAMES


@pytest.mark.parametrize(
    ("spec", "scores"),
    [
        ("uniform", [1, 1, 1, 1]),
        ("variance", [2, 0, 5, 3]),
        ("pstar", [2 / 10, 0, 5 / 50, 3 / 30]),
        ("inverse-sqrt-cost", [1 / 10, 1 / 20, 1 / 50, 1 / 30]),
        ("indicator", [1, 0, 1, 1]),
        ("noisy", [2 / 10, 0, 5 / 50, 3 / 30]),  # of the perturbed norms
        ("knapsack", [2 / 10, 0, 5 / 50, 3 / 30]),  # 5% of 10 is less than any norm
        ("knapsack:bias=0.5", [2 / 10, 0, 0, 3 / 30]),  # the dearest one may go
        ("knapsack:bias=0.5,solver=exact", [2 / 10, 0, 0, 3 / 30]),
    ],
)
def test_probabilities(spec: str, scores: list[float]) -> None:
    assert np.allclose(p_of(spec), np.array(scores) / np.sum(scores), rtol=1e-12, atol=0)


@pytest.mark.parametrize("alpha", [0, 0.01, 0.05, 0.1, 1])
def test_smoothed_mixes_with_uniform(alpha: float) -> None:
    assert np.allclose(p_of(f"smoothed:alpha={alpha}"), (1 - alpha) * p_of("pstar") + alpha / 4)
    assert np.allclose(p_of(f"smoothed:alpha={alpha},inner=variance"), (1 - alpha) * p_of("variance") + alpha / 4)


def test_none_and_nonzero_take_the_pool_once() -> None:
    assert draw("none", POOL).indices.tolist() == [0, 1, 2, 3]
    assert draw("nonzero", POOL).indices.tolist() == [0, 2, 3]
    assert set(draw("none", POOL).weights) == set(draw("nonzero", POOL).weights) == {0.25}


@given(pools())
def test_knapsack_keeps_what_its_bias_allows(pool: Pool) -> None:
    for solver, within in (("greedy", 2.0), ("exact", 1.0)):
        kept = p_of(f"knapsack:bias=0.3,solver={solver}", pool) > 0
        assert pool.norms[~kept].sum() <= 0.3 * pool.norms.sum() * (1 + 1e-7)
        best = subset.weight(subset.exact(pool, 0.3 * float(pool.norms.sum())), pool)
        assert subset.weight(kept, pool) <= within * best * (1 + 1e-6)


def test_noise_has_the_stated_variance_and_is_cut_at_zero() -> None:
    n, sigma2 = 100_000, 0.25
    pool = Pool(np.ones(n), np.where(np.arange(n) < n // 2, 10.0, 0.0))
    seen = parse(f"noisy:sigma2={sigma2}").strategy.perturb(pool, np.random.default_rng(0)).norms
    noise = seen[: n // 2] - 10
    assert noise.mean() == pytest.approx(0, abs=z(3) * np.sqrt(sigma2 / noise.size))
    assert noise.var() == pytest.approx(sigma2, abs=z(3) * sigma2 * np.sqrt(2 / noise.size))
    zeros = np.count_nonzero(seen[n // 2 :] == 0) / (n // 2)
    assert zeros == pytest.approx(0.5, abs=z(3) * 0.5 / np.sqrt(n // 2))
    assert (seen >= 0).all()


def test_noise_reaches_through_wrappers_and_is_drawn_anew_each_time() -> None:
    pool = Pool(np.ones(50), np.ones(50))
    rng = np.random.default_rng(0)
    for spec in ("noisy", "smoothed:inner=noisy", "pps:inner=noisy", "noisy:inner=noisy"):
        strategy = parse(spec).strategy
        one, other = strategy.perturb(pool, rng).norms, strategy.perturb(pool, rng).norms
        assert not np.array_equal(one, other)
    assert parse("smoothed").strategy.perturb(pool, rng) is pool


@pytest.mark.parametrize(
    ("spec", "unbiased"),
    [
        *[(name, name not in ("noisy", "knapsack")) for name in NAMES],
        ("noisy:sigma2=0", True),
        ("smoothed:inner=noisy", True),
        ("smoothed:alpha=0,inner=noisy", False),
        ("smoothed:inner=knapsack", True),
        ("knapsack:bias=0", True),
        ("pps:inner=noisy", False),
        ("pps:inner=(smoothed:inner=noisy)", True),
    ],
)
def test_what_is_unbiased(spec: str, unbiased: bool) -> None:
    assert parse(spec).strategy.unbiased is unbiased


def test_a_property_that_depends_on_parameters_reads_on_the_class_as_at_its_defaults() -> None:
    assert registry.get("knapsack").unbiased is False
    assert registry.get("smoothed").unbiased is True
    assert registry.get("smoothed").needs == ()


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        *[(name, [True, False, True, True]) for name in ("pstar", "variance", "indicator", "nonzero", "pps")],
        *[(name, [True] * 4) for name in ("none", "uniform", "inverse-sqrt-cost", "smoothed", "noisy")],
        ("smoothed:alpha=0", [True, False, True, True]),
        ("noisy:sigma2=0", [True, False, True, True]),
        ("knapsack:bias=0.5", [True, False, False, True]),
        ("pps:inner=uniform", [True] * 4),
        ("pps:inner=noisy", [True] * 4),
    ],
)
def test_support_is_known_before_the_draw(spec: str, expected: list[bool]) -> None:
    assert parse(spec).strategy.support(POOL).tolist() == expected


@pytest.mark.parametrize("name", NAMES)
def test_zero_norms(name: str) -> None:
    strategy, drawn = parse(name).strategy, draw(name, SILENT, size=200)
    if name in ("nonzero", "pps"):
        assert (len(drawn), drawn.note) == (0, "nothing was drawn")
        assert not strategy.support(SILENT).any()
    elif name in ("none", "uniform", "inverse-sqrt-cost"):
        assert drawn.note == ""
    else:
        assert drawn.note == "all norms are zero: drawn uniformly"
        assert np.allclose(drawn.weights, 1 / 200)
        assert strategy.support(SILENT).all()


def test_pps_of_a_rule_without_norms_draws_all_the_same() -> None:
    drawn = draw("pps:inner=uniform", SILENT, size=2)
    assert len(drawn) == 2
    assert parse("pps:inner=uniform").strategy.support(SILENT).all()


@pytest.mark.parametrize("name", NAMES)
def test_one_component(name: str) -> None:
    for size in (1, 5):
        drawn = draw(name, Pool([3], [10]), size)
        assert set(drawn.indices) == {0}
        assert drawn.weights.sum() == pytest.approx(1)


EXTREME = 10.0 ** np.linspace(-300, 300, 9)


@pytest.mark.parametrize("spec", [*NAMES, "knapsack:solver=exact", "pps:design=poisson", "pps:inner=variance"])
def test_extremes_stay_finite(spec: str) -> None:
    strategy = parse(spec).strategy
    cases = [
        Pool(EXTREME, EXTREME),
        Pool(EXTREME, EXTREME[::-1]),
        Pool(np.ones(9), EXTREME),
        Pool(EXTREME, np.ones(9)),
        Pool(np.full(9, 1e-300), np.full(9, 1e300)),
        Pool(np.full(9, 1e300), np.full(9, 1e-300)),
    ]
    for pool in cases:
        if isinstance(strategy, IIDStrategy):
            assert strategy.probabilities(pool).sum() == pytest.approx(1)
        if isinstance(strategy, WithoutReplacement):
            assert np.isfinite(strategy.inclusion(pool, 5)).all()
        for seed in range(20):
            assert np.isfinite(strategy.draw(pool, 5, np.random.default_rng(seed)).weights).all()


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("smoothed:alpha=2", "smoothed: alpha=2: must lie in [0, 1]"),
        ("smoothed:alpha=-0.1", "smoothed: alpha=-0.1: must lie in [0, 1]"),
        ("smoothed:alpha=nan", "smoothed: alpha=nan: must lie in [0, 1]"),
        ("noisy:sigma2=-1", "noisy: sigma2=-1: must be a finite variance >= 0"),
        ("noisy:sigma2=inf", "noisy: sigma2=inf: must be a finite variance >= 0"),
        ("noisy:sigma2=nan", "noisy: sigma2=nan: must be a finite variance >= 0"),
        ("knapsack:bias=1", "knapsack: bias=1: must lie in [0, 1)"),
        ("knapsack:bias=nan", "knapsack: bias=nan: must lie in [0, 1)"),
        ("pps:inner=(smoothed:alpha=2)", "smoothed: alpha=2: must lie in [0, 1]"),
    ],
)
def test_parameters_out_of_range_are_one_line(spec: str, line: str) -> None:
    with pytest.raises(WrongUse) as refused:
        parse(spec)
    assert str(refused.value).removeprefix("pps: ") == line


def test_a_pool_refuses_what_has_no_meaning() -> None:
    for costs, norms, line in [
        ([1, 0], [1, 1], r"costs\[1\] is 0.0: costs must be finite and > 0 tokens"),
        ([1, 1], [1, np.nan], r"norms\[1\] is nan: norms must be finite and >= 0"),
        ([1, np.inf], [1, 1], r"costs\[1\] is inf"),
        ([1, 1], [1], r"norms has shape \(1,\), not \(2,\) like costs"),
        ([], [], "the pool is empty"),
    ]:
        with pytest.raises(WrongUse, match=line):
            Pool(costs, norms)
