"""`costaware doctor`: the needs of every preset against machines of every kind, and the mend for what is missing."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from faults import ENVIRONMENT, ROOT, costaware

from bench import doctor, machine, pins
from bench.machine import Gpu, Machine, Partition
from strategies import WrongUse
from suites.verl.cluster.presets import PRESETS

LAPTOP = Machine("3.11.7", 2, 24.0, slurm_why="not installed")
H100 = Gpu("NVIDIA H100 80GB HBM3", 79.6, 9.0)
NODE = Machine("3.11.7", 128, 2000.0, torch_cuda="12.8", gpus=(H100,) * 8, driver_cuda="13.0")
PAPER = ("paper-1.5b", "paper-4b", "paper-8b")


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """All packages in the right versions, and the folder of the sets, with all of them in it."""
    monkeypatch.setattr(pins, "unmet", lambda extra: ([], []))
    monkeypatch.setattr(pins, "installed", lambda name: "1.0")
    monkeypatch.setenv("COSTAWARE_DATA", str(tmp_path))
    for name in ("dapo-math-17k", "aime", "amc", "math500", "gsm8k"):
        (tmp_path / f"{name}.parquet").touch()
    return tmp_path


def whats(preset: str, here: Machine) -> list[str]:
    return [problem.what for problem in doctor.examine(preset, here).problems]


@pytest.mark.parametrize("preset", doctor.names())
def test_a_node_in_a_cluster_runs_everything(preset: str, complete: Path) -> None:
    assert whats(preset, replace(NODE, slurm=(Partition("gpu", 2, 8),))) == []
    assert whats(f"verl/grpo@{preset}", replace(NODE, slurm=(Partition("gpu", 2, 8),))) == []


def test_a_laptop_runs_what_needs_no_gpu(complete: Path) -> None:
    for preset in doctor.names():
        problems = whats(preset, LAPTOP)
        assert bool(problems) == (preset in PAPER), (preset, problems)
    assert whats("paper-4b", LAPTOP) == [
        "torch is built without CUDA",
        "0 of 8 GPUs on this machine, and no Slurm partition with 1 x 8",
    ]
    assert whats("cpu-smoke", replace(LAPTOP, memory=2.0)) == ["2.0 GiB of memory, of 5"]


def test_gpus_may_be_those_of_a_slurm_partition(complete: Path) -> None:
    login = replace(LAPTOP, torch_cuda="12.8", slurm=(Partition("cpu", 100, 0), Partition("gpu", 1, 8)))
    assert whats("paper-1.5b", login) == []
    assert whats("paper-8b", login) == ["0 of 8 GPUs on this machine, and no Slurm partition with 2 x 8"]


def test_one_node_is_not_two(complete: Path) -> None:
    (problem,) = doctor.examine("paper-8b", NODE).problems
    assert problem.what == "1 of 2 nodes, and no Slurm partition with 2 x 8 GPUs"
    assert "--set nodes=1" in problem.mend
    (problem,) = doctor.examine("paper-1.5b", replace(NODE, gpus=(H100,) * 2)).problems
    assert problem.what.startswith("2 of 8 GPUs")
    assert "--set gpus=2" in problem.mend


def test_driver_and_gpus_that_are_too_old(complete: Path) -> None:
    assert whats("paper-1.5b", replace(NODE, torch_cuda="13.0", driver_cuda="12.4")) == [
        "torch is built for CUDA 13.0, the driver takes up to 12.4"
    ]
    old = replace(NODE, gpus=(Gpu("Tesla V100", 32.0, 7.0),) * 8)
    assert whats("paper-1.5b", old) == ["Tesla V100: too old for bfloat16 and flash-attn 2"]


def test_missing_sets_are_named_with_the_command_that_makes_them(complete: Path) -> None:
    (complete / "amc.parquet").unlink()
    (complete / "gsm8k.parquet").unlink()
    (problem,) = doctor.examine("paper-1.5b", NODE).problems
    assert problem == doctor.Problem(f"not in {complete}: amc, gsm8k", "costaware data prepare amc gsm8k")


def test_missing_model_is_a_note_or_offline_a_problem(complete: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(doctor, "_has", lambda model: False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    verdict = doctor.examine("paper-4b", NODE)
    assert verdict.problems == ()
    assert "Qwen/Qwen3-4B-Base will be fetched from the hub" in verdict.notes
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    (problem,) = doctor.examine("paper-4b", NODE).problems
    assert "Qwen/Qwen3-4B-Base is not in the hub's cache" in problem.what


def test_unknown_preset_is_refused() -> None:
    with pytest.raises(WrongUse, match=r"did you mean 'paper-1\.5b'"):
        doctor.examine("paper-1b", NODE)


REQUIRES = {
    "costaware-bench": ["numpy>=1", "vllm-extra; extra == 'other'", "flash-attn>=2.8.3; extra == 'gpu'"],
    "verl": [
        "ray[default]>=2.41.0",
        "wandb",
        'torch==2.11.0; extra == "vllm"',
        'vllm==0.24.0; extra == "vllm"',
        'flash-attn==2.8.3; extra == "flash-attn-cu130torch211"',
    ],
}


def test_versions_are_held_against_ours_and_verls(monkeypatch: pytest.MonkeyPatch) -> None:
    here = {"numpy": "2.4.0", "ray": "2.60.0", "torch": "2.11.0+cu130", "flash-attn": "2.8.3", "vllm": "0.24.0"}
    monkeypatch.setattr(importlib.metadata, "requires", REQUIRES.__getitem__)
    monkeypatch.setattr(pins, "installed", here.get)
    assert pins.unmet("gpu") == ([], [])
    here |= {"torch": "2.13.0+cpu", "ray": "2.9.0"}
    del here["vllm"], here["flash-attn"]
    missing, other = pins.unmet("gpu")
    assert missing == ["flash-attn>=2.8.3", "vllm==0.24.0"]
    assert other == ["ray 2.9.0 where verl needs >=2.41.0", "torch 2.13.0+cpu where verl[vllm] needs ==2.11.0"]
    assert pins.unmet("verl") == ([], ["ray 2.9.0 where verl needs >=2.41.0"])
    assert pins.pinned("flash-attn") == "==2.8.3"


@pytest.mark.verl
def test_this_environment_meets_its_own_pins() -> None:
    assert pins.unmet("verl") == ([], [])


def program(folder: Path, name: str, body: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)


SMI = """case "$*" in
  --query-gpu=name,memory.total,compute_cap*)
    printf 'NVIDIA H100 80GB HBM3, 81559, 9.0\\nTesla V100, 32768, [N/A]\\n' ;;
  *) echo '| NVIDIA-SMI 580.65.06    Driver Version: 580.65.06    CUDA Version: 13.0     |' ;;
esac"""
SINFO = """printf 'cpu|12|(null)\\ngpu|4|gpu:h100:8(S:0-1),nvme:1\\nmixed|1|gpu:2,gpu:a100:4(S:0)\\n'"""


def test_gpus_and_slurm_are_read_from_their_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "nvidia-smi", SMI)
    program(tmp_path, "sinfo", SINFO)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    found = machine.look()
    assert found.gpus == (Gpu("NVIDIA H100 80GB HBM3", 81559 / 1024, 9.0), Gpu("Tesla V100", 32.0, 0.0))
    assert found.driver_cuda == "13.0"
    assert found.slurm == (Partition("cpu", 12, 0), Partition("gpu", 4, 8), Partition("mixed", 1, 6))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert len(machine.look().gpus) == 1


def test_programs_that_fail_or_hang_are_no_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9")
    program(tmp_path, "sinfo", "exec sleep 60")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(machine, "ASK_S", 0.2)
    found = machine.look()
    assert (found.gpus, found.driver_cuda, found.slurm) == ((), None, ())
    assert found.slurm_why == "installed, but no controller answers"


def test_torchs_build_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch")
    assert machine.look().torch_cuda == torch.version.cuda


def test_command_says_what_is_missing_and_exits_with_1(tmp_path: Path) -> None:
    env = ENVIRONMENT | {"COSTAWARE_DATA": str(tmp_path)}
    done = costaware("doctor", "paper-1.5b", env=env)
    assert done.returncode == 1
    assert not done.stderr
    assert "can't run: paper-1.5b" in done.stdout
    assert "mend: costaware data prepare dapo-math-17k aime amc math500 gsm8k" in done.stdout
    told = json.loads(costaware("doctor", "--json", env=env).stdout)
    assert set(told) == {"ok", "machine", "lines", "presets"}
    assert told["ok"] is False
    assert [row["preset"] for row in told["presets"]] == doctor.names()
    assert {row["preset"] for row in told["presets"]} >= set(PRESETS)
    for row in told["presets"]:
        assert row["ok"] == (not row["problems"])
        assert all(problem["what"] and problem["mend"] for problem in row["problems"])


@pytest.mark.verl
def test_command_where_nothing_is_missing() -> None:
    done = costaware("doctor", "verl/cispo@tiny", "small")
    assert done.returncode == 0, done.stdout
    assert "can run: tiny, small" in done.stdout
    assert "verl 0.9.1" in done.stdout


def test_unknown_preset_on_the_command_line() -> None:
    done = costaware("doctor", "paper-1b")
    assert done.returncode == 2
    assert "did you mean 'paper-1.5b'" in done.stderr


def test_nothing_heavy_is_imported() -> None:
    code = "import sys; from bench.cli import cli; cli.main(['doctor'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "Slurm" in done.stdout
    assert not {"torch", "verl", "ray", "transformers", "pandas"} & set(done.stdout.split("\n")[-2].split())
