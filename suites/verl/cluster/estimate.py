"""What a run would take: tokens by kind and GPU-hours, from the preset's prices. Rough, for planning."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from suites.verl.cluster.presets import Preset, Settings

if TYPE_CHECKING:
    from omegaconf import DictConfig

KEPT = 0.5  # share of groups with unequal scores, where zero-variance groups are dropped (DAPO, figure 3b: 0.4 to 0.8)
HOUR = 3600.0


@dataclass(frozen=True)
class Estimate:
    """Tokens of a run without sampling that spends its budget; a method's savings come off `backward` or add steps.

    evaluation: tokens sampled for the evaluations, which are no cost of a method.
    """

    steps: float
    rollouts: float
    generated: float
    forward: float
    backward: float
    evaluation: float
    gpu_hours: float


def estimate(preset: Preset, config: DictConfig, settings: Settings, budget: float) -> Estimate:
    """Operations a token: 2 P sampling or forward, 6 P in an update, for a model of P parameters."""
    price, pool = preset.price, config.data.train_batch_size * config.actor_rollout_ref.rollout.n
    sequence = price.prompt + price.response
    steps = ceil(budget / (pool * sequence))
    kept = KEPT if config.algorithm.filter_groups.enable else 1.0
    generated = steps * pool * price.response / kept
    forward = 0.0 if config.algorithm.rollout_correction.bypass_mode else steps * pool * sequence
    evaluation = (settings.evaluations + 1) * sum(preset.benchmarks.values()) * settings.eval_n * price.response
    training = (6 * budget + 2 * forward) * price.parameters / price.training
    sampling = 2 * (generated + evaluation) * price.parameters / price.generating
    hours = (training + sampling) / HOUR
    return Estimate(steps, steps * pool, generated, forward, budget, evaluation, hours)
