"""A small Qwen3 language model with fused projections; its weights are those of transformers' `Qwen3ForCausalLM`.

Small models are bound by the number of operations, not by arithmetic: one projection for queries, keys and values, one
normalization and one rotation for queries and keys, and no attention mask where padding comes last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from suites.verl.settings import ModelConfig

EPSILON = 1e-6
ROPE_THETA = 10_000.0
INIT_STD = 0.08  # narrow models learn slowly from the usual 0.02

Rotary = tuple[Tensor, Tensor]  # cos and signed sin, broadcastable to (batch, time, 2, heads, head_dim)
Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]  # layer, q, k, v: (batch, heads, time, head_dim) -> like q


def causal(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention of a whole sequence; padding comes last, so nothing real sees it."""
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def _weight(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.empty(*shape).normal_(std=INIT_STD))


def _scale(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.ones(*shape))


class Block(nn.Module):
    """Attention and gated feed-forward layer, both on root-mean-square normalized input."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width, ffn = config.hidden_size, config.intermediate_size
        self.heads, self.head_dim = config.num_attention_heads, config.head_dim
        self.attention_norm, self.qkv = _scale(width), _weight(3 * width, width)
        self.qk_norm = _scale(2, 1, config.head_dim)
        self.output = _weight(width, width)
        self.ffn_norm, self.gate_up, self.down = _scale(width), _weight(2 * ffn, width), _weight(width, ffn)

    def forward(self, x: Tensor, layer: int, rotary: Rotary, attend: Attend) -> Tensor:
        """(batch, time, width) -> the same."""
        cos, sin = rotary
        batch, time, width = x.shape
        qkv = functional.linear(functional.rms_norm(x, (width,), self.attention_norm, EPSILON), self.qkv)
        qkv = qkv.view(batch, time, 3, self.heads, self.head_dim)
        qk = functional.rms_norm(qkv[:, :, :2], (self.head_dim,), None, EPSILON) * self.qk_norm
        qk = qk * cos + qk.roll(self.head_dim // 2, -1) * sin
        q, k, v = (part.transpose(1, 2) for part in (qk[:, :, 0], qk[:, :, 1], qkv[:, :, 2]))
        mixed = attend(layer, q, k, v).transpose(1, 2).reshape(batch, time, width)
        x = x + functional.linear(mixed, self.output)
        gate, up = functional.linear(functional.rms_norm(x, (width,), self.ffn_norm, EPSILON), self.gate_up).chunk(
            2, -1
        )
        return x + functional.linear(functional.silu(gate) * up, self.down)


class Qwen3(nn.Module):
    """A causal language model with tied embeddings.

    Args:
        config: sizes.
        vocab_size: number of tokens.
        positions: longest sequence, prompt and response.
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, config: ModelConfig, vocab_size: int, positions: int) -> None:
        super().__init__()
        self.config, self.vocab_size, self.positions = config, vocab_size, positions
        self.embedding = _weight(vocab_size, config.hidden_size)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_hidden_layers))
        self.norm = _scale(config.hidden_size)
        half = torch.arange(0, config.head_dim, 2).float() / config.head_dim
        angles = torch.outer(torch.arange(positions).float(), ROPE_THETA**-half)[:, None, None, :]
        self.register_buffer("cos", torch.cat([angles.cos(), angles.cos()], -1), persistent=False)
        self.register_buffer("sin", torch.cat([-angles.sin(), angles.sin()], -1), persistent=False)

    def hidden(self, ids: Tensor, rotary: Rotary, attend: Attend) -> Tensor:
        """(batch, time) tokens -> (batch, time, width) states before the last normalization."""
        x = functional.embedding(ids, self.embedding)
        for layer, block in enumerate(self.blocks):
            x = block(x, layer, rotary, attend)
        return x

    def logits(self, hidden: Tensor) -> Tensor:
        """(..., width) states -> (..., vocab)."""
        return functional.linear(functional.rms_norm(hidden, hidden.shape[-1:], self.norm, EPSILON), self.embedding)

    def forward(self, ids: Tensor) -> Tensor:
        """(batch, time) right-padded tokens -> (batch, time, vocab) logits of the next token."""
        time = ids.shape[1]
        return self.logits(self.hidden(ids, (self.cos[:time], self.sin[:time]), causal))


def token_log_probs(logits: Tensor, ids: Tensor) -> Tensor:
    """(batch, time - 1) log-probabilities of tokens 1.. of (batch, time) ids under the logits of the tokens before."""
    predicted, target = logits[:, :-1], ids[:, 1:]
    return -functional.cross_entropy(predicted.flatten(0, 1), target.flatten(), reduction="none").view(target.shape)


def to_transformers(model: Qwen3) -> Any:
    """The same model as transformers' `Qwen3ForCausalLM`, in evaluation mode."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = model.config
    theirs = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=model.vocab_size,
            hidden_size=config.hidden_size,
            num_hidden_layers=config.num_hidden_layers,
            num_attention_heads=config.num_attention_heads,
            num_key_value_heads=config.num_attention_heads,
            head_dim=config.head_dim,
            intermediate_size=config.intermediate_size,
            max_position_embeddings=model.positions,
            rms_norm_eps=EPSILON,
            rope_parameters={"rope_type": "default", "rope_theta": ROPE_THETA},
            tie_word_embeddings=True,
            pad_token_id=None,  # padding comes last and is masked: no embedding of its own
            bos_token_id=None,
            eos_token_id=None,
        )
    )
    theirs.load_state_dict(_their_weights(model))
    return theirs.eval()


def _their_weights(model: Qwen3) -> dict[str, Tensor]:
    ours = {name: value.detach() for name, value in model.named_parameters()}
    theirs = {"model.embed_tokens.weight": ours["embedding"], "lm_head.weight": ours["embedding"]}
    theirs["model.norm.weight"] = ours["norm"]
    for layer in range(model.config.num_hidden_layers):
        own, their = f"blocks.{layer}.", f"model.layers.{layer}."
        q, k, v = ours[own + "qkv"].chunk(3)
        gate, up = ours[own + "gate_up"].chunk(2)
        q_norm, k_norm = ours[own + "qk_norm"].flatten(1)
        parts = {
            "input_layernorm": ours[own + "attention_norm"],
            "self_attn.q_proj": q,
            "self_attn.k_proj": k,
            "self_attn.v_proj": v,
            "self_attn.q_norm": q_norm,
            "self_attn.k_norm": k_norm,
            "self_attn.o_proj": ours[own + "output"],
            "post_attention_layernorm": ours[own + "ffn_norm"],
            "mlp.gate_proj": gate,
            "mlp.up_proj": up,
            "mlp.down_proj": ours[own + "down"],
        }
        theirs |= {f"{their}{name}.weight": value for name, value in parts.items()}
    return theirs
