"""What can run on this machine: the needs of every preset of the verl suite, held against what is here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench import pins
from bench.machine import Machine
from strategies.errors import unknown
from suites.verl.cluster import presets
from suites.verl.cluster.presets import Preset
from suites.verl.places import data_dir
from suites.verl.settings import PRESETS as IN_PROCESS

CPU_MEMORY = 5.0  # GiB that verl's processes take together on a CPU
AMPERE = 8.0  # compute capability that bfloat16 and flash-attn 2 need


@dataclass(frozen=True)
class Problem:
    """What is missing, and how to mend it."""

    what: str
    mend: str


@dataclass(frozen=True)
class Verdict:
    """Of a preset: what keeps it from running, and what is good to know."""

    preset: str
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()


def names() -> list[str]:
    """The presets of both engines."""
    return [*IN_PROCESS, *presets.PRESETS]


def examine(name: str, machine: Machine) -> Verdict:
    """The verdict on a preset, by its name or that of a task (`verl/grpo@paper-4b`).

    Raises:
        WrongUse: there is no such preset.
    """
    name = name.rpartition("@")[2]
    if name in IN_PROCESS:
        return Verdict(name, tuple(_packages("verl")))
    if name not in presets.PRESETS:
        raise unknown("preset", name, names())
    preset = presets.PRESETS[name]
    if preset.device == "cpu":
        return Verdict(name, (*_packages("verl"), *_memory(machine)))
    problems = (*_packages("gpu"), *_torch(machine), *_gpus(preset, machine), *_data(preset), *_model(preset))
    return Verdict(name, problems, tuple(_notes(preset)))


def _packages(extra: str) -> Iterable[Problem]:
    install = f"pip install '{pins.OURS}[{extra}]'"
    if pins.installed(pins.OURS) is None:
        yield Problem(f"{pins.OURS} itself is not installed", install)
    missing, other = pins.unmet(extra)
    if missing:
        yield Problem(f"not installed: {', '.join(missing)}", install)
    if other:
        yield Problem("; ".join(other), f"{install} in an environment of its own")


def _torch(machine: Machine) -> Iterable[Problem]:
    if machine.torch_cuda is None and pins.installed("torch") is not None:
        yield Problem("torch is built without CUDA", "install torch from an index with CUDA builds")
    elif machine.torch_cuda and machine.driver_cuda and _major(machine.torch_cuda) > _major(machine.driver_cuda):
        yield Problem(
            f"torch is built for CUDA {machine.torch_cuda}, the driver takes up to {machine.driver_cuda}",
            f"a newer NVIDIA driver, or a torch built for CUDA {_major(machine.driver_cuda)}",
        )


def _major(version: str) -> int:
    return int(version.partition(".")[0])


def _gpus(preset: Preset, machine: Machine) -> Iterable[Problem]:
    """GPUs of this machine, or those of a Slurm partition."""
    nodes, gpus = preset.settings.nodes, preset.settings.gpus
    if any(partition.nodes >= nodes and partition.gpus >= gpus for partition in machine.slurm):
        return
    found = len(machine.gpus)
    if found < gpus:
        fewer = f" --set gpus={found}" if found and nodes == 1 else ""
        yield Problem(
            f"{found} of {gpus} GPUs on this machine, and no Slurm partition with {nodes} x {gpus}",
            f"a machine or a Slurm cluster that has them{', or' if fewer else ''}{fewer}",
        )
    elif nodes > 1:
        yield Problem(
            f"1 of {nodes} nodes, and no Slurm partition with {nodes} x {gpus} GPUs",
            "a Slurm cluster, or --set nodes=1",
        )
    old = sorted({gpu.name for gpu in machine.gpus if 0 < gpu.capability < AMPERE})
    if old:
        yield Problem(
            f"{', '.join(old)}: too old for bfloat16 and flash-attn 2", "GPUs of the Ampere generation or newer"
        )


def _data(preset: Preset) -> Iterable[Problem]:
    folder = Path(preset.settings.data or data_dir())
    needed = [name.lower() for name in (preset.training, *preset.benchmarks)]
    missing = [name for name in needed if not (folder / f"{name}.parquet").is_file()]
    if missing:
        yield Problem(f"not in {folder}: {', '.join(missing)}", f"costaware data prepare {' '.join(missing)}")


def _memory(machine: Machine) -> Iterable[Problem]:
    if machine.memory < CPU_MEMORY:
        yield Problem(f"{machine.memory:.1f} GiB of memory, of {CPU_MEMORY:g}", "a machine with more")


def _model(preset: Preset) -> Iterable[Problem]:
    model = preset.settings.model
    if not _has(model) and _offline():
        yield Problem(
            f"{model} is not in the hub's cache, and HF_HUB_OFFLINE forbids to fetch it",
            f"hf download {model} where that is allowed, or --set model=DIR",
        )


def _has(model: str) -> bool:
    """Whether a model is a folder here, or in the hub's cache."""
    from huggingface_hub import try_to_load_from_cache

    weights = ("model.safetensors", "model.safetensors.index.json")
    return Path(model).is_dir() or any(isinstance(try_to_load_from_cache(model, file), str) for file in weights)


def _offline() -> bool:
    from huggingface_hub.constants import HF_HUB_OFFLINE

    return bool(HF_HUB_OFFLINE)


def _notes(preset: Preset) -> Iterable[str]:
    if not _has(preset.settings.model) and not _offline():
        yield f"{preset.settings.model} will be fetched from the hub"
    wanted, version = pins.pinned("flash-attn"), pins.installed("flash-attn")
    if version and wanted and version != wanted.removeprefix("=="):
        yield f"flash-attn {version}, where verl pins {wanted}"
