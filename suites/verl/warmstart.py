"""The supervised warm start: next-token training on corpus solutions, before reinforcement learning sharpens them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

import torch
from torch import Tensor

from suites.verl.cache import cached, fingerprint, untrained
from suites.verl.model import Qwen3, token_log_probs
from suites.verl.progress import track
from suites.verl.reasoning import PAD, Chain
from suites.verl.settings import World

BUCKETS = 16  # batches that are sorted by length together, to cut padding
WEIGHT_DECAY = 0.01
GRAD_CLIP = 1.0
LAST_LR = 0.05  # of the peak rate


def warm_start(world: World) -> Qwen3:
    """The warmed-up policy of a world, on the CPU; trained once a machine."""
    return cached(f"warm-start-{world.chain.name}-{fingerprint(world)}", world, lambda: train(world))


def train(world: World) -> Qwen3:
    """Train from scratch. Deterministic for one number of threads; leaves torch's global generator as it was."""
    settings = world.warm_start
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        policy = untrained(world)
    optimizer = torch.optim.AdamW(
        policy.parameters(), lr=settings.lr, betas=(0.9, 0.98), weight_decay=WEIGHT_DECAY, fused=True
    )
    typical = settings.batch * world.chain.max_response / 3  # not the batch's own, sorted as they are
    batches = _batches(world.chain, settings.batch, Random(settings.seed))
    with track(settings.steps, f"warm start of {world.chain.name}") as advance:
        for step in range(settings.steps):
            cosine = 0.5 * (1 + math.cos(math.pi * step / settings.steps))
            rate = min(1.0, (step + 1) / settings.warmup) * (LAST_LR + (1 - LAST_LR) * cosine)
            optimizer.param_groups[0]["lr"] = settings.lr * rate
            ids, response = next(batches)
            optimizer.zero_grad()
            loss = -(token_log_probs(policy(ids), ids) * response[:, 1:]).sum() / typical
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(policy.parameters(), GRAD_CLIP)
            optimizer.step()
            advance(1)
    return policy


def _batches(chain: Chain, size: int, rng: Random) -> Iterator[tuple[Tensor, Tensor]]:
    """Endless batches of (size, time) tokens and which of them are the response's."""
    while True:
        examples = sorted((_example(chain, rng) for _ in range(size * BUCKETS)), key=lambda pair: len(pair[0]))
        batches = [examples[start : start + size] for start in range(0, len(examples), size)]
        rng.shuffle(batches)
        yield from map(_padded, batches)


def _example(chain: Chain, rng: Random) -> tuple[list[int], int]:
    """Tokens of a prompt and its solution, and the prompt's length."""
    problem = chain.problem(rng)
    return chain.encode(problem.prompt + chain.solution(problem, rng)), len(problem.prompt)


def _padded(batch: list[tuple[list[int], int]]) -> tuple[Tensor, Tensor]:
    longest = max(len(ids) for ids, _ in batch)
    ids = torch.tensor([ids + [PAD] * (longest - len(ids)) for ids, _ in batch])
    start = torch.tensor([prompt for _, prompt in batch])[:, None]
    return ids, (torch.arange(longest) >= start) & (ids != PAD)
