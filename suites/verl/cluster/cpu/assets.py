"""A model directory and parquet files for verl, made on the spot from the procedural world and kept in the cache."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import torch
from filelock import FileLock

from suites.verl.cache import fingerprint
from suites.verl.model import Qwen3, to_transformers
from suites.verl.places import cache_dir
from suites.verl.reasoning import PAD, Chain, Problem
from suites.verl.settings import World
from suites.verl.warmstart import warm_start

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TRAIN_ROWS, EVAL_ROWS = 4096, 16
EXTRA_TOKENS = ("Ċ", "<|im_end|>")  # a line's end, in the tokenizer's own letters: verl asks every Qwen for both
TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"  # the bare prompt


def place(world: World) -> Path:
    """Where model and data of a world lie, or will."""
    return cache_dir() / f"verl-{world.chain.name}-{fingerprint(world, [TRAIN_ROWS, EVAL_ROWS, EXTRA_TOKENS])}"


def make(world: World) -> Path:
    """Warm up the model and write everything, unless it is there. The directory appears when it is whole."""
    directory = place(world)
    if not directory.exists():
        policy = warm_start(world)
        with FileLock(f"{directory}.lock"):
            if not directory.exists():
                part = directory.with_suffix(".part")
                shutil.rmtree(part, ignore_errors=True)
                part.mkdir(parents=True)
                model(world, policy).save_pretrained(part)
                tokenizer(world.chain).save_pretrained(part)
                _write_problems(world.chain, part)
                part.rename(directory)
    return directory


def widened(world: World, policy: Qwen3) -> Qwen3:
    """The policy with embeddings for the tokens that verl asks for on top.

    They are copies of the padding's, whose probability training has brought to next to nothing.
    """
    weights = policy.state_dict()
    rows = weights["embedding"][PAD].expand(len(EXTRA_TOKENS), -1)
    wider = Qwen3(world.model, policy.vocab_size + len(EXTRA_TOKENS), policy.positions)
    wider.load_state_dict(weights | {"embedding": torch.cat([weights["embedding"], rows])})
    return wider


def model(world: World, policy: Qwen3) -> Any:
    """The policy, widened, as transformers' Qwen3 that stops where a response does."""
    theirs = to_transformers(widened(world, policy))
    theirs.config.eos_token_id = theirs.generation_config.eos_token_id = world.chain.stop
    return theirs


def tokenizer(chain: Chain) -> PreTrainedTokenizerBase:
    """Qwen's tokenizer over the task's characters: one token each, with the ids that the policy knows."""
    from transformers.models.qwen2.tokenization_qwen2 import Qwen2Tokenizer

    names = ["<|endoftext|>", *chain.alphabet, *EXTRA_TOKENS]
    ends = {"unk_token": "<|endoftext|>", "pad_token": "<|endoftext|>", "eos_token": "<|im_end|>"}
    found = Qwen2Tokenizer(vocab={name: token for token, name in enumerate(names)}, merges=[], **ends)
    found.chat_template = TEMPLATE
    return found


def _write_problems(chain: Chain, directory: Path) -> None:
    import pandas as pd

    for name, rows, held_out in ((f"{chain.name}-train", TRAIN_ROWS, False), (chain.name, EVAL_ROWS, True)):
        rng = Random(f"{name} for verl")
        problems = [chain.problem(rng, held_out) for _ in range(rows)]
        table = [_row(chain, problem, index, name) for index, problem in enumerate(problems)]
        pd.DataFrame(table).to_parquet(directory / f"{name}.parquet")


def _row(chain: Chain, problem: Problem, index: int, name: str) -> dict[str, Any]:
    """One problem in verl's columns."""
    return {
        "data_source": chain.name,
        "prompt": [{"role": "user", "content": problem.prompt}],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": str(chain.answer(problem))},
        "extra_info": {"split": name, "index": index},
    }
