"""verl's configuration of a task: its own defaults, the preset's values, the user's; held against verl's own schema."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import warnings
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strategies.errors import WrongUse, unknown
from suites.verl.cluster.presets import ACTOR, MODEL, PREFIX, ROLLOUT, VERIFIER, Preset, Settings
from suites.verl.places import data_dir

if TYPE_CHECKING:
    from omegaconf import DictConfig

# What the task's name, the sampling or the launcher decide; a user can't set these.
OURS = (
    *(ACTOR + "policy_loss.loss_mode", ACTOR + "ppo_epochs", ACTOR + "shuffle", ACTOR + "use_dynamic_bsz"),
    *("algorithm.adv_estimator", "algorithm.filter_groups.enable", "algorithm.use_kl_in_reward"),
    *("data.train_files", "data.val_files", "data.seed", MODEL + "path", ROLLOUT + "val_kwargs.n"),
    *("trainer.v1", "trainer.use_v1", "trainer.default_local_dir", "trainer.resume_mode", "trainer.resume_from_path"),
    *("trainer.test_freq", "trainer.save_freq", "trainer.total_training_steps", "trainer.total_epochs"),
    *("trainer.val_before_train", "trainer.val_only", "trainer.nnodes", "trainer.n_gpus_per_node", "trainer.device"),
    *("transfer_queue.enable", "actor_rollout_ref.hybrid_engine"),
)
OPEN = ("ray_kwargs.ray_init", MODEL + "override_config", "trainer.v1.sampler.sampler_kwargs")  # take any key
UNWRITTEN = (ACTOR + "fsdp_config.mixed_precision",)  # fields of verl's dataclasses that its files leave out
ENDLESS = 1_000_000  # steps and epochs: the budget ends a run


def compose(preset: Preset, stage: Mapping[str, Any], settings: Settings, own: Mapping[str, Any]) -> DictConfig:
    """The whole configuration, resolvable; verl itself is not imported.

    Args:
        preset: the preset.
        stage: what the task's name says: `loss`, `zvf`, `clip_ratio_low`, `clip_ratio_high`, where off the default.
        settings: the task's settings.
        own: the user's values by verl's dotted keys.

    Raises:
        WrongUse: a key that verl lacks (the nearest is named) or that is ours to set, or a value of another type.
    """
    config = _defaults()
    for key, value in {**preset.verl, **_named(stage), **_set(preset, settings)}.items():
        _put(config, key, value)
    for key, value in own.items():
        owner = next((name for name in OURS if key == name or key.startswith(name + ".")), None)
        if owner:
            raise WrongUse(f"{PREFIX}{key}: set by the task's name, its settings or the launcher; leave it out")
        _put(config, key, value)
    return config


def validate(config: DictConfig) -> None:
    """Hold a configuration against verl's dataclasses and its own check; imports verl.

    Raises:
        WrongUse: what verl says is wrong, in one line.
    """
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    config = config.copy()
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():  # it reports its success
            warnings.simplefilter("ignore")
            validate_config(config, need_reference_policy(config), need_critic(config))
            for part in ("algorithm", "actor_rollout_ref.rollout"):
                omega_conf_to_dataclass(_select(config, part))
    except Exception as error:  # whatever verl raises
        raise WrongUse(f"verl refuses the configuration: {' '.join(str(error).split())}") from error


def _defaults() -> DictConfig:
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from omegaconf import OmegaConf

    spec = importlib.util.find_spec("verl")  # found, not imported
    assert spec is not None
    assert spec.submodule_search_locations is not None
    directory = Path(next(iter(spec.submodule_search_locations))) / "trainer" / "config"
    with initialize_config_dir(str(directory), version_base=None):
        config: DictConfig = hydra_compose("ppo_trainer")
    OmegaConf.set_struct(config, True)
    return config


def _named(stage: Mapping[str, Any]) -> dict[str, Any]:
    """What a task's name says, in verl's keys."""
    found: dict[str, Any] = {
        ACTOR + "policy_loss.loss_mode": stage.get("loss", "vanilla"),
        "algorithm.filter_groups.enable": stage.get("zvf", False),
    }
    return found | {ACTOR + key: stage[key] for key in ("clip_ratio_low", "clip_ratio_high") if key in stage}


def _set(preset: Preset, settings: Settings) -> dict[str, Any]:
    """Settings, and what follows from them, in verl's keys."""
    folder = Path(settings.data or data_dir())
    verifier = Path(__file__).parents[1] / VERIFIER if preset.world is None else Path(__file__).parent / "chain.py"
    return {
        "data.train_files": [str(folder / f"{preset.training.lower()}.parquet")],
        "data.val_files": [str(folder / f"{name.lower()}.parquet") for name in preset.benchmarks],
        "reward.custom_reward_function.path": str(verifier),
        MODEL + "path": settings.model,
        ROLLOUT + "val_kwargs.n": settings.eval_n,
        "trainer.nnodes": settings.nodes,
        "trainer.n_gpus_per_node": settings.gpus,
        "trainer.device": preset.device,
        "trainer.total_epochs": ENDLESS,
        "trainer.total_training_steps": ENDLESS,
        "trainer.project_name": "costaware",
    }


def _put(config: DictConfig, key: str, value: Any) -> None:
    from omegaconf import DictConfig, OmegaConf

    node, path = config, key.split(".")
    for depth, part in enumerate(path):
        known = list(map(str, node)) if isinstance(node, DictConfig) else []  # `in` would miss a `???`
        if part not in known and not (isinstance(node, DictConfig) and _takes(node, ".".join(path[:depth]), part)):
            raise unknown(f"key of verl's configuration in {PREFIX}{key}:", part, known)
        if part not in known or depth == len(path) - 1:
            break
        node = node[part]
    before = OmegaConf.select(config, key)
    if isinstance(before, bool | int | float) and not _fits(value, before):
        raise WrongUse(f"{PREFIX}{key}={value}: verl needs {type(before).__name__} there")
    OmegaConf.update(config, key, value, merge=False, force_add=True)


def _fits(value: Any, before: float) -> bool:
    if isinstance(before, bool) or isinstance(value, bool):
        return isinstance(before, bool) and isinstance(value, bool)
    return isinstance(value, int | float) and (isinstance(before, float) or value == int(value))


def _takes(node: DictConfig, path: str, part: str) -> bool:
    """Whether a mapping that lacks `part` has room for it: it takes any key, or its dataclass has that field."""
    if path in OPEN or f"{path}.{part}" in UNWRITTEN or not node:
        return True
    target = node.get("_target_")
    if not target:
        return False
    module, _, name = target.rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    return is_dataclass(cls) and part in {f.name for f in fields(cls)}


def _select(config: DictConfig, key: str) -> Any:
    from omegaconf import OmegaConf

    return OmegaConf.select(config, key)
