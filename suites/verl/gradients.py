"""True gradients of single sequences: what the proxies stand for, and the yardstick of every draw."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from strategies.types import Floats
from suites.verl.actor import Experience, micro_batches
from suites.verl.model import Qwen3, token_log_probs

CHUNK_TOKENS = 1500


def per_sequence(policy: Qwen3, experience: Experience, loss_agg_mode: str, horizon: int) -> Tensor:
    """(N, P) the gradient of each sequence's own policy loss at the policy that sampled it.

    There the ratio is 1, where `vanilla` and `cispo` have one gradient, -A_i sum_t grad log p_t over the mode's
    denominator; entropy and KL terms are left out. Rows of zero advantage are 0.

    Args:
        policy: P parameters, in the order of `parameters()`.
        experience: N rollouts.
        loss_agg_mode: one of `suites.verl.sampling.SEQUENCE_LOSSES`.
        horizon: denominator of `seq-mean-token-sum-norm`.
    """
    parameters = {name: value.detach() for name, value in policy.named_parameters()}

    def loss(parameters: dict[str, Tensor], ids: Tensor, mask: Tensor, advantage: Tensor) -> Tensor:
        logits = functional_call(policy, parameters, (ids[None],))
        total = -advantage * (token_log_probs(logits, ids[None])[0] * mask).sum()
        if loss_agg_mode == "seq-mean-token-mean":
            return total / mask.sum()
        return total / horizon if loss_agg_mode == "seq-mean-token-sum-norm" else total

    each = vmap(grad(loss), in_dims=(None, 0, 0, 0))
    rollouts, device = experience.rollouts, policy.cos.device
    real = np.flatnonzero(experience.advantages)
    found = torch.zeros(len(rollouts), sum(value.numel() for value in parameters.values()), device=device)
    for part in micro_batches(rollouts.lengths[real], CHUNK_TOKENS):
        rows = real[part]
        at, width = torch.from_numpy(rows).to(device), int(rollouts.lengths[rows].max())
        advantage = torch.tensor(experience.advantages[rows], dtype=torch.float32, device=device)
        with sdpa_kernel(SDPBackend.MATH):  # the one that vmap can batch
            parts = each(parameters, rollouts.ids[:, :width][at], rollouts.response[:, 1:width][at], advantage)
        found[at] = torch.cat([value.flatten(1) for value in parts.values()], 1)
    return found


def norms(gradients: Tensor) -> Floats:
    """(N,) Euclidean norms."""
    values: Floats = torch.linalg.vector_norm(gradients, dim=1).double().cpu().numpy()
    return values


def gram(gradients: Tensor) -> Floats:
    """(N, N) inner products: all that the variance of a weighted sum depends on."""
    values: Floats = (gradients @ gradients.T).double().cpu().numpy()
    return values
