"""Between verl's rows and a method's plan: what is known of a step's rollouts, and the rows that its updates take.

verl hands an update to the actor as rows in one order: rank by rank, and within a rank update by update, each with as
many rows as any other. Updates of a plan differ in size, so the smaller ones are filled up with rows of two tokens that
count for nothing. No ray, no queue here: tensors in, tensors out.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from strategies.types import Floats, Ints
from suites.advantages import zero_variance
from suites.verl.sampling import Observed, Plan, sequence_weights

FILLER_TOKENS = 2  # one of a prompt, one of a response; the least that verl takes
FILLER = -1
WEIGHTS = "rollout_is_weights"  # verl's name for a factor on each token's policy loss
KNOWN_BY = ("rm_scores", "advantages", "old_log_probs", "entropy", "response_mask", WEIGHTS)
# What verl's engine and loss read of a row.
TRAINED_ON = (
    *("input_ids", "position_ids", "prompts", "responses", "response_mask", "loss_mask"),
    *("old_log_probs", "rollout_log_probs", "ref_log_prob", "advantages", WEIGHTS),
)


@dataclass(frozen=True, eq=False)
class Rows:
    """A step's rollouts as the queue holds them, without verl's own padding.

    keys: `{prompt}_{session}_{output}`, (N,). places: (N,) where they stood in verl's batch. observed: what a method
    gets to know. correction: (N, R) weights that verl's rollout correction has put there, None without it.
    """

    keys: list[str]
    places: Ints
    observed: Observed
    correction: Tensor | None

    @property
    def response_lengths(self) -> Ints:
        """(N,) tokens of each response."""
        return self.observed.response_lengths


def real(tags: Sequence[Mapping[str, Any]]) -> Ints:
    """Positions of the rollouts among a batch's rows; the others are verl's padding."""
    return np.flatnonzero([not tag.get("is_padding", False) for tag in tags])


def read(keys: Sequence[str], tags: Sequence[Mapping[str, Any]], fields: TensorDict, places: Ints) -> Rows:
    """What is known of the rollouts at `places` of a batch.

    Args:
        keys: of the batch.
        tags: of the batch: `prompt_len`, `response_len`.
        fields: of the rollouts only, in the order of `places`: those of KNOWN_BY that there are, nested.
        places: of the rollouts in the batch.
    """
    chosen, tags = [keys[place] for place in places], [tags[place] for place in places]
    groups = np.unique([key.rsplit("_", 2)[0] for key in chosen], return_inverse=True)[1]
    padded = {name: pad_sequence(fields[name].unbind(), batch_first=True) for name in KNOWN_BY if name in fields}
    scores = padded["rm_scores"].sum(-1).double().numpy()
    mask = padded["response_mask"].bool()
    advantages = (padded["advantages"] * mask).sum(-1).double() / mask.sum(-1).clamp(min=1)
    found = advantages.numpy()
    found[zero_variance(scores, groups)] = 0.0  # a float deviation of equal scores need not be 0
    entropy = padded.get("entropy")
    observed = Observed(
        prompt_lengths=np.array([tag["prompt_len"] for tag in tags]),
        response_lengths=np.array([tag["response_len"] for tag in tags]),
        groups=groups,
        scores=scores,
        advantages=found,
        log_probs=padded["old_log_probs"].numpy(),
        mask=mask.numpy(),
        entropies=None if entropy is None else entropy.numpy(),
    )
    return Rows(chosen, places, observed, padded.get(WEIGHTS))


@dataclass(frozen=True, eq=False)
class Layout:
    """The rows of a step's updates in verl's order; n of them.

    rows: (n,) which rollout, or FILLER. weights: (n,) of each, 0 for fillers. size: rows of each update, a multiple of
    the ranks. updates: how many. tokens: of the fillers, together.
    """

    rows: Ints
    weights: Floats
    size: int
    updates: int

    @property
    def tokens(self) -> int:
        """Tokens that the fillers cost."""
        return FILLER_TOKENS * int((self.rows == FILLER).sum())

    @property
    def repeated(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """(n,) which rows are a rollout's second or later (it is in several updates): those need a copy."""
        later = np.ones(len(self.rows), dtype=np.bool_)
        later[np.unique(self.rows, return_index=True)[1]] = False
        found: np.ndarray[Any, np.dtype[np.bool_]] = later & (self.rows != FILLER)
        return found


def lay_out(plan: Plan, costs: Floats, ranks: int, mini_batch: float) -> Layout:
    """Lay the updates of a plan over the ranks, those that drew nothing left out.

    An update's rollouts are dealt out by falling cost, back and forth, so that ranks get about equal tokens.

    Args:
        plan: of the step.
        costs: (N,) tokens of each rollout.
        ranks: data-parallel ranks.
        mini_batch: N / U, verl's global batch size, which its loss divides by.
    """
    updates = [update for update in plan.updates if len(update.indices)]
    if not updates:
        return Layout(np.empty(0, dtype=np.int64), np.empty(0), 0, 0)
    each = max(-(-len(update.indices) // ranks) for update in updates)
    rows = np.full((ranks, len(updates), each), FILLER)
    weights = np.zeros(rows.shape)
    for number, update in enumerate(updates):
        order = np.argsort(-costs[update.indices], kind="stable")
        turn, place = np.divmod(np.arange(len(order)), ranks)
        rank = np.where(turn % 2, ranks - 1 - place, place)
        rows[rank, number, turn] = update.indices[order]
        weights[rank, number, turn] = sequence_weights(update, mini_batch)[order]
    return Layout(rows.reshape(-1), weights.reshape(-1), each * ranks, len(updates))


def token_weights(rows: Rows, layout: Layout, at: Ints) -> Tensor:
    """Nested (len(at), response) token weights of the layout's rows number `at`, times verl's own correction."""
    found = []
    for number in at:
        row = layout.rows[number]
        length = 1 if row == FILLER else int(rows.response_lengths[row])
        value = torch.full((length,), float(layout.weights[number]), dtype=torch.float32)
        own = rows.correction is not None and row != FILLER
        found.append(value * rows.correction[row, :length] if own else value)  # type: ignore[index]
    return nested(found)


def filler(fields: Iterable[str], token: int) -> dict[str, Tensor]:
    """A row of two tokens and nothing to learn, in these fields of verl's."""
    integers = {name: torch.full((1,), token) for name in ("prompts", "responses")}
    integers |= {"input_ids": torch.full((FILLER_TOKENS,), token), "position_ids": torch.arange(FILLER_TOKENS)}
    integers |= {name: torch.zeros(1, dtype=torch.int64) for name in ("response_mask", "loss_mask")}
    return {name: integers.get(name, torch.zeros(1)) for name in fields}


def nested(values: Sequence[Tensor]) -> Tensor:
    """A jagged tensor, verl's form for rows of different lengths."""
    return torch.nested.as_nested_tensor(list(values), layout=torch.jagged)


def fresh(number: int) -> list[str]:
    """Keys for copies, in verl's form and never seen before."""
    name = uuid.uuid4().hex
    return [f"copy{name}_{place}_0" for place in range(number)]
