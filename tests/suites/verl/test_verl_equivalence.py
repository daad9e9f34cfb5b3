"""Without sampling, an update is verl's own GRPO update: its `ppo_loss` on the same rollouts, loss and gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from strategies import parse
from suites.advantages import group_advantages
from suites.verl.sampling import build_pool, plan
from suites.verl.settings import PRESETS, Stage

torch = pytest.importorskip("torch")
pytest.importorskip("verl", reason="needs the extra: install costaware-bench[verl]")

from tensordict import TensorDict  # noqa: E402
from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage  # noqa: E402
from verl.utils import tensordict_utils  # noqa: E402
from verl.workers.config import FSDPActorConfig, PolicyLossConfig  # noqa: E402
from verl.workers.utils.losses import ppo_loss  # noqa: E402

from suites.verl.actor import Actor, Experience, log_probs_under  # noqa: E402
from suites.verl.model import to_transformers  # noqa: E402
from suites.verl.policy_loss import advantages  # noqa: E402

if TYPE_CHECKING:
    from suites.verl.model import Qwen3

CHAIN, STAGE = PRESETS["tiny"][0].chain, PRESETS["tiny"][1]
STAGES = {
    "vanilla": STAGE,
    "cispo": replace(STAGE, loss="cispo", clip_ratio_low=1.0, clip_ratio_high=0.1),
    "token-sum": replace(STAGE, loss_agg_mode="seq-mean-token-sum-norm"),
    "entropy": replace(STAGE, entropy_coeff=0.05),
    "kl": replace(STAGE, kl_loss_coef=0.05),
}


@pytest.fixture
def moved(policy: Callable[[], Qwen3]) -> Qwen3:
    """Off the policy that sampled, so that ratios differ from 1."""
    model, noise = policy(), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.02 * torch.randn(parameter.shape, generator=noise))
    return model


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_plain_update_is_verls(stage: Stage, moved: Qwen3, policy: Callable[[], Qwen3], experience: Experience) -> None:
    reference = log_probs_under(policy(), experience.rollouts, 1000) if stage.kl_loss_coef else None
    experience = Experience(experience.rollouts, experience.advantages, reference)
    pool = build_pool(experience.rollouts.observed(experience.advantages), "advantage")
    actor = Actor(moved, stage, CHAIN.max_response)
    for update in plan(parse("none"), pool, stage.updates, "none", np.random.default_rng(1)).updates:
        assert len(update.indices) == stage.ppo_mini_batch_size * stage.rollout_n
        actor.optimizer.zero_grad()
        ours, _ = actor.backward(experience, update)
        theirs = to_transformers(moved)
        loss = verl_loss(theirs, experience, update.indices, stage)
        loss.backward()
        assert ours == pytest.approx(float(loss.detach()), rel=1e-4, abs=1e-6)
        gradient = {name: value.grad for name, value in theirs.named_parameters()}
        assert close(moved.embedding.grad, gradient["model.embed_tokens.weight"])
        assert close(moved.blocks[0].down.grad, gradient["model.layers.0.mlp.down_proj.weight"])
        projections = [gradient[f"model.layers.0.self_attn.{name}_proj.weight"] for name in "qkv"]
        assert close(moved.blocks[0].qkv.grad, torch.cat(projections))


def close(one: Any, other: Any) -> bool:
    """To float32, summed in another order."""
    return bool((one - other).norm() < 1e-4 * other.norm())


def verl_loss(model: Any, experience: Experience, rows: np.ndarray, stage: Stage) -> Any:
    """verl's actor loss of a mini-batch, from nested tensors as in its workers."""
    rollouts, nested = experience.rollouts, partial(torch.nested.as_nested_tensor, layout=torch.jagged)
    prompts, lengths = rollouts.prompt_lengths[rows], rollouts.lengths[rows]
    spans = [slice(int(p), int(n)) for p, n in zip(prompts, lengths, strict=True)]
    ids = [rollouts.ids[i, : span.stop] for i, span in zip(rows, spans, strict=True)]
    log_p = [model(row[None]).logits[0].log_softmax(-1) for row in ids]
    after = [torch.cat([row[1:], row[:1]]) for row in ids]  # the last position predicts nothing: verl shifts likewise
    data = {
        "prompts": nested([row[: span.start] for row, span in zip(ids, spans, strict=True)]),
        "responses": nested([row[span] for row, span in zip(ids, spans, strict=True)]),
        "response_mask": nested([torch.ones(span.stop - span.start) for span in spans]),
        "old_log_probs": nested([rollouts.log_probs[i, span] for i, span in zip(rows, spans, strict=True)]),
        "advantages": nested(
            [torch.full((s.stop - s.start,), float(experience.advantages[i])) for i, s in zip(rows, spans, strict=True)]
        ),
    }
    if experience.reference is not None:
        data["ref_log_prob"] = nested([experience.reference[i, span] for i, span in zip(rows, spans, strict=True)])
    batch = TensorDict(data, batch_size=[len(rows)])
    tensordict_utils.assign_non_tensor(batch, dp_size=1, batch_num_tokens=None, global_batch_size=len(rows))
    output = {"log_probs": nested([p.gather(1, a[:, None])[:, 0] for p, a in zip(log_p, after, strict=True)])}
    if stage.entropy_coeff:
        output["entropy"] = nested([-(p.exp() * p).sum(-1) for p in log_p])
    loss, _ = ppo_loss(verl_config(stage), output, batch)
    return loss


def verl_config(stage: Stage) -> FSDPActorConfig:
    return FSDPActorConfig(
        strategy="fsdp2",
        rollout_n=stage.rollout_n,
        ppo_mini_batch_size=stage.ppo_mini_batch_size,
        ppo_micro_batch_size_per_gpu=8,
        clip_ratio_low=stage.clip_ratio_low,
        clip_ratio_high=stage.clip_ratio_high,
        policy_loss=PolicyLossConfig(loss_mode=stage.loss),
        loss_agg_mode=stage.loss_agg_mode,
        loss_scale_factor=CHAIN.max_response,
        entropy_coeff=stage.entropy_coeff,
        use_kl_loss=stage.kl_loss_coef > 0,
        kl_loss_coef=stage.kl_loss_coef,
    )


@pytest.mark.parametrize("normalize", [True, False])
def test_advantages_are_verls_and_zero_without_variance(normalize: bool) -> None:
    rng = np.random.default_rng(2)
    groups = rng.permutation(np.repeat(np.arange(20), 5))
    scores = rng.choice([0.0, 0.1, 1.0], size=100)
    scores[groups < 4] = 0.1  # equal floats, whose standard deviation need not come out as 0
    found = advantages(scores, groups, normalize)
    rewards = torch.from_numpy(scores)[:, None]
    theirs, _ = compute_grpo_outcome_advantage(rewards, torch.ones(100, 1), groups, norm_adv_by_std_in_grpo=normalize)
    varied = groups >= 4
    np.testing.assert_array_equal(found[varied], theirs[:, 0].numpy()[varied])
    np.testing.assert_allclose(found, group_advantages(scores, groups, normalize), atol=1e-9)
    assert not found[~varied].any()
