"""Sampling responses in a batch: key-value cache, temperature 1, finished rows leave the batch.

Randomness is one uniform number a row and token, drawn before: common random numbers. Two policies that meet the same
numbers sample the same response wherever they agree, whatever else is in the batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from suites.verl.model import Qwen3, Rotary

COMPACT_EVERY = 4  # steps between looks at how many rows are finished
COMPACT_BELOW = 0.9  # share of unfinished rows under which the finished ones are dropped: copying the cache costs, too


@dataclass(frozen=True, eq=False)
class Responses:
    """Sampled responses; (N, R) each: 0 past the end of a response.

    tokens: ids, the stop token included. log_probs, entropies: of the policy that sampled, at each token.
    lengths: (N,) tokens of each response.
    """

    tokens: Tensor
    log_probs: Tensor
    entropies: Tensor
    lengths: Tensor


class Cache:
    """Keys and values of every layer: (2, rows, heads, slots, head_dim) each, and which slots a row may look at."""

    def __init__(self, prompt: list[Tensor], padding: Tensor, repeat: int, slots: int) -> None:
        self.used = prompt[0].shape[3]
        self.layers = [functional.pad(kv.repeat_interleave(repeat, 1), (0, 0, 0, slots - self.used)) for kv in prompt]
        self.padding = padding.repeat_interleave(repeat)
        self.visible = torch.arange(slots, device=padding.device) >= self.padding[:, None]

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Attention of one new token a row, which enters the cache in slot `used`."""
        keys, values = self.layers[layer]
        end = self.used + 1
        keys[:, :, self.used], values[:, :, self.used] = k[:, :, 0], v[:, :, 0]
        seen = self.visible[:, None, None, :end]
        return functional.scaled_dot_product_attention(q, keys[:, :, :end], values[:, :, :end], attn_mask=seen)

    def keep(self, rows: Tensor) -> None:
        """Drop all other rows."""
        self.layers = [kv.index_select(1, rows) for kv in self.layers]
        self.padding, self.visible = self.padding[rows], self.visible[rows]


@torch.inference_mode()
def sample(model: Qwen3, prompts: list[list[int]], uniforms: Tensor, stop: int) -> Responses:
    """Responses to each prompt, `len(uniforms) / len(prompts)` of them, prompt by prompt.

    Args:
        model: the policy.
        prompts: token ids of Q prompts.
        uniforms: (N, R) numbers in [0, 1) that decide row i's token t; N a multiple of Q, R the longest response.
        stop: the token that ends a response.
    """
    repeat = len(uniforms) // len(prompts)
    ids, padding = _left_padded(prompts, uniforms.device)
    state, cache = _read(model, ids, padding, repeat, ids.shape[1] + uniforms.shape[1])
    tokens = torch.zeros_like(uniforms, dtype=torch.long)
    log_probs, entropies = torch.zeros_like(uniforms), torch.zeros_like(uniforms)
    lengths = torch.full((len(uniforms),), uniforms.shape[1], device=uniforms.device)
    rows = torch.arange(len(uniforms), device=uniforms.device)
    running = torch.ones_like(rows, dtype=torch.bool)
    for t in range(uniforms.shape[1]):
        log_p = functional.log_softmax(model.logits(state[:, -1]), -1)
        p = log_p.exp()
        token = _inverse_cdf(p, uniforms[rows, t])
        tokens[rows, t], log_probs[rows, t] = token, log_p.gather(1, token[:, None])[:, 0]
        entropies[rows, t] = -(p * log_p).sum(-1)
        stopped = running & (token == stop)
        lengths[rows[stopped]] = t + 1
        running = running & ~stopped
        if (t + 1) % COMPACT_EVERY == 0 and float(running.float().mean()) < COMPACT_BELOW:
            left = running.nonzero()[:, 0]
            cache.keep(left)
            rows, token, running = rows[left], token[left], running[left]
            if len(rows) == 0:
                break
        state = model.hidden(token[:, None], _rotary(model, cache.used - cache.padding), cache.attend)
        cache.used += 1
    past = torch.arange(uniforms.shape[1], device=uniforms.device) >= lengths[:, None]
    for values in (tokens, log_probs, entropies):
        values.masked_fill_(past, 0)  # a finished row samples on until it is dropped
    return Responses(tokens, log_probs, entropies, lengths)


def _left_padded(prompts: list[list[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    longest = max(map(len, prompts))
    padding = [longest - len(prompt) for prompt in prompts]
    ids = [[0] * pad + prompt for pad, prompt in zip(padding, prompts, strict=True)]
    return torch.tensor(ids, device=device), torch.tensor(padding, device=device)


def _read(model: Qwen3, ids: Tensor, padding: Tensor, repeat: int, slots: int) -> tuple[Tensor, Cache]:
    """The state after each prompt, repeated, and the cache: a prompt is read once for all of its responses."""
    time = torch.arange(ids.shape[1], device=ids.device)
    causal = time[:, None] >= time
    real = time >= padding[:, None]
    mask = (causal & real[:, None, :]) | torch.eye(len(time), dtype=torch.bool, device=ids.device)  # no empty softmax
    kept: list[Tensor] = []

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        kept.append(torch.stack((k, v)))
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None])

    state = model.hidden(ids, _rotary(model, (time - padding[:, None]).clamp(min=0)), attend)
    return state[:, -1:].repeat_interleave(repeat, 0), Cache(kept, padding, repeat, slots)


def _rotary(model: Qwen3, positions: Tensor) -> Rotary:
    """Rotations of (rows,) or (rows, time) positions."""
    if positions.dim() == 1:
        positions = positions[:, None]
    return model.cos[positions], model.sin[positions]


def _inverse_cdf(p: Tensor, uniform: Tensor) -> Tensor:
    """(rows,) the token where the cumulative probability first exceeds the uniform number."""
    cumulative = p.cumsum(-1)
    below = cumulative <= (uniform * cumulative[:, -1])[:, None]  # times the total: rounding never leaves the range
    return below.sum(-1).clamp(max=p.shape[-1] - 1)
