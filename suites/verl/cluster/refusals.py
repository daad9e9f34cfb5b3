"""What verl's trainer can't do without bias, or not at all, under a sampling method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategies import Method, proxies
from strategies.builtin.none import NoSampling
from strategies.errors import WrongUse
from suites.verl.cluster.presets import ACTOR, PREFIX, ROLLOUT
from suites.verl.sampling import refuse

if TYPE_CHECKING:
    from omegaconf import DictConfig

FEATURES = {"advantage", "length", "reward", "surprise", "score_norm", "mean_entropy"}


def check(config: DictConfig, method: Method) -> None:
    """Raise WrongUse, naming the key, where the configuration and the method don't go together."""
    actor, data = config.actor_rollout_ref.actor, config.data
    refuse(method, actor.loss_agg_mode)
    for key, on in {"entropy_coeff": actor.entropy_coeff != 0, "use_kl_loss": actor.use_kl_loss}.items():
        if on and not isinstance(method.strategy, NoSampling):
            raise WrongUse(
                f"{PREFIX}{ACTOR}{key}={actor[key]} with {method}: verl does not weight that term, so that it would be "
                f"an average over what is drawn; leave it out, or take the in-process engine or `none`"
            )
    if actor.strategy not in ("fsdp", "fsdp2"):
        raise WrongUse(f"{PREFIX}{ACTOR}strategy={actor.strategy}: known: fsdp, fsdp2")
    if data.train_batch_size % actor.ppo_mini_batch_size:
        raise WrongUse(
            f"{PREFIX}{ACTOR}ppo_mini_batch_size={actor.ppo_mini_batch_size}: must divide "
            f"{PREFIX}data.train_batch_size={data.train_batch_size}"
        )
    if config.actor_rollout_ref.rollout.n < 2:
        raise WrongUse(f"{PREFIX}{ROLLOUT}n={config.actor_rollout_ref.rollout.n}: a group needs at least 2 responses")
    if config.distillation.enabled:
        raise WrongUse(f"{PREFIX}distillation.enabled=true: its loss is not weighted; leave it out")
    if actor.checkpoint.async_save:
        raise WrongUse(f"{PREFIX}{ACTOR}checkpoint.async_save=true: a run must know when its checkpoint is whole")
    bypass = config.algorithm.rollout_correction.bypass_mode  # no forward pass of our own, no entropies
    known = FEATURES - {"mean_entropy"} if bypass else FEATURES
    missing = set(proxies.get(method.proxy).needs) | set(method.strategy.needs)
    if missing - known:
        raise WrongUse(
            f"{method}: needs {min(missing - known)}, which verl's trainer does not compute; it has "
            f"{', '.join(sorted(known))}"
        )
