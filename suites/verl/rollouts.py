"""The first half of a step: sample responses to prompts, score them, drop groups without variance if so asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from strategies.types import Floats, Ints
from suites.advantages import zero_variance
from suites.verl.model import Qwen3
from suites.verl.reasoning import PAD, Chain, Problem
from suites.verl.sampler import sample
from suites.verl.sampling import Observed
from suites.verl.settings import Stage
from suites.verl.streams import Streams


class NoSignal(RuntimeError):
    """Training can't go on, as nothing is left to learn from."""


@dataclass(frozen=True, eq=False)
class Rollouts:
    """N scored responses, prompt by prompt.

    ids: (N, T) prompt and response, right-padded. response: (N, T) which tokens are the response's. log_probs,
    entropies: (N, T) of the policy that sampled, at each response token, else 0. prompt_lengths, scores, groups: (N,).
    """

    ids: Tensor
    response: Tensor
    log_probs: Tensor
    entropies: Tensor
    prompt_lengths: Ints
    scores: Floats
    groups: Ints

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def response_lengths(self) -> Ints:
        """(N,) tokens of each response."""
        lengths: Ints = self.response.sum(1).cpu().numpy()
        return lengths

    @property
    def lengths(self) -> Ints:
        """(N,) tokens of each prompt and response."""
        return self.prompt_lengths + self.response_lengths

    def take(self, rows: Ints) -> Rollouts:
        """Some of the rollouts."""
        at = torch.from_numpy(rows).to(self.ids.device)
        tensors = (self.ids[at], self.response[at], self.log_probs[at], self.entropies[at])
        return Rollouts(*tensors, self.prompt_lengths[rows], self.scores[rows], self.groups[rows])

    def observed(self, advantages: Floats) -> Observed:
        """What a sampling method gets to know of them."""
        return Observed(
            self.prompt_lengths,
            self.response_lengths,
            self.groups,
            self.scores,
            advantages,
            log_probs=self.log_probs.cpu().numpy(),
            mask=self.response.cpu().numpy(),
            entropies=self.entropies.cpu().numpy(),
        )


def join(parts: list[Rollouts]) -> Rollouts:
    """All rollouts of several batches, whose groups must differ."""
    return Rollouts(
        torch.cat([part.ids for part in parts]),
        torch.cat([part.response for part in parts]),
        torch.cat([part.log_probs for part in parts]),
        torch.cat([part.entropies for part in parts]),
        np.concatenate([part.prompt_lengths for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.groups for part in parts]),
    )


def respond(policy: Qwen3, chain: Chain, problems: list[Problem], uniforms: Tensor, first_group: int = 0) -> Rollouts:
    """Sample `len(uniforms) / len(problems)` responses to each problem, and verify them."""
    each = len(uniforms) // len(problems)
    prompts = [chain.encode(problem.prompt) for problem in problems]
    found = sample(policy, prompts, uniforms, chain.stop)
    texts = [
        chain.decode(ids[:length]) for ids, length in zip(found.tokens.tolist(), found.lengths.tolist(), strict=True)
    ]
    scores = np.array([chain.reward(problems[i // each], text) for i, text in enumerate(texts)])
    prompt_lengths = np.repeat([len(prompt) for prompt in prompts], each)
    width = chain.max_prompt + chain.max_response
    ids = torch.tensor([prompt + [PAD] * (width - len(prompt)) for prompt in prompts], device=uniforms.device)
    ids = ids.repeat_interleave(each, 0)
    start = torch.from_numpy(prompt_lengths).to(uniforms.device)[:, None]
    at = torch.arange(width, device=uniforms.device)
    response = (at >= start) & (at < start + found.lengths[:, None])
    real = torch.arange(uniforms.shape[1], device=uniforms.device) < found.lengths[:, None]

    def placed(values: Tensor) -> Tensor:  # both masks run through a row's response in the same order
        return torch.zeros(ids.shape, dtype=values.dtype, device=ids.device).masked_scatter(response, values[real])

    return Rollouts(
        torch.where(response, placed(found.tokens), ids),
        response,
        placed(found.log_probs),
        placed(found.entropies),
        prompt_lengths,
        scores,
        first_group + np.repeat(np.arange(len(problems)), each),
    )


def collect(policy: Qwen3, chain: Chain, stage: Stage, streams: Streams, step: int) -> tuple[Rollouts, int]:
    """The rollouts of a step, and how many tokens were generated for them, those of dropped groups included.

    With `stage.zvf`, groups whose scores are all equal are dropped and as many new prompts are sampled, until the batch
    is full.

    Raises:
        NoSignal: it isn't full after max_prompt_ratio * train_batch_size prompts.
    """
    kept: list[Rollouts] = []
    missing, tried, generated, attempt = stage.train_batch_size, 0, 0, 0
    while missing:
        ask = min(missing, stage.max_prompt_ratio * stage.train_batch_size - tried)
        if ask == 0:
            found = f"{tried} prompts gave {stage.train_batch_size - missing} groups with unequal scores"
            raise NoSignal(
                f"step {step}: {found}, not {stage.train_batch_size}; raise max_prompt_ratio or train without +zvf"
            )
        rng = streams.prompts(step, attempt)
        problems = [chain.problem(rng) for _ in range(ask)]
        uniforms = streams.uniforms(step, attempt, ask * stage.rollout_n, chain.max_response)
        batch = respond(policy, chain, problems, uniforms.to(policy.cos.device), first_group=tried)
        generated += int(batch.response_lengths.sum())
        if stage.zvf:
            batch = batch.take(np.flatnonzero(~zero_variance(batch.scores, batch.groups)))
        kept.append(batch)
        missing -= len(batch) // stage.rollout_n
        tried, attempt = tried + ask, attempt + 1
    return join(kept), generated
