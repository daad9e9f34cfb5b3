"""Trained policies that many runs start from: made once a machine, kept under a name made of their content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from random import Random
from typing import Any

import torch
from filelock import FileLock

from suites.verl.model import Qwen3
from suites.verl.places import cache_dir
from suites.verl.settings import World

CORPUS_SAMPLE = 512


def fingerprint(world: World, *more: Any) -> str:
    """Hash of what makes a policy: the settings, and the corpus and prompts that they lead to; not the code."""
    rng = Random(world.warm_start.seed)
    problems = [world.chain.problem(rng) for _ in range(CORPUS_SAMPLE)]
    corpus = [problem.prompt + world.chain.solution(problem, rng) for problem in problems]
    content = json.dumps([asdict(world), corpus, *more], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def untrained(world: World) -> Qwen3:
    """A policy of the world's sizes with random weights from torch's global generator."""
    return Qwen3(world.model, world.chain.vocab_size, world.chain.max_prompt + world.chain.max_response)


def cached(name: str, world: World, train: Callable[[], Qwen3]) -> Qwen3:
    """The policy called `name`, on the CPU; `train` makes it where it isn't there yet.

    Workers that start together wait for the one that trains. The file appears when it is whole.
    """
    file = cache_dir() / f"{name}.pt"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{file}.lock"):
            if not file.exists():
                part = file.with_suffix(".part")
                torch.save(train().state_dict(), part)
                part.replace(file)
    policy = untrained(world)
    policy.load_state_dict(torch.load(file, map_location="cpu", weights_only=True))
    return policy
