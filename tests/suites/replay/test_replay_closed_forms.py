"""Expected tokens, error and savings against enumeration, simulation and published figures."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import Draw, Pool, Strategy, parse, theory
from suites.replay.comparison import compare, design
from suites.replay.log import Log, Step, read
from suites.replay.simulated import Simulated
from suites.replay.terms import Terms
from suites.replay.verify import Comparison, Verdict, verify
from suites.updates import part_sizes

IID = ["uniform", "variance", "pstar", "smoothed:alpha=0.1", "inverse-sqrt-cost", "indicator"]
WITHOUT = ["none", "nonzero", "pps", "pps:draws=0.5", "pps:inner=variance,draws=0.3"]
POOLS = st.lists(st.tuples(st.floats(1, 1000), st.just(0.0) | st.floats(0.01, 3)), min_size=2, max_size=30).filter(
    lambda items: any(norm > 0 for _, norm in items)
)


def pool_of(items):
    costs, norms = (np.array(column) for column in zip(*items, strict=True))
    return Pool(costs, norms, features={"advantage": norms})


def some_pool(n=40, zeros=0.5, seed=0):
    rng = np.random.default_rng(seed)
    norms = np.where(rng.random(n) < zeros, 0.0, rng.exponential(size=n))
    return pool_of(zip(rng.uniform(1, 100, n), norms, strict=True))


def log_of(*pools):
    return Log(tuple(Step(f"step {k}", pool, 1, 0, 0) for k, pool in enumerate(pools)), ("tokens",), 0)


def row(pool_or_log, method, baseline="none", **terms):
    log = pool_or_log if isinstance(pool_or_log, Log) else log_of(pool_or_log)
    (one,) = compare(log, [parse(method)], Terms(parse(baseline), **terms))
    return one


# ---------------------------------------------------------------- one step


@pytest.mark.parametrize("method", IID)
@pytest.mark.parametrize("updates", [1, 2, 3])
def test_iid_figures_equal_the_sum_over_every_possible_draw(method, updates):
    """3 components, 4 draws: 81 draws. Positions of a draw are exchangeable, so its parts need no shuffling."""
    method, size = parse(f"{method}{',' if ':' in method else ':'}draws={4 / 3}"), 4
    pool = pool_of([(1.0, 0.5), (10.0, 1.0), (3.0, 2.0)])
    p = method.strategy.probabilities(pool)
    tokens = drawn = error = 0.0
    for draw in itertools.product(range(3), repeat=size):
        chance = np.prod(p[list(draw)])
        parts = np.split(np.array(draw), np.cumsum(part_sizes(size, updates))[:-1])
        tokens += chance * sum(pool.costs[list(set(part.tolist()))].sum() for part in parts)
        drawn += chance * pool.costs[list(draw)].sum()
        weights = np.bincount(draw, minlength=3) / (size * 3 * p)
        error += chance * ((weights - 1 / 3) ** 2 @ pool.norms**2)
    found = design(method, pool, seed=0).step(updates)
    np.testing.assert_allclose([found.tokens, found.tokens_drawn, found.variance], [tokens, drawn, error], rtol=1e-9)


def test_real_draws_agree_with_the_closed_forms():
    """Chance of a false alarm 0.1%, once and for all: seeds are fixed."""
    methods = [parse(spec) for spec in [*IID, *WITHOUT, "pps:design=poisson,draws=0.3", "knapsack"]]
    verdict = verify(log_of(some_pool(), some_pool(25, 0.2, seed=1)), methods, Terms(parse("none")), draws=200)
    assert not verdict.off
    assert len(verdict.comparisons) == 2 * 3 * len(methods)


def test_the_check_sees_a_closed_form_that_is_two_per_cent_off():
    verdict = verify(log_of(some_pool()), [parse("pstar")], Terms(parse("none")), draws=4000)
    tokens = next(one for one in verdict.comparisons if one.quantity == "tokens")
    wrong = Comparison(
        tokens.method, tokens.step, "tokens", 1.02 * tokens.closed_form, tokens.measured, tokens.standard_error
    )
    assert not Verdict([wrong], verdict.threshold, []).agrees(wrong)
    assert verdict.agrees(tokens)


def test_a_randomized_strategy_is_averaged_over_its_perturbations_and_says_it_is_not_checked():
    """Smoothed, so that the variance is finite. Tokens within 4.5 standard errors of real draws, both means counted."""
    pool, method = some_pool(), parse("smoothed:alpha=0.2,inner=(noisy:sigma2=0.1)")
    figures = design(method, pool, seed=1).step(updates=4)
    sample = Simulated(method, pool, seed=2, draws=2000).sample(len(pool), updates=4)
    for closed, values in ((figures.tokens, sample.tokens), (figures.tokens_drawn, sample.tokens_drawn)):
        error = np.hypot(values.std() / np.sqrt(2000), values.std() / np.sqrt(200))
        assert abs(values.mean() - closed) < 4.5 * error
    assert figures.variance == pytest.approx(sample.variance, rel=0.1)
    assert verify(log_of(pool), [method], Terms(parse("none")), 30).unchecked == [str(method)]


@dataclass(frozen=True)
class ByHand(Strategy):
    """p*, drawn in a way that no closed form knows of."""

    name = "by-hand"

    def draw(self, pool, size, rng):
        p = pool.norms / np.sqrt(pool.costs)
        p /= p.sum()
        indices = np.searchsorted(np.cumsum(p), rng.random(size)).clip(max=len(pool) - 1)
        return Draw(indices, 1 / (size * len(pool) * p[indices]))


def test_a_strategy_without_closed_form_is_simulated():
    """200 draws give tokens to 1% and variances to 10% here (four standard errors)."""
    from strategies.method import Method

    pool = some_pool()
    simulated = design(Method(ByHand()), pool, seed=0)
    assert isinstance(simulated, Simulated)
    closed = design(parse("pstar"), pool, seed=0)
    assert simulated.step(4).tokens == pytest.approx(closed.step(4).tokens, rel=0.02)
    assert simulated.step(4).variance == pytest.approx(closed.step(4).variance, rel=0.25)
    error = design(parse("none"), pool, seed=0).update(0.25)[1]
    assert simulated.tokens_at(error) == pytest.approx(closed.tokens_at(error), rel=0.2)


# ---------------------------------------------------------------- equal error


@given(POOLS, st.floats(0.05, 0.95))
def test_the_baselines_update_is_the_plain_mini_batch(items, share):
    pool = pool_of(items)
    tokens, error = design(parse("none"), pool, seed=0).update(share)
    assert tokens == pytest.approx(share * pool.costs.sum())
    assert error == pytest.approx(theory.variance_minibatch(pool, share * len(pool)))


@given(POOLS, st.sampled_from([*IID, *WITHOUT]), st.floats(0.05, 0.9))
@settings(deadline=None)
def test_an_updates_error_leads_back_to_its_tokens(items, method, share):
    """`tokens_at` inverts `update`, for every kind of method (sizes from one draw on)."""
    pool = pool_of(items)
    one = design(parse(method), pool, seed=0)
    if method not in ("none", "nonzero") and one.size * share < 1:
        return
    tokens, error = one.update(share)
    if error > 1e-9 * theory.mean_square(pool):
        assert one.tokens_at(error) == pytest.approx(tokens, rel=1e-6)


def test_no_size_of_an_iid_draw_errs_as_little_as_the_whole_pool():
    assert design(parse("pstar"), some_pool(), seed=0).tokens_at(0.0) is None
    everything = "pps:draws=8"  # of which one update in four still takes all that has a gradient
    assert row(some_pool(), "uniform", baseline=everything).saving is None
    assert row(some_pool(), "nonzero", baseline=everything).saving == pytest.approx(0)


def test_nonzero_saves_what_it_leaves_out_and_none_saves_nothing_against_itself():
    pool = some_pool()
    assert row(pool, "nonzero").saving == pytest.approx(1 - pool.costs[pool.norms > 0].sum() / pool.costs.sum())
    assert row(pool, "none").saving == pytest.approx(0, abs=1e-12)
    assert row(pool, "pstar", baseline="pstar").saving == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("method", ["pstar", "pps:draws=0.5", "nonzero"])
@pytest.mark.parametrize("unit", [0.01, 3.2])
def test_shares_and_savings_do_not_depend_on_the_unit_of_cost(method, unit):
    pool = some_pool()
    scaled = row(Pool(pool.costs * unit, pool.norms, features=pool.features), method).quantities
    for name, value in row(pool, method).quantities.items():
        assert scaled[name] == (None if value is None else pytest.approx(value, rel=1e-9, abs=1e-12))


def test_the_bias_of_what_is_left_out_counts_against_a_saving():
    """Two equal components; a knapsack that keeps one has no variance, but it errs by |gbar|^2 / 2."""
    pool = pool_of([(1.0, 1.0), (100.0, 1.0)])
    kept = row(pool, "knapsack:bias=0.5")
    assert (kept.relative_variance, kept.relative_bias, kept.lost_mass) == pytest.approx((0, 0.5, 0.5))
    assert kept.j_ratio is None
    assert row(pool, "knapsack:bias=0.5", baseline="uniform", minibatch=1).saving is not None
    assert row(pool, "knapsack:bias=0.5", baseline="uniform:draws=50", minibatch=1).saving is None  # errs by less


# ---------------------------------------------------------------- several steps


def test_totals_over_steps_are_ratios_of_sums():
    pools = [some_pool(20, seed=1), some_pool(30, seed=2)]
    weights = np.array([pool.costs.sum() for pool in pools])
    apart, joint = [row(pool, "uniform") for pool in pools], row(log_of(*pools), "uniform")
    assert joint.tokens_share == pytest.approx(np.average([one.tokens_share for one in apart], weights=weights))
    assert joint.relative_variance == pytest.approx(
        np.average([one.relative_variance for one in apart], weights=weights)
    )
    assert joint.saving == pytest.approx(np.average([one.saving for one in apart], weights=weights))
    best = [theory.J_star(pool) for pool in pools]
    assert joint.j_ratio == pytest.approx(np.average([one.j_ratio for one in apart], weights=best))
    assert joint.chi2 == pytest.approx(joint.j_ratio - 1)


def test_a_step_without_gradient_costs_what_each_method_draws_there_and_has_no_say_in_variances():
    dead = pool_of([(10.0, 0.0)] * 8)
    alone, joint = row(some_pool(), "nonzero"), row(log_of(some_pool(), dead), "nonzero")
    assert joint.tokens_share < alone.tokens_share
    assert joint.saving > alone.saving
    uniform, joint_uniform = row(some_pool(), "pstar"), row(log_of(some_pool(), dead), "pstar")
    assert joint_uniform.relative_variance == uniform.relative_variance
    assert joint_uniform.j_ratio == pytest.approx(1)
    assert joint_uniform.tokens_share > 0


# ---------------------------------------------------------------- figures measured on real logs before


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "draws", "drawn", "folded", "pps"),
    [
        ("rollouts_math_qwen2.5_100x8.jsonl", 1.0, 1.517, 0.166, 0.130),
        ("rollouts_gsm8k_gpt3_1319x4.jsonl", 1.0, 0.916, 0.411, 0.297),
        ("rollouts_gsm8k_gpt3_1319x4.jsonl", 0.25, 0.229, 0.179, 0.150),
    ],
)
def test_tokens_of_pps_at_the_variance_of_an_iid_draw(shared_data, name, draws, drawn, folded, pps):
    pool = read([shared_data / name]).steps[0].pool
    iid = design(parse(f"pstar:draws={draws}"), pool, seed=0)
    figures, total = iid.step(updates=1), pool.costs.sum()
    assert figures.tokens_drawn / total == pytest.approx(drawn, abs=5e-4)
    assert figures.tokens / total == pytest.approx(folded, abs=5e-4)
    assert design(parse("pps"), pool, seed=0).tokens_at(figures.variance) / total == pytest.approx(pps, abs=1e-3)
