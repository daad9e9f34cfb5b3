"""verl's synchronous trainer with a sampling method between the advantages and the actor's updates.

Free of device code. verl makes the rollouts, log-probabilities and advantages, runs the actor, validates and writes
checkpoints; what is ours: the draw, the ledger, and when a run is evaluated, saved and over.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from omegaconf import DictConfig, open_dict
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils.metric import reduce_metrics
from verl.utils.py_functional import rename_dict

from strategies import Pool, parse, registry
from suites.task import Point
from suites.verl import diagnostics
from suites.verl.cluster import queue, rows, state
from suites.verl.cluster.buffer import counting
from suites.verl.cluster.channel import Sender
from suites.verl.cluster.presets import MODE
from suites.verl.cluster.rows import Layout, Rows
from suites.verl.marks import Marks
from suites.verl.rollouts import NoSignal
from suites.verl.sampling import Plan, build_pool, plan
from suites.verl.settings import IDLE_STEPS, Stage
from suites.verl.streams import Streams

OWN = "sampling/"  # before our names among verl's metrics


@register_trainer(MODE)
class SamplingTrainer(PPOTrainerSync):  # type: ignore[misc]
    """See the module. Its settings are `trainer.v1.sampler.sampler_kwargs`, put there by the launcher."""

    def __init__(self, config: DictConfig) -> None:
        own = config.trainer.v1.sampler.sampler_kwargs
        for path, sha256 in own.plugins:
            registry.load_file(path, sha256)
        self.method = parse(own.method)
        self.recenter = own.recenter
        self.marks = Marks(own.budget, own.evaluations)
        seeds = [np.random.SeedSequence(int(own[name])) for name in ("world_seed", "draw_seed")]
        self.streams = Streams(*seeds)
        checkpoint = config.trainer.resume_from_path
        self.state = state.load(Path(checkpoint)) if checkpoint else state.State()
        self.sender = Sender(own.channel)
        with open_dict(config):
            config.trainer.v1.trainer_mode = "sync"  # verl goes by this name
        super().__init__(config)
        filtered = config.algorithm.filter_groups.enable
        limit = Stage.max_prompt_ratio * config.data.train_batch_size if filtered else 0
        counting(self.replay_buffer, limit)

    @property
    def mini_batch(self) -> int:
        """N / U rollouts, the loss's fixed denominator."""
        actor_rollout = self.config.actor_rollout_ref
        return int(actor_rollout.actor.ppo_mini_batch_size * actor_rollout.rollout.n)

    @property
    def updates(self) -> int:
        """U, the optimizer updates of a step."""
        return int(self.config.data.train_batch_size // self.config.actor_rollout_ref.actor.ppo_mini_batch_size)

    def step(self, metrics: dict[str, Any], timing_raw: dict[str, float]) -> KVBatchMeta:
        """A step of verl's, its Point, and whether verl shall now save and validate."""
        batch = super().step(metrics, timing_raw)
        self._send_step(metrics)
        due = self.marks.due(self.state.mark, self.state.ledger.backward)
        self.config.trainer.save_freq = self.config.trainer.test_freq = 1 if due else -1
        return batch

    def on_train_end(self) -> None:
        """All is said."""
        self.sender.close()

    def _save_checkpoint(self) -> None:
        self.sender.settle()
        super()._save_checkpoint()
        folder = Path(self.config.trainer.default_local_dir) / f"{state.STEP}{self.global_steps}"
        state.save(folder, self.state)

    def _val_metrics_update(
        self,
        data_sources: list[str],
        sample_uids: list[str],
        reward_extra_infos_dict: dict[str, list[Any]],
        *args: Any,
        **kwargs: Any,
    ) -> dict[str, float]:
        """verl's summary of a validation; on the way, a Point for each benchmark, and the end of a spent budget."""
        answers = np.array(reward_extra_infos_dict["acc"], dtype=float)
        correct = np.nan_to_num(answers)  # a response that failed, NaN, is wrong
        sources, prompts = np.array(data_sources), np.array(sample_uids)
        for source in self.config.trainer.v1.sampler.sampler_kwargs.benchmarks:
            self._send_evaluation(source, correct[sources == source], prompts[sources == source])
        self.state = replace(self.state, mark=self.marks.after(self.state.ledger.backward))
        if self.marks.done(self.state.mark):
            self.total_training_steps = self.global_steps
        found: dict[str, float] = super()._val_metrics_update(
            data_sources, sample_uids, reward_extra_infos_dict, *args, **kwargs
        )
        return found

    def _send_evaluation(self, source: str, correct: NDArray[Any], prompts: NDArray[Any]) -> None:
        if not len(correct):
            raise ValueError(f"no validation row has data_source {source}: prepare the data anew")
        place, responses = np.unique(prompts, return_inverse=True, return_counts=True)[1:]
        by_prompt = np.bincount(place, correct) / responses
        spread = float(by_prompt.std(ddof=1)) if len(by_prompt) > 1 else None
        ledger, value = self.state.ledger, float(by_prompt.mean())
        self._send(Point(self.global_steps, "eval", f"acc/{source}", value, ledger, spread, len(by_prompt)))

    def _send_step(self, metrics: dict[str, Any]) -> None:
        numbers = {key: float(value) for key, value in metrics.items() if isinstance(value, int | float | np.number)}
        shown: dict[str, float | None] = {key.removeprefix(OWN): value for key, value in numbers.items()}
        value, number = numbers[OWN + "reward"], int(numbers[OWN + "rollouts"])
        ledger = self.state.ledger
        self._send(Point(self.global_steps, "train", "reward", value, ledger, n=number, diagnostics=shown))

    def _send(self, point: Point) -> None:
        self.sender.send(point)
        self.state = replace(self.state, recorded=self.state.recorded + 1)

    def _update_actor(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> KVBatchMeta:
        """Draw, and update the actor on what was drawn. The batch itself stays, for verl's metrics and clean-up."""
        begun = time.perf_counter()
        known = queue.read(batch)
        pool = build_pool(known.observed, self.method.proxy)
        drawn = plan(self.method, pool, self.updates, self.recenter, self.streams.draws(self.state.step))
        layout = rows.lay_out(drawn, pool.costs, self._ranks(), self.mini_batch)
        taken, added = queue.put(batch, known, layout, self.tokenizer.eos_token_id)
        seconds = time.perf_counter() - begun
        if layout.updates:
            self._train(taken, layout, metrics)
        begun = time.perf_counter()
        queue.clear(batch, added)
        self._advance(batch, known, pool, drawn, layout)
        shown = diagnostics.draw_quality(drawn) | diagnostics.step_quality(pool, drawn)
        shown |= {"filler_tokens": layout.tokens, "rollouts": len(pool), "reward": float(known.observed.scores.mean())}
        shown |= {f"ledger/{name}": value for name, value in vars(self.state.ledger).items()}
        shown["seconds"] = seconds + time.perf_counter() - begun
        metrics.update({OWN + name: float(value) for name, value in shown.items() if value is not None})
        return batch

    def _ranks(self) -> int:
        return int(max(self.actor_rollout_wg._dispatch_info["actor"])) + 1  # verl asked for it when it balanced

    def _train(self, taken: KVBatchMeta, layout: Layout, metrics: dict[str, Any]) -> None:
        """The actor's updates, as verl's `_update_actor` asks for them, in mini-batches of the layout's own size."""
        actor = self.config.actor_rollout_ref.actor
        taken.extra_info = {
            "calculate_entropy": actor.calculate_entropy or actor.entropy_coeff != 0.0,
            "distillation_use_topk": False,
            "distillation_only": False,
            "global_batch_size": self.mini_batch,
            "mini_batch_size": layout.size,
            "epochs": 1,
            "seed": actor.data_loader_seed,
            "dataloader_kwargs": {"shuffle": False},
            "temperature": self.config.actor_rollout_ref.rollout.temperature,
        }
        output = self.actor_rollout_wg.update_actor(taken)
        found = rename_dict(output["metrics"], "actor/")
        found["perf/mfu/actor"] = found.pop("actor/mfu")
        metrics.update(reduce_metrics(found))

    def _advance(self, batch: KVBatchMeta, known: Rows, pool: Pool, drawn: Plan, layout: Layout) -> None:
        """Account for a step. verl computes old log-probabilities in a pass of its own, and the KL term's likewise."""
        bypass = self.config.algorithm.rollout_correction.bypass_mode
        passes = (not bypass) + self.use_reference_policy
        forward = passes * sum(tag["seq_len"] for tag in batch.tags)
        generated = self.replay_buffer.settle() + int(known.response_lengths.sum())
        ledger = drawn.accounted(self.state.ledger, pool, generated, forward)
        ledger = replace(ledger, backward=ledger.backward + layout.tokens)
        idle = 0 if layout.updates else self.state.idle + 1
        self.state = replace(self.state, step=self.state.step + 1, idle=idle, ledger=ledger)
        if idle == IDLE_STEPS:
            raise NoSignal(f"step {self.state.step}: nothing was drawn in {idle} steps; no group has unequal scores")
