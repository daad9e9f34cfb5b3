"""The second half of a step: optimizer updates from weighted rollouts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from strategies.types import Floats, Ints
from suites.updates import Update
from suites.verl.model import Qwen3, token_log_probs
from suites.verl.policy_loss import PolicyLoss, Sequences
from suites.verl.rollouts import Rollouts
from suites.verl.sampling import sequence_weights
from suites.verl.settings import Stage

BETAS = (0.9, 0.98)


class Diverged(RuntimeError):
    """A loss or gradient that is not finite: the run can't go on."""


@dataclass(frozen=True, eq=False)
class Experience:
    """The rollouts of a step with their advantages (N,), and the reference policy's log-probabilities (N, T) if any."""

    rollouts: Rollouts
    advantages: Floats
    reference: Tensor | None = None


@dataclass(frozen=True)
class Outcome:
    """What one update did: its loss, the gradient's norm before clipping, the share of clipped tokens."""

    loss: float
    grad_norm: float
    clipped: float


class Actor:
    """A policy, its loss and its optimizer.

    Args:
        policy: trained in place.
        stage: learning rate, clipping, and what `PolicyLoss` reads.
        horizon: tokens of the longest response.
    """

    def __init__(self, policy: Qwen3, stage: Stage, horizon: int) -> None:
        self.policy, self.stage = policy, stage
        self.mini_batch = stage.train_batch_size * stage.rollout_n / stage.updates
        self.loss = PolicyLoss(stage, self.mini_batch, horizon)
        self.optimizer = torch.optim.AdamW(policy.parameters(), lr=stage.lr, betas=BETAS, weight_decay=0.0, fused=True)

    def update(self, experience: Experience, update: Update, step: int) -> Outcome:
        """One optimizer update of step `step`, which sets the learning rate.

        Raises:
            Diverged: the loss or the gradient is not finite; the policy is left as it was.
        """
        self.optimizer.param_groups[0]["lr"] = self.stage.lr * min(1.0, (step + 1) / max(1, self.stage.warmup))
        self.optimizer.zero_grad()
        loss, clipped = self.backward(experience, update)
        norm = float(torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.stage.grad_clip))
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise Diverged(f"step {step}: loss {loss:g}, gradient norm {norm:g}")
        self.optimizer.step()
        return Outcome(loss, norm, clipped)

    def backward(self, experience: Experience, update: Update) -> tuple[float, float]:
        """Add the gradient of an update's loss to the parameters' .grad; returns the loss and the clipped share."""
        weights = sequence_weights(update, self.mini_batch)
        lengths = experience.rollouts.lengths[update.indices]
        loss, clipped = 0.0, 0.0
        for part in micro_batches(lengths, self.stage.micro_batch_tokens):
            value, share = self._loss(experience, update.indices[part], weights[part], int(lengths[part].max()))
            value.backward()  # type: ignore[no-untyped-call]
            loss += float(value.detach())
            clipped += share * float(lengths[part].sum() / lengths.sum())
        return loss, clipped

    def _loss(self, experience: Experience, rows: Ints, weights: Floats, width: int) -> tuple[Tensor, float]:
        rollouts, device = experience.rollouts, self.policy.cos.device
        at = torch.from_numpy(rows).to(device)
        ids = rollouts.ids[:, :width][at]
        logits = self.policy(ids)
        batch = Sequences(
            mask=rollouts.response[:, 1:width][at],
            old_log_probs=rollouts.log_probs[:, 1:width][at],
            advantages=torch.tensor(experience.advantages[rows], dtype=torch.float32, device=device),
            weights=torch.tensor(weights, dtype=torch.float32, device=device),
            reference_log_probs=None if experience.reference is None else experience.reference[:, 1:width][at],
        )
        entropies = token_entropies(logits)[:, :-1] if self.stage.entropy_coeff else None
        return self.loss(token_log_probs(logits, ids), entropies, batch)


def micro_batches(lengths: Ints, tokens: int) -> Iterator[Ints]:
    """Positions of sequences of about equal length, at most `tokens` padded tokens together (or one sequence).

    Small ones are faster on a CPU: they stay in its caches, and sorting leaves next to no padding.
    """
    order = np.argsort(lengths, kind="stable")
    start = 0
    for stop in range(1, len(order) + 1):
        full = stop == len(order) or (stop - start + 1) * lengths[order[stop]] > tokens
        if full:
            yield order[start:stop]
            start = stop


def token_entropies(logits: Tensor) -> Tensor:
    """(..., vocab) -> (...) entropies in nats."""
    log_p = logits.log_softmax(-1)
    return -(log_p.exp() * log_p).sum(-1)


@torch.no_grad()
def log_probs_under(policy: Qwen3, rollouts: Rollouts, micro_batch_tokens: int) -> Tensor:
    """(N, T) log-probabilities of the rollouts' response tokens under another policy, 0 elsewhere; a forward pass."""
    found = torch.zeros_like(rollouts.log_probs)
    for rows in micro_batches(rollouts.lengths, micro_batch_tokens):
        at, width = torch.from_numpy(rows).to(found.device), int(rollouts.lengths[rows].max())
        ids = rollouts.ids[:, :width][at]
        found[at, 1:width] = token_log_probs(policy(ids), ids)
    return found * rollouts.response
