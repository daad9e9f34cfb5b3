"""A rollout server for verl that samples with transformers: as good as any on a CPU with a small model.

Server is what verl's clients talk to (a ray actor), Replica starts it, Adapter brings it the trainer's weights.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import ray
import torch
from torch import Tensor
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, TokenOutput

GATHER_S = 0.02  # requests that come within this time are sampled together


@dataclass(eq=False)
class Asked:
    """A request: a prompt, how to sample, and the numbers in [0, 1) that decide the response."""

    prompt: list[int]
    temperature: float
    tokens: int
    uniforms: Tensor
    answer: asyncio.Future[TokenOutput]


class Server:
    """Samples responses in batches. A response depends on the seed, the weights' step, its prompt, and its number
    among this server's responses to that prompt at that step, not on when it was asked for: methods meet one world.
    """

    def __init__(self, model_path: str, response_length: int, max_batch: int, seed: int) -> None:
        from transformers import AutoConfig, AutoModelForCausalLM

        torch.set_num_threads(1)
        config = AutoConfig.from_pretrained(model_path)
        self.model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="sdpa").eval()
        self.stop = config.eos_token_id
        self.response_length, self.max_batch, self.seed = response_length, max_batch, seed
        self.step: int | None = None
        self.asked: list[Asked] = []
        self.times: Counter[tuple[int, ...]] = Counter()
        self.task: asyncio.Task[None] | None = None

    async def generate(
        self, prompt_ids: list[int], sampling_params: dict[str, Any], request_id: str, **_: Any
    ) -> TokenOutput:
        """A response with the log-probabilities of its tokens."""
        if sampling_params.get("top_p", 1.0) != 1.0 or sampling_params.get("top_k", -1) > 0:
            raise ValueError("the transformers rollout has neither top_p nor top_k")
        prompt = tuple(int(token) for token in prompt_ids)
        number, self.times[prompt] = self.times[prompt], self.times[prompt] + 1
        rng = np.random.default_rng([self.seed, (self.step or 0) + 1, number, *prompt])
        length = min(sampling_params.get("max_tokens") or self.response_length, self.response_length)
        uniforms = torch.from_numpy(rng.random(length, dtype=np.float32))
        answer = asyncio.get_running_loop().create_future()
        self.asked.append(Asked(list(prompt), sampling_params.get("temperature", 1.0), length, uniforms, answer))
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._serve())
        return await answer

    async def _serve(self) -> None:
        await asyncio.sleep(GATHER_S)
        while self.asked:
            first = self.asked[0]
            alike = [one for one in self.asked if (one.temperature, one.tokens) == (first.temperature, first.tokens)]
            batch = alike[: self.max_batch]
            self.asked = [one for one in self.asked if one not in batch]
            try:
                for one, found in zip(batch, self._sample(batch), strict=True):
                    one.answer.set_result(found)
            except Exception as error:  # each of those that wait shall hear of it
                for one in batch:
                    one.answer.set_exception(error)
            await asyncio.sleep(0)

    @torch.no_grad()
    def _sample(self, batch: list[Asked]) -> list[TokenOutput]:
        """Token by token with a cache of keys and values, prompts padded on the left; greedy at temperature 0."""
        width = max(len(one.prompt) for one in batch)
        ids = torch.tensor([[0] * (width - len(one.prompt)) + one.prompt for one in batch])
        mask = torch.tensor([[0] * (width - len(one.prompt)) + [1] * len(one.prompt) for one in batch])
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        uniforms, temperature = torch.stack([one.uniforms for one in batch]), batch[0].temperature
        done, cache = torch.zeros(len(batch), dtype=torch.bool), None
        tokens: list[Tensor] = []
        chosen: list[Tensor] = []
        lengths = torch.zeros(len(batch), dtype=torch.long)
        for turn in range(batch[0].tokens):
            out = self.model(
                input_ids=ids, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True
            )
            cache, logits = out.past_key_values, out.logits[:, -1].float()
            log_p = (logits / temperature if temperature > 0 else logits).log_softmax(-1)
            below = log_p.exp().cumsum(-1) <= uniforms[:, turn, None]
            pick = below.sum(-1).clamp(max=log_p.shape[-1] - 1) if temperature > 0 else log_p.argmax(-1)
            tokens.append(pick)
            chosen.append(log_p.gather(1, pick[:, None])[:, 0])
            lengths += ~done
            done |= pick == self.stop
            if done.all():
                break
            ids, positions = pick[:, None], positions[:, -1:] + 1
            mask = torch.cat([mask, torch.ones(len(batch), 1, dtype=mask.dtype)], 1)
        rows = zip(torch.stack(tokens, 1).tolist(), torch.stack(chosen, 1).tolist(), lengths.tolist(), strict=True)
        return [self._output(row[:length], log_probs[:length]) for row, log_probs, length in rows]

    def _output(self, tokens: list[int], log_probs: list[float]) -> TokenOutput:
        steps = {"global_steps": self.step, "min_global_steps": self.step, "max_global_steps": self.step}
        return TokenOutput(
            token_ids=tokens, log_probs=log_probs, stop_reason="completed", num_preempted=0, extra_fields=steps
        )

    async def load_weights(self, weights: dict[str, Tensor], step: int | None) -> None:
        """Take the trainer's weights of a step."""
        own = self.model.state_dict()
        for name, value in weights.items():
            own[name].copy_(value)
        self.step = step
        self.times.clear()

    async def set_global_steps(self, step: int) -> None:
        """What the weights' step is called from now on."""
        self.step = step

    async def wake_up(self, tags: list[str] | None = None) -> None:
        """Nothing sleeps on a CPU; this and what follows is asked of every server of verl's."""

    async def sleep(self) -> None: ...

    async def clear_kv_cache(self) -> None: ...

    async def release_kv_cache(self) -> None: ...

    async def resume_kv_cache(self) -> None: ...

    async def abort_all_requests(self, reject_request: bool = False) -> None: ...

    async def resume_generation(self) -> None: ...

    async def start_profile(self, **_: Any) -> None: ...

    async def stop_profile(self) -> None: ...


def _name(replica: int) -> str:
    return f"transformers_server_{replica}"


class Replica(RolloutReplica):  # type: ignore[misc]
    """One server."""

    async def launch_servers(self) -> None:
        """Start it."""
        actor = ray.remote(Server).options(
            name=_name(self.replica_rank), num_cpus=0, max_concurrency=self.max_concurrency
        )
        path = self.model_config.path
        # Several servers share a prompt's responses: with one seed they would give the same ones.
        seed = self.config.seed + self.replica_rank
        server = actor.remote(path, self.config.response_length, self.config.max_num_seqs, seed)
        self.servers = [server]
        self._server_handle, self._server_address = server, _name(self.replica_rank)


class Adapter(BaseRollout):  # type: ignore[misc]
    """The trainer's side of a server."""

    def __init__(self, config: Any, model_config: Any, device_mesh: Any, replica_rank: int = -1, **_: Any) -> None:
        super().__init__(config, model_config, device_mesh)
        rank = int(os.environ.get("RANK", "0"))
        world = self.config.tensor_model_parallel_size * self.config.data_parallel_size
        self.replica_rank = rank // world if replica_rank == -1 else replica_rank
        self.leads = rank % world == 0
        self.server: Any = None

    async def resume(self, tags: list[str]) -> None:
        """Nothing sleeps on a CPU."""

    async def release(self) -> None:
        """Nothing sleeps on a CPU."""

    async def update_weights(
        self,
        weights: Iterable[tuple[str, Tensor]],
        global_steps: int | None = None,
        wire_format: str = "named_tensors",
        **_: Any,
    ) -> None:
        """Bring the server the trainer's weights; every rank takes part in gathering them."""
        if wire_format != "named_tensors":
            raise ValueError(f"wire_format={wire_format}: known: named_tensors")
        named = {name: value.detach().to("cpu", torch.float32) for name, value in weights}
        if self.leads:
            self.server = self.server or ray.get_actor(_name(self.replica_rank))
            await self.server.load_weights.remote(named, global_steps)
