"""Every number of the cluster engine: presets of verl's configuration, each value with its source.

The text of the paper (arXiv 2604.28020) that we have lacks its hyper-parameters, so ALL values here are OUR choice:

    DAPO   the published recipe of the training set: verl's recipe/dapo/run_dapo_qwen2.5_32b.sh and test_dapo_7b_math.sh
    verl   verl's default, written down where a result hangs on it
    paper  section 5 of the paper
    ours   nobody's but ours, with the reason

Data sets are parquet files in verl's columns, DIR/NAME.parquet with NAME as below in lower case, and NAME is their
`data_source`: accuracy on it is the metric `acc/NAME`. `costaware data prepare` makes them.

Light to import: no torch, no verl.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal, get_args

from strategies.errors import WrongUse, unknown
from suites.updates import Recenter
from suites.verl.settings import TINY, World

TRAINING = "DAPO-Math-17k"  # paper 5.1
BENCHMARKS = {"AIME": 933, "AMC": 83, "MATH500": 500, "GSM8K": 1319}  # paper 5.1; problems of each, for the estimate
PREFIX = "verl."  # before keys of verl's own configuration, where users meet them
MODE = "costaware"  # our trainer's name among verl's
VERIFIER = "reward.py"  # in suites/verl: `compute_score`, by math-verify


@dataclass(frozen=True)
class Settings:
    """What a user sets by `--set key=value`, beside `--set verl.<key>=<value>` for verl's own configuration.

    recenter: see `suites.updates.recentring`. budget: backward tokens. evaluations: marks of the budget; eval_n:
    responses to each held-out prompt. nodes, gpus: of each node. model: a directory or a name on the hub. data: the
    directory with the parquet files; empty is `suites.verl.places.data_dir()`.
    """

    recenter: Recenter = "support"  # the paper's "around 1", appendix G.2
    budget: float = 1.5e9
    evaluations: int = 20  # DESIGN: the marks of every task
    eval_n: int = 32  # paper 5.4: mean@32
    nodes: int = 1
    gpus: int = 8
    model: str = ""
    data: str = ""

    def __post_init__(self) -> None:
        if self.recenter not in get_args(Recenter):
            raise unknown("value of recenter", str(self.recenter), get_args(Recenter))
        for name in ("budget", "evaluations", "eval_n", "nodes", "gpus"):
            if not 0 < getattr(self, name) < inf:
                raise WrongUse(f"{name}={getattr(self, name):g}: must be finite and > 0")


@dataclass(frozen=True)
class Price:
    """What an estimate is made from. All of it rough, and ours.

    parameters: of the model. prompt, response: tokens of a typical rollout. training, generating: floating-point
    operations that a GPU really does a second in an update or a forward pass, and while it samples.
    """

    parameters: float
    prompt: float = 150
    response: float = 1000
    training: float = 3.5e14  # H100, bf16: about 35% of its peak, usual for FSDP2 with flash attention
    generating: float = 6e13  # large batches under vLLM on an H100


@dataclass(frozen=True)
class Preset:
    """A world for verl's trainer: `verl` are values of its configuration, by dotted key."""

    doc: str
    settings: Settings
    verl: Mapping[str, Any]
    price: Price
    training: str = TRAINING
    benchmarks: Mapping[str, int] = field(default_factory=lambda: BENCHMARKS)
    device: Literal["cuda", "cpu"] = "cuda"
    world: World | None = None  # where model and data are made on the spot


ACTOR, ROLLOUT, MODEL = "actor_rollout_ref.actor.", "actor_rollout_ref.rollout.", "actor_rollout_ref.model."

COMMON: dict[str, Any] = {
    "algorithm.adv_estimator": "grpo",  # paper 5.2
    "algorithm.norm_adv_by_std_in_grpo": True,  # verl; GRPO's own definition (arXiv 2402.03300)
    "algorithm.filter_groups.metric": "acc",  # DAPO
    ACTOR + "strategy": "fsdp2",
    # GRPO's own average, and a fixed denominator: DAPO's token-mean is biased under sampling
    ACTOR + "loss_agg_mode": "seq-mean-token-mean",
    ACTOR + "entropy_coeff": 0.0,  # DAPO
    ACTOR + "use_kl_loss": False,  # DAPO
    ACTOR + "use_dynamic_bsz": True,  # DAPO; the parts of a draw differ in size
    ROLLOUT + "temperature": 1.0,  # DAPO
    ROLLOUT + "val_kwargs.do_sample": True,  # DAPO; mean@32 needs sampling
    ROLLOUT + "val_kwargs.temperature": 1.0,  # DAPO
    "trainer.logger": ["console", "file"],
}

PAPER: dict[str, Any] = COMMON | {
    "data.train_batch_size": 512,  # DAPO: prompts a step
    ROLLOUT + "n": 16,  # DAPO: responses a prompt
    ACTOR + "ppo_mini_batch_size": 32,  # DAPO: prompts an update, so U = 16 updates a step
    "data.filter_overlong_prompts": True,  # ours: no prompt without its end; DAPO cuts from the left
    "data.truncation": "error",  # verl
    ACTOR + "optim.lr": 1e-6,  # DAPO
    ACTOR + "optim.lr_warmup_steps": 10,  # DAPO
    ACTOR + "optim.weight_decay": 0.1,  # DAPO
    ACTOR + "grad_clip": 1.0,  # DAPO
    ACTOR + "clip_ratio_c": 10.0,  # DAPO
    MODEL + "override_config.attn_implementation": "flash_attention_2",  # verl
    MODEL + "use_remove_padding": True,  # DAPO
    MODEL + "enable_gradient_checkpointing": True,  # DAPO
    ROLLOUT + "name": "vllm",
    ROLLOUT + "gpu_memory_utilization": 0.8,  # DAPO
    ROLLOUT + "enable_chunked_prefill": True,  # DAPO
    ROLLOUT + "val_kwargs.top_p": 0.7,  # DAPO's 7B recipe
}


def _lengths(prompt: int, response: int) -> dict[str, Any]:
    """Longest prompt and response; a micro-batch holds two of the longest sequences, a forward pass three (DAPO 7B)."""
    longest = prompt + response
    return {
        "data.max_prompt_length": prompt,
        "data.max_response_length": response,
        ACTOR + "ppo_max_token_len_per_gpu": 2 * longest,
        ROLLOUT + "log_prob_max_token_len_per_gpu": 3 * longest,
        ROLLOUT + "max_num_batched_tokens": max(8192, longest),
    }


CPU_SMOKE: dict[str, Any] = COMMON | {
    "data.train_batch_size": 8,
    ROLLOUT + "n": 4,  # 32 rollouts a step
    ACTOR + "ppo_mini_batch_size": 4,  # U = 2
    "data.max_prompt_length": TINY.chain.max_prompt,
    "data.max_response_length": TINY.chain.max_response,
    "data.dataloader_num_workers": 0,
    ACTOR + "optim.lr": 7e-4,  # preset tiny of the in-process engine, as the next two
    ACTOR + "optim.betas": [0.9, 0.98],
    ACTOR + "optim.weight_decay": 0.0,
    ACTOR + "ppo_max_token_len_per_gpu": 1000,
    ACTOR + "use_torch_compile": False,
    ACTOR + "fsdp_config.use_torch_compile": False,
    # the rollout's probabilities are then the trainer's
    ACTOR + "fsdp_config.mixed_precision": {"param_dtype": "fp32", "reduce_dtype": "fp32"},
    ROLLOUT + "log_prob_max_token_len_per_gpu": 4000,
    ROLLOUT + "name": "transformers",
    ROLLOUT + "tensor_model_parallel_size": 1,
    ROLLOUT + "free_cache_engine": False,
    ROLLOUT + "agent.num_workers": 1,
    "reward.num_workers": 1,
    MODEL + "override_config.attn_implementation": "sdpa",
    MODEL + "use_remove_padding": False,
    MODEL + "enable_gradient_checkpointing": False,
    MODEL + "external_lib": "suites.verl.cluster.cpu.engine",
    "ray_kwargs.ray_init.num_cpus": 32,  # ray's count of logical cores: verl's actors would wait for ever on two
    "ray_kwargs.ray_init.object_store_memory": 300_000_000,
    "transfer_queue.backend.SimpleStorage.num_data_storage_units": 1,
}

PRESETS: dict[str, Preset] = {
    "cpu-smoke": Preset(
        "verl's trainer end to end on two cores, in about 90 s",
        Settings(recenter="none", budget=2000, evaluations=2, eval_n=4, gpus=1),
        CPU_SMOKE,
        Price(parameters=13e3, prompt=6, response=12, training=1e9, generating=1e8),
        training=f"{TINY.chain.name}-train",
        benchmarks={TINY.chain.name: 16},
        device="cpu",
        world=TINY,
    ),
    "paper-1.5b": Preset(
        "Qwen2.5-Math-1.5B-Instruct on DAPO-Math-17k, 8 GPUs",
        Settings(model="Qwen/Qwen2.5-Math-1.5B-Instruct", budget=1.5e9),
        # the model's 4,096 positions
        PAPER | _lengths(1024, 3072) | {ROLLOUT + "tensor_model_parallel_size": 1},
        Price(parameters=1.54e9, response=700),
    ),
    "paper-4b": Preset(
        "Qwen3-4B-Base on DAPO-Math-17k, 8 GPUs",
        Settings(model="Qwen/Qwen3-4B-Base", budget=2e9),
        # DAPO's 7B recipe: responses of up to 8,192
        PAPER | _lengths(1024, 8192) | {ROLLOUT + "tensor_model_parallel_size": 1},
        Price(parameters=4.02e9, response=1300),
    ),
    "paper-8b": Preset(
        "Qwen3-8B-Base on DAPO-Math-17k, 2 nodes of 8 GPUs",
        Settings(model="Qwen/Qwen3-8B-Base", budget=2e9, nodes=2),
        PAPER | _lengths(1024, 8192) | {ROLLOUT + "tensor_model_parallel_size": 2},
        Price(parameters=8.19e9, response=1300),
    ),
}
