from __future__ import annotations

import math

import numpy as np
import pytest

from strategies import WrongUse, parse
from suites.verl.sampling import SEQUENCE_LOSSES, Observed, build_pool, plan, refuse, sequence_weights

RNG = np.random.default_rng(0)
LENGTHS = RNG.integers(1, 9, 40)
MASK = np.arange(8) < LENGTHS[:, None]
OBSERVED = Observed(
    prompt_lengths=RNG.integers(3, 12, 40),
    response_lengths=LENGTHS,
    groups=np.repeat(np.arange(10), 4),
    scores=RNG.integers(0, 2, 40).astype(float),
    advantages=RNG.normal(size=40) * (np.arange(40) % 4 > 0),
    log_probs=np.where(MASK, -RNG.exponential(size=(40, 8)), 0.0).astype(np.float32),
    mask=MASK,
    entropies=np.where(MASK, RNG.exponential(size=(40, 8)), 0.0).astype(np.float32),
)


def test_features_are_their_formulas() -> None:
    features = OBSERVED.features()
    for i, length in enumerate(LENGTHS):
        missing = [1 - math.exp(OBSERVED.log_probs[i, t]) for t in range(length)]
        assert features["surprise"][i] == pytest.approx(sum(missing) / length)
        assert features["score_norm"][i] == pytest.approx(math.sqrt(sum(m * m for m in missing)) / length)
        assert features["mean_entropy"][i] == pytest.approx(OBSERVED.entropies[i, :length].mean(), rel=1e-6)


def test_what_lies_past_a_response_does_not_count() -> None:
    padded = Observed(**{**vars(OBSERVED), "log_probs": np.where(MASK, OBSERVED.log_probs, -9.0)})
    for name, values in OBSERVED.features().items():
        np.testing.assert_allclose(padded.features()[name], values)


def test_pool_has_tokens_as_costs_and_the_proxy_as_norms() -> None:
    pool = build_pool(OBSERVED, "surprise")
    np.testing.assert_array_equal(pool.costs, OBSERVED.prompt_lengths + OBSERVED.response_lengths)
    np.testing.assert_allclose(pool.norms, np.abs(OBSERVED.advantages) * pool.features["surprise"])
    np.testing.assert_array_equal(pool.groups, OBSERVED.groups)


def test_a_proxy_without_its_feature_is_refused() -> None:
    bare = Observed(**{**vars(OBSERVED), "entropies": None})
    with pytest.raises(WrongUse, match="entropy needs the feature mean_entropy"):
        build_pool(bare, "entropy")
    with pytest.raises(WrongUse, match="grad_norm"):
        build_pool(OBSERVED, "oracle")
    assert build_pool(bare, "oracle", {"grad_norm": np.ones(40)}).norms.sum() == 40


def test_plain_updates_weigh_every_rollout_one() -> None:
    step = plan(parse("none"), build_pool(OBSERVED, "advantage"), 4, "none", np.random.default_rng(1))
    assert sorted(i for update in step.updates for i in update.indices) == list(range(40))
    for update in step.updates:
        np.testing.assert_allclose(sequence_weights(update, mini_batch=10), 1.0)
    assert step.unique_share == 1.0


def test_recentring_divides_by_the_share_that_can_be_drawn() -> None:
    pool = build_pool(OBSERVED, "advantage")
    plain = plan(parse("pstar"), pool, 3, "none", np.random.default_rng(2))
    centred = plan(parse("pstar"), pool, 3, "support", np.random.default_rng(2))
    for one, other in zip(plain.updates, centred.updates, strict=True):
        np.testing.assert_array_equal(one.indices, other.indices)
        np.testing.assert_allclose(other.weights, one.weights / 0.75)  # one advantage in four is zero


@pytest.mark.parametrize("mode", ["token-mean", "token-sum", "batchmean"])
def test_losses_that_depend_on_what_is_drawn_are_refused(mode: str) -> None:
    with pytest.raises(WrongUse, match=f"loss_agg_mode={mode}"):
        refuse(parse("none"), mode)


@pytest.mark.parametrize("term", ["entropy_coeff", "kl_loss_coef"])
@pytest.mark.parametrize("mode", SEQUENCE_LOSSES)
def test_terms_that_zero_advantage_rollouts_belong_to_need_them(term: str, mode: str) -> None:
    for spec in ("none", "uniform", "smoothed", "inverse-sqrt-cost"):
        refuse(parse(spec), mode, **{term: 0.1})
    for spec in ("pstar", "nonzero", "pps", "variance", "knapsack", "indicator"):
        refuse(parse(spec), mode)
        with pytest.raises(WrongUse, match=f"{term} with {spec}"):
            refuse(parse(spec), mode, **{term: 0.1})
