"""Run verl's trainer from here: a driver process, its Points as they come, and nothing left when it ends.

DIR/verl/ of a run's directory DIR holds the configuration, verl's output (`output.log`) and its metrics,
DIR/checkpoints verl's checkpoints while the run is under way; on several nodes, on a file system that all share.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strategies import registry
from suites.task import Point, Request
from suites.verl.cluster import state
from suites.verl.cluster.channel import Receiver
from suites.verl.cluster.cpu import ENVIRONMENT
from suites.verl.cluster.driver import CONFIG, FAILURE, RAY
from suites.verl.cluster.presets import MODE, ROLLOUT, Preset, Settings

if TYPE_CHECKING:
    import psutil
    from omegaconf import DictConfig

ROOT = Path(__file__).parents[3]  # of the code, for ray's processes
FOLDER = "verl"
GRACE_S = 20.0  # for ray to end by itself


class TrainerFailed(RuntimeError):
    """verl's trainer ended with an error; the message is its cause and where its output lies."""


class OutOfMemory(TrainerFailed):
    """It ran out of memory."""


def launch(config: DictConfig, settings: Settings, preset: Preset, request: Request) -> Iterator[Point]:
    """Run verl's trainer from the newest checkpoint on, and yield its Points.

    Args:
        config: as composed for the task.
        settings: of the task.
        preset: of the task.
        request: the run.

    Raises:
        TrainerFailed: it ended with an error.
    """
    directory = request.workdir / FOLDER
    directory.mkdir(exist_ok=True)
    _tidy(request.workdir)
    receiver = Receiver()
    driver: subprocess.Popen[bytes] | None = None
    try:
        _write(config, settings, preset, request, receiver.address)
        driver = _start(directory, preset)
        yield from receiver.points(alive=lambda: driver.poll() is None)
        if driver.wait():
            raise _failure(directory)
        shutil.rmtree(request.workdir / state.FOLDER, ignore_errors=True)  # a finished run needs none
    finally:
        receiver.close()
        if driver is not None:
            _end(driver)


def _write(config: DictConfig, settings: Settings, preset: Preset, request: Request, address: str) -> None:
    """The run's own part of the configuration, and the file that the driver reads."""
    from omegaconf import OmegaConf

    world = request.world_seed
    checkpoint = state.latest(request.workdir)
    own: dict[str, Any] = {
        "data.seed": int(world.generate_state(1)[0]) >> 1,
        ROLLOUT + "seed": int(world.generate_state(2)[1]) >> 1,
        "trainer.default_local_dir": str(request.workdir / state.FOLDER),
        "trainer.resume_mode": "resume_path" if checkpoint else "disable",
        "trainer.resume_from_path": str(checkpoint) if checkpoint else None,
        "trainer.experiment_name": request.workdir.name,
        "trainer.val_before_train": True,  # of a checkpoint too: it is written before its evaluation
        "trainer.v1.trainer_mode": MODE,
        "trainer.v1.sampler.sampler_kwargs": {
            "method": str(request.method),
            "plugins": [[plugin.path, plugin.sha256] for plugin in registry.plugins_of(request.method.strategy)],
            "world_seed": str(world.entropy),
            "draw_seed": str(request.draw_seed.entropy),
            "budget": request.budget or settings.budget,
            "evaluations": settings.evaluations,
            "recenter": settings.recenter,
            "benchmarks": list(preset.benchmarks),
            "channel": address,
        },
    }
    if preset.device == "cpu":
        own["ray_kwargs.ray_init.num_gpus"] = settings.gpus  # logical ones
    for key, value in own.items():
        OmegaConf.update(config, key, value, merge=False, force_add=True)
    file = request.workdir / FOLDER / CONFIG
    OmegaConf.save(config, file)
    file.chmod(0o600)  # it holds the channel's key


def _start(directory: Path, preset: Preset) -> subprocess.Popen[bytes]:
    attempt = len(list(directory.glob("metrics-*.jsonl"))) + 1
    more = {
        "VERL_FILE_LOGGER_PATH": str(directory / f"metrics-{attempt}.jsonl"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")])),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "disabled",  # else every process of ray's warns
        "HYDRA_FULL_ERROR": "1",
    }
    if preset.device == "cpu":
        more |= ENVIRONMENT | {"HF_HUB_OFFLINE": "1"}
    words = [sys.executable, "-m", "suites.verl.cluster.driver", str(directory), str(os.getpid())]
    with (directory / "output.log").open("ab") as output:
        return subprocess.Popen(  # a session of its own: Ctrl-C reaches it through `_end`
            words,
            cwd=directory,
            env=os.environ | more,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _failure(directory: Path) -> TrainerFailed:
    where = f"verl's output: {directory / 'output.log'}"
    try:
        cause = json.loads((directory / FAILURE).read_text())
    except (OSError, ValueError):
        return TrainerFailed(f"it ended without a word; {where}")
    lines = cause["message"].splitlines()
    text = f"{cause['type']}: {lines[-1] if lines else ''}; {where}"
    return (OutOfMemory if "OutOfMemory" in text or "out of memory" in text else TrainerFailed)(text)


def _tidy(workdir: Path) -> None:
    """Remove what an attempt that was killed has left: ray's directory, a cause, checkpoints that are not whole."""
    with suppress(OSError):
        shutil.rmtree((workdir / FOLDER / RAY).read_text(), ignore_errors=True)
    for name in (FAILURE, RAY):
        (workdir / FOLDER / name).unlink(missing_ok=True)
    state.prune(workdir / state.FOLDER, state.latest(workdir))


def _end(driver: subprocess.Popen[bytes]) -> None:
    """End a driver and every process that came of it."""
    import psutil

    with suppress(psutil.NoSuchProcess):
        own = psutil.Process(driver.pid).children(recursive=True)
        driver.terminate()
        with suppress(subprocess.TimeoutExpired):
            driver.wait(GRACE_S)
        _kill(own)
    driver.kill()
    driver.wait()


def _kill(processes: list[psutil.Process]) -> None:
    import psutil

    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, timeout=GRACE_S)
