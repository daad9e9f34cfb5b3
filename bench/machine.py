"""What this machine is: processors, memory, GPUs, torch's build, Slurm. Looked up without importing torch: quick."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ASK_S = 5.0  # one that answers does so at once; nvidia-smi takes its time where the driver was asleep


@dataclass(frozen=True)
class Gpu:
    """One GPU; `memory` in GiB, `capability` is CUDA's compute capability."""

    name: str
    memory: float
    capability: float


@dataclass(frozen=True)
class Partition:
    """A partition of a Slurm cluster: nodes of one kind, and the GPUs of each."""

    name: str
    nodes: int
    gpus: int


@dataclass(frozen=True)
class Machine:
    """torch_cuda: the CUDA version that torch was built with, driver_cuda: the newest that the driver takes; None:
    none. slurm: its partitions, empty with `slurm_why` where there is none. memory in GiB."""

    python: str
    cores: int
    memory: float
    torch_cuda: str | None = None
    gpus: tuple[Gpu, ...] = ()
    driver_cuda: str | None = None
    slurm: tuple[Partition, ...] = ()
    slurm_why: str = ""


def look() -> Machine:
    """This machine."""
    gpus = _gpus()
    partitions, why = _slurm()
    return Machine(
        python=platform.python_version(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30,
        torch_cuda=_torch_cuda(),
        gpus=gpus,
        driver_cuda=_driver_cuda() if gpus else None,
        slurm=partitions,
        slurm_why=why,
    )


def _torch_cuda() -> str | None:
    spec = importlib.util.find_spec("torch")  # found, not imported
    for folder in (spec.submodule_search_locations if spec else None) or ():
        file = Path(folder) / "version.py"
        built = re.search(r"^cuda\b[^=\n]*=\s*'([\d.]+)'", file.read_text(), re.MULTILINE) if file.is_file() else None
        if built:
            return built[1]
    return None


def _gpus() -> tuple[Gpu, ...]:
    """Those that CUDA_VISIBLE_DEVICES leaves visible."""
    told = _say(["nvidia-smi", "--query-gpu=name,memory.total,compute_cap", "--format=csv,noheader,nounits"])
    rows = [[cell.strip() for cell in line.split(",")] for line in (told or "").splitlines()]
    found = [Gpu(row[0], _number(row[1]) / 1024, _number(row[2])) for row in rows if len(row) == 3]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return tuple(found if visible is None else found[: len([part for part in visible.split(",") if part.strip()])])


def _driver_cuda() -> str | None:
    told = re.search(r"CUDA Version: *([\d.]+)", _say(["nvidia-smi"]) or "")
    return told[1] if told else None


def _slurm() -> tuple[tuple[Partition, ...], str]:
    if shutil.which("sinfo") is None:
        return (), "not installed"
    told = _say(["sinfo", "--noheader", "--responding", "--format=%R|%D|%G"])
    if told is None:
        return (), "installed, but no controller answers"
    rows = (line.split("|") for line in told.splitlines() if line.count("|") == 2)
    return tuple(Partition(name, int(_number(nodes)), _gres(gres)) for name, nodes, gres in rows), "no nodes answer"


def _gres(text: str) -> int:
    """GPUs of a node, from Slurm's words: `gpu:h100:8(S:0-1),nvme:1`."""
    return sum(map(int, re.findall(r"\bgpu(?::[^:,()]+)?:(\d+)", text)))


def _number(text: str) -> float:
    """0 where there is none (`[N/A]`)."""
    found = re.match(r"[\d.]+", text)
    return float(found[0]) if found else 0.0


def _say(command: list[str]) -> str | None:
    """What a program prints; None where it isn't there, fails, or does not answer."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=ASK_S, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
