"""verl's own advantages and policy losses, called as its trainer calls them: a change there reaches us.

Importing this module imports verl (about 4 CPU-seconds beyond torch; ray is imported by it, never started).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from verl.trainer.ppo.core_algos import (
    agg_loss,
    compute_grpo_outcome_advantage,
    get_policy_loss_fn,
    kl_penalty,
)
from verl.workers.config import ActorConfig, PolicyLossConfig

from strategies.types import Floats, Ints
from suites.advantages import zero_variance
from suites.verl.settings import Stage


def advantages(scores: Floats, groups: Ints, normalize: bool) -> Floats:
    """(N,) verl's GRPO advantages; exactly 0 in a group of equal scores, where a float's deviation may not be 0."""
    rewards = torch.from_numpy(scores)[:, None]
    found, _ = compute_grpo_outcome_advantage(
        rewards, torch.ones_like(rewards), groups, norm_adv_by_std_in_grpo=normalize
    )
    found[torch.from_numpy(zero_variance(scores, groups))] = 0.0
    values: Floats = found[:, 0].numpy()
    return values


@dataclass(frozen=True, eq=False)
class Sequences:
    """A micro-batch: entry (b, t) of a (B, T) tensor belongs to token t + 1 of sequence b.

    mask: which tokens are the response's. old_log_probs: under the policy that sampled them. advantages, weights: (B,).
    reference_log_probs: under the policy that the KL term pulls to, None without that term.
    """

    mask: Tensor
    old_log_probs: Tensor
    advantages: Tensor
    weights: Tensor
    reference_log_probs: Tensor | None = None


class PolicyLoss:
    """The loss of a (micro-)batch: verl's policy loss, sequence weights and fixed denominator included.

    Args:
        stage: loss, clipping, aggregation, entropy and KL coefficients.
        mini_batch: N / U rollouts, the fixed denominator; a sum over micro-batches is the update's loss.
        horizon: tokens of the longest response, the denominator of `seq-mean-token-sum-norm`.
    """

    def __init__(self, stage: Stage, mini_batch: float, horizon: int) -> None:
        self.stage = stage
        self.function = get_policy_loss_fn(stage.loss)
        self.config = ActorConfig(
            strategy="fsdp2",
            rollout_n=stage.rollout_n,
            ppo_micro_batch_size_per_gpu=1,
            clip_ratio_low=stage.clip_ratio_low,
            clip_ratio_high=stage.clip_ratio_high,
            policy_loss=PolicyLossConfig(loss_mode=stage.loss),
            loss_agg_mode=stage.loss_agg_mode,
            loss_scale_factor=horizon,
            entropy_coeff=stage.entropy_coeff,
            use_kl_loss=stage.kl_loss_coef > 0,
            kl_loss_coef=stage.kl_loss_coef,
        )
        self.config.global_batch_info.update(
            dp_size=1, batch_num_tokens=None, global_batch_size=mini_batch, loss_scale_factor=horizon
        )

    def __call__(self, log_probs: Tensor, entropies: Tensor | None, batch: Sequences) -> tuple[Tensor, float]:
        """The loss, and the share of tokens whose ratio was clipped."""
        weights = batch.weights[:, None].expand_as(log_probs)
        loss, metrics = self.function(
            old_log_prob=batch.old_log_probs,
            log_prob=log_probs,
            advantages=batch.advantages[:, None].expand_as(log_probs),
            response_mask=batch.mask,
            loss_agg_mode=self.config.loss_agg_mode,
            config=self.config,
            rollout_is_weights=weights,
        )
        if entropies is not None:
            loss = loss - self.config.entropy_coeff * self._aggregate(entropies * weights, batch.mask)
        if batch.reference_log_probs is not None:
            divergence = kl_penalty(log_probs, batch.reference_log_probs, self.config.kl_loss_type)
            loss = loss + self.config.kl_loss_coef * self._aggregate(divergence * weights, batch.mask)
        return loss, float(metrics["actor/pg_clipfrac"])

    def _aggregate(self, values: Tensor, mask: Tensor) -> Tensor:
        total: Tensor = agg_loss(values, mask, self.config.loss_agg_mode, **self.config.global_batch_info)
        return total
