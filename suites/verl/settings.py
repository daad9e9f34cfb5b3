"""Every number of the in-process engine: presets, and which of them a user can set.

Light to import: no torch, no verl.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import get_args

from strategies.errors import WrongUse, unknown
from suites.updates import Recenter
from suites.verl.reasoning import Chain

IDLE_STEPS = 20  # steps in a row that draw nothing, before a run is given up


@dataclass(frozen=True)
class ModelConfig:
    """Sizes under the names of transformers' `Qwen3Config`; queries, keys and values have the same heads."""

    hidden_size: int = 64
    num_hidden_layers: int = 2
    num_attention_heads: int = 4
    intermediate_size: int = 192

    @property
    def head_dim(self) -> int:
        """Width of a head."""
        return self.hidden_size // self.num_attention_heads


@dataclass(frozen=True)
class WarmStart:
    """Supervised training on the corpus, before reinforcement learning: AdamW, cosine schedule."""

    steps: int = 1250
    batch: int = 64
    lr: float = 8e-3
    warmup: int = 100
    seed: int = 0


@dataclass(frozen=True)
class World:
    """What a preset fixes: the task, the model, and how it is warmed up. Its content names the cached warm start."""

    chain: Chain = field(default_factory=Chain)
    model: ModelConfig = field(default_factory=ModelConfig)
    warm_start: WarmStart = field(default_factory=WarmStart)


POSITIVE = (
    *("train_batch_size", "ppo_mini_batch_size", "max_prompt_ratio", "micro_batch_tokens"),
    *("lr", "grad_clip", "budget", "evaluations", "eval_n"),
)


@dataclass(frozen=True)
class Stage:
    """One policy-optimization stage. Batch sizes, clipping and aggregation have verl's names and meaning.

    train_batch_size, ppo_mini_batch_size: prompts a step and an update; their ratio U is the number of updates.
    rollout_n: responses a prompt, so the pool has N = train_batch_size * rollout_n rollouts.
    loss: `vanilla` or `cispo`, a policy loss of verl. zvf: drop zero-variance groups, resample prompts until the batch
    is full, at most max_prompt_ratio * train_batch_size prompts a step.
    recenter, loss_agg_mode, entropy_coeff, kl_loss_coef: see `suites.verl.sampling`.
    evaluations: marks of the budget; each measures the mean over eval_prompts held-out prompts of eval_n responses.
    diagnostics: measure true gradient norms every so many steps; 0 is never.
    """

    loss: str = "vanilla"
    zvf: bool = False
    train_batch_size: int = 32
    rollout_n: int = 8
    ppo_mini_batch_size: int = 8
    lr: float = 3e-4
    warmup: int = 2
    grad_clip: float = 1.0
    clip_ratio_low: float = 0.2
    clip_ratio_high: float = 0.2
    loss_agg_mode: str = "seq-mean-token-mean"
    norm_adv_by_std_in_grpo: bool = True
    entropy_coeff: float = 0.0
    kl_loss_coef: float = 0.0
    recenter: Recenter = "none"
    max_prompt_ratio: int = 10
    budget: float = 400_000
    evaluations: int = 20
    eval_prompts: int = 384
    eval_n: int = 2
    micro_batch_tokens: int = 1000
    diagnostics: int = 0
    device: str = "auto"

    @property
    def updates(self) -> int:
        """U, the optimizer updates of a step."""
        return self.train_batch_size // self.ppo_mini_batch_size

    def __post_init__(self) -> None:
        choices = {"loss": ("vanilla", "cispo"), "recenter": get_args(Recenter), "device": ("auto", "cpu", "cuda")}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise unknown(f"value of {name}", str(getattr(self, name)), known)
        for name in POSITIVE:
            if not 0 < getattr(self, name) < inf:
                raise WrongUse(f"{name}={getattr(self, name):g}: must be finite and > 0")
        if self.train_batch_size % self.ppo_mini_batch_size:
            raise WrongUse(
                f"ppo_mini_batch_size={self.ppo_mini_batch_size}: must divide train_batch_size={self.train_batch_size}"
            )
        for name in ("rollout_n", "eval_prompts"):
            if getattr(self, name) < 2:
                raise WrongUse(f"{name}={getattr(self, name)}: must be at least 2 (a spread of one value says nothing)")


@dataclass(frozen=True)
class Study:
    """What `verl/variance` measures. pools: batches of rollouts a policy. plans: draws of each method from each."""

    pools: int = 2
    plans: int = 200


SMALL = World()
TINY = World(
    Chain(max_terms=4, max_term=5), ModelConfig(32, 1, 2, 96), WarmStart(steps=600, batch=48, lr=1.5e-2, warmup=50)
)
FULL = World(
    Chain("chain-mix", operators="+-*", modulus=100),
    ModelConfig(96, 3, 6, 288),
    WarmStart(steps=2400, lr=6e-3),
)

PRESETS: dict[str, tuple[World, Stage]] = {
    "tiny": (TINY, Stage(train_batch_size=16, ppo_mini_batch_size=4, lr=7e-4, budget=100_000, eval_prompts=256)),
    "small": (SMALL, Stage()),
    "full": (FULL, Stage(train_batch_size=64, ppo_mini_batch_size=16, budget=1_500_000)),
}
DEFAULT_PRESET = "small"
