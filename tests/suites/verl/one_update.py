"""One step of both engines on the same rollouts, model and draw, in one process without ray; a line of JSON a case.

A program of its own, as verl reads its platform from the environment when it is imported.
Usage: python one_update.py DIRECTORY LOSS/METHOD/RANKS...
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict
from verl.trainer.config import CheckpointConfig
from verl.utils import tensordict_utils as tu
from verl.workers.config import (
    FSDPActorConfig,
    FSDPEngineConfig,
    FSDPOptimizerConfig,
    HFModelConfig,
    PolicyLossConfig,
    TrainingWorkerConfig,
)
from verl.workers.engine_workers import TrainingWorker
from verl.workers.utils.losses import ppo_loss

import suites.verl.cluster.cpu.engine  # noqa: F401
from strategies import parse
from suites.verl.actor import BETAS, Actor, Experience
from suites.verl.cluster import rows
from suites.verl.cluster.cpu import assets
from suites.verl.model import to_transformers
from suites.verl.policy_loss import advantages
from suites.verl.rollouts import Rollouts, collect
from suites.verl.sampling import build_pool, plan
from suites.verl.settings import PRESETS, Stage
from suites.verl.streams import Streams
from suites.verl.warmstart import warm_start

WORLD, TINY = PRESETS["tiny"]
LOSSES = {"grpo": {}, "cispo": {"loss": "cispo", "clip_ratio_low": 1.0, "clip_ratio_high": 4.0}}


def main(directory: Path, loss: str, spec: str, ranks: int) -> dict[str, Any]:
    torch.set_num_threads(1)
    stage = replace(TINY, ppo_mini_batch_size=TINY.train_batch_size, warmup=0, **LOSSES[loss])  # U = 1
    policy = assets.widened(WORLD, warm_start(WORLD))
    worker = verls_worker(directory, policy, stage)
    streams = Streams(np.random.SeedSequence(1), np.random.SeedSequence(2))
    rollouts, _ = collect(warm_start(WORLD), WORLD.chain, stage, streams, step=0)
    experience = Experience(rollouts, advantages(rollouts.scores, rollouts.groups, normalize=True))
    method, before = parse(spec), weights(policy)

    fields, keys, tags = verls_rows(experience)
    known = rows.read(keys, tags, fields, np.arange(len(keys)))
    pool = build_pool(known.observed, method.proxy)
    drawn = plan(method, pool, stage.updates, "none", streams.draws(0))
    layout = rows.lay_out(drawn, pool.costs, ranks, len(keys))
    batch = taken(fields, known, layout)
    lengths = batch["input_ids"].offsets().diff()
    tu.assign_non_tensor(
        batch,
        global_batch_size=len(keys),
        mini_batch_size=layout.size,
        epochs=1,
        seed=0,
        temperature=1.0,
        calculate_entropy=False,
        dataloader_kwargs={"shuffle": False},
    )
    worker.train_mini_batch(batch)
    theirs = {name: full(value) for name, value in worker.engine.module.state_dict().items()}

    actor = Actor(policy, stage, WORLD.chain.max_response)
    own = plan(method, build_pool(rollouts.observed(experience.advantages), method.proxy), 1, "none", streams.draws(0))
    for update in own.updates:
        actor.update(experience, update, step=0)
    ours = weights(policy)
    moved = norm({name: ours[name] - before[name] for name in ours})
    return {
        "moved": moved,
        "apart": norm({name: ours[name] - theirs[name] for name in ours}) / moved,
        "fed": int(lengths.sum()),
        "ledger": sum(update.tokens(pool.costs) for update in drawn.updates) + layout.tokens,
        "fillers": layout.tokens,
        "drawn": len(drawn.draw),
    }


def verls_worker(directory: Path, policy: Any, stage: Stage) -> TrainingWorker:
    """verl's actor with FSDP2 on the same model."""
    assets.model(WORLD, warm_start(WORLD)).save_pretrained(directory)
    assets.tokenizer(WORLD.chain).save_pretrained(directory)
    precision = {"param_dtype": "fp32", "reduce_dtype": "fp32"}
    worker = TrainingWorker(
        TrainingWorkerConfig(
            model_type="language_model",
            model_config=HFModelConfig(
                path=str(directory),
                use_remove_padding=False,
                enable_gradient_checkpointing=False,
                override_config={"attn_implementation": "sdpa"},
            ),
            engine_config=FSDPEngineConfig(
                strategy="fsdp2",
                use_torch_compile=False,
                use_dynamic_bsz=True,
                max_token_len_per_gpu=1000,
                infer_max_token_len_per_gpu=1000,
                mixed_precision=precision,
            ),
            optimizer_config=FSDPOptimizerConfig(
                lr=stage.lr, betas=list(BETAS), weight_decay=0.0, clip_grad=stage.grad_clip, total_training_steps=10
            ),
            checkpoint_config=CheckpointConfig(),
        )
    )
    worker.reset()
    config = FSDPActorConfig(
        strategy="fsdp2",
        ppo_mini_batch_size=stage.ppo_mini_batch_size,
        rollout_n=stage.rollout_n,
        use_dynamic_bsz=True,
        policy_loss=PolicyLossConfig(loss_mode=stage.loss),
        clip_ratio_low=stage.clip_ratio_low,
        clip_ratio_high=stage.clip_ratio_high,
        loss_agg_mode=stage.loss_agg_mode,
    )
    worker.set_loss_fn(lambda **data: ppo_loss(config=config, **data))
    return worker


def verls_rows(experience: Experience) -> tuple[TensorDict, list[str], list[dict[str, Any]]]:
    """The rollouts as verl's queue holds them."""
    rollouts: Rollouts = experience.rollouts
    prompts, lengths = rollouts.prompt_lengths, rollouts.lengths
    spans = [(int(prompt), int(length)) for prompt, length in zip(prompts, lengths, strict=True)]
    pieces: dict[str, list[torch.Tensor]] = {name: [] for name in (*rows.TRAINED_ON, "rm_scores", "entropy")}
    for row, (start, stop) in enumerate(spans):
        response = torch.ones(stop - start, dtype=torch.long)
        score = torch.zeros(stop - start)
        score[-1] = rollouts.scores[row]
        values = {
            "input_ids": rollouts.ids[row, :stop],
            "position_ids": torch.arange(stop),
            "prompts": rollouts.ids[row, :start],
            "responses": rollouts.ids[row, start:stop],
            "response_mask": response,
            "loss_mask": response,
            "old_log_probs": rollouts.log_probs[row, start:stop],
            "advantages": torch.full((stop - start,), float(experience.advantages[row])),
            "entropy": rollouts.entropies[row, start:stop],
            "rm_scores": score,
        }
        for name, value in values.items():
            pieces[name].append(value)
    fields = {name: rows.nested(values) for name, values in pieces.items() if values}
    tags = [{"prompt_len": start, "response_len": stop - start} for start, stop in spans]
    keys = [f"prompt{group}_{row}_0" for row, group in enumerate(rollouts.groups)]
    return TensorDict(fields, batch_size=[len(keys)]), keys, tags


def taken(fields: TensorDict, known: rows.Rows, layout: rows.Layout) -> TensorDict:
    """The layout's rows, fillers included."""
    trained = fields.select(*[name for name in rows.TRAINED_ON if name in fields])
    filled = np.flatnonzero(layout.rows == rows.FILLER)
    blank = {name: rows.nested([value]) for name, value in rows.filler(trained.keys(), 0).items()}
    pool = tu.concat_tensordict([trained, TensorDict(blank, batch_size=[1])]) if len(filled) else trained
    at = np.where(layout.rows == rows.FILLER, len(known.keys), layout.rows)
    batch = tu.index_select_tensor_dict(pool, at.tolist())
    batch[rows.WEIGHTS] = rows.token_weights(known, layout, np.arange(len(at)))
    return batch


def weights(policy: Any) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in to_transformers(policy).state_dict().items()}


def full(value: Any) -> torch.Tensor:
    return (value.full_tensor() if hasattr(value, "full_tensor") else value).detach().clone()


def norm(values: dict[str, torch.Tensor]) -> float:
    return float(torch.cat([value.flatten() for value in values.values()]).norm())


if __name__ == "__main__":
    for case in sys.argv[2:]:
        asked_loss, asked_method, asked_ranks = case.split("/")
        print(json.dumps(main(Path(sys.argv[1]), asked_loss, asked_method, int(asked_ranks))), flush=True)
