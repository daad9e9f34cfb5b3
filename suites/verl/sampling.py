"""Cost-aware policy optimization: from rollouts to the weighted updates of a step. Shared by every engine; numpy only.

The pool of a step is all of its rollouts. A method draws from it once; the draw is laid over the U updates that any
method makes (`suites.updates`). An engine minimizes, for each update, sum_k U w_k L_k with L_k a sequence's own loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from strategies import Draw, Method, Pool, proxies
from strategies.errors import WrongUse
from strategies.types import Bools, Floats, Ints
from suites.task import Ledger
from suites.updates import Recenter, Update, recentring, split

SEQUENCE_LOSSES = ("seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm")


@dataclass(frozen=True, eq=False)
class Observed:
    """What is known of N rollouts before any backward pass.

    prompt_lengths, response_lengths: (N,) tokens. groups: (N,) prompt ids. scores: (N,) rewards. advantages: (N,).
    log_probs: (N, R) of the sampled tokens under the policy that sampled them. mask: (N, R) which of them are real.
    entropies: (N, R) of that policy at each token, or None where the engine does not compute them.
    """

    prompt_lengths: Ints
    response_lengths: Ints
    groups: Ints
    scores: Floats
    advantages: Floats
    log_probs: NDArray[np.floating[Any]]
    mask: Bools
    entropies: NDArray[np.floating[Any]] | None = None

    @property
    def costs(self) -> Floats:
        """(N,) prompt and response tokens: what one pass over a rollout takes."""
        return (self.prompt_lengths + self.response_lengths).astype(np.float64)

    def features(self) -> dict[str, Floats]:
        """What proxies and strategies may read; (N,) each. T is the response length, p_t a sampled token's probability.

        surprise = mean_t(1 - p_t), score_norm = sqrt(sum_t (1 - p_t)^2) / T, mean_entropy = mean_t H_t.
        """
        length = np.maximum(self.response_lengths, 1).astype(np.float64)
        surprise = np.where(self.mask, -np.expm1(self.log_probs.astype(np.float64)), 0.0)
        found = {
            "advantage": self.advantages,
            "length": self.response_lengths.astype(np.float64),
            "reward": self.scores,
            "surprise": surprise.sum(1) / length,
            "score_norm": np.sqrt((surprise**2).sum(1)) / length,
        }
        if self.entropies is not None:
            found["mean_entropy"] = np.where(self.mask, self.entropies, 0.0).sum(1, dtype=np.float64) / length
        return found


def build_pool(rollouts: Observed, proxy: str, more: Mapping[str, Floats] | None = None) -> Pool:
    """The pool of a step: norms by `proxy`, costs in tokens.

    Args:
        rollouts: the step's rollouts.
        proxy: a name from `strategies.proxies`.
        more: further features, e.g. the measured `grad_norm` that the proxy `oracle` needs.

    Raises:
        WrongUse: the proxy needs a feature that is not there.
    """
    features = rollouts.features() | dict(more or {})
    norms = proxies.norms(proxy, features, "the engine's pool")
    return Pool(rollouts.costs, norms, rollouts.groups, features)


@dataclass(frozen=True, eq=False)
class Plan:
    """The draw of a step and the updates it is laid over; some may be empty, which an engine skips and logs."""

    draw: Draw
    updates: list[Update]

    @property
    def unique_share(self) -> float:
        """Distinct rollouts among all that were drawn; 1 where nothing was."""
        return len(np.unique(self.draw.indices)) / len(self.draw) if len(self.draw) else 1.0

    @property
    def empty(self) -> int:
        """Updates that nothing was drawn for."""
        return sum(not len(update.indices) for update in self.updates)

    def accounted(self, before: Ledger, pool: Pool, generated: float, forward: float) -> Ledger:
        """The ledger after this step; `generated` and `forward` are the step's own tokens of these kinds."""
        return Ledger(
            generated=before.generated + generated,
            forward=before.forward + forward,
            backward=before.backward + sum(update.tokens(pool.costs) for update in self.updates),
            backward_drawn=before.backward_drawn + sum(update.tokens_drawn(pool.costs) for update in self.updates),
            draws=before.draws + len(self.draw),
        )


def plan(method: Method, pool: Pool, updates: int, recenter: Recenter, rng: np.random.Generator) -> Plan:
    """Draw once and split over `updates` optimizer updates, each of them an estimate of the full-batch gradient.

    With recenter=`support` the weights are divided by the share of the pool that can be drawn at all: that multiplies
    the expected gradient by a number known before the draw.
    """
    draw = method.draw(pool, rng)
    share = recentring(method.strategy, pool, recenter)
    return Plan(draw, split(draw, updates, rng, share))


def sequence_weights(update: Update, mini_batch: float) -> Floats:
    """(k,) verl's `rollout_is_weights` of an update: the loss is their sum with the sequence losses / `mini_batch`.

    `mini_batch` = N / U is the fixed denominator (verl's `global_batch_size`), whatever the update's own size. They are
    all 1 where every rollout is taken once: verl's plain update.
    """
    return update.weights * mini_batch


def refuse(method: Method, loss_agg_mode: str, entropy_coeff: float = 0.0, kl_loss_coef: float = 0.0) -> None:
    """Refuse what would be biased without a word.

    Raises:
        WrongUse: a loss whose denominator is the drawn mini-batch's own number of tokens, or an entropy or KL term that
            the method's undrawable rollouts would leave out.
    """
    if loss_agg_mode not in SEQUENCE_LOSSES:
        raise WrongUse(
            f"loss_agg_mode={loss_agg_mode}: its denominator depends on what is drawn, which biases the gradient; "
            f"known: {', '.join(SEQUENCE_LOSSES)}"
        )
    term = "entropy_coeff" if entropy_coeff else "kl_loss_coef" if kl_loss_coef else ""
    if term and not _draws_everything(method):
        raise WrongUse(
            f"{term} with {method}: rollouts that it never draws (advantage 0) would be missing from that term; "
            f"set {term}=0 or take smoothed:alpha=0.01"
        )


def _draws_everything(method: Method) -> bool:
    """Whether a rollout with advantage 0 can be drawn; found by asking, on a pool that has one."""
    norms = np.array([0.0, 1.0, 2.0])
    features = dict.fromkeys(method.strategy.needs, norms)
    return bool(method.strategy.support(Pool(np.array([3.0, 2.0, 1.0]), norms, features=features)).all())
