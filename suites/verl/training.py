"""A run of the policy-optimization stage: steps, evaluations at marks of the budget, checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import torch

from strategies import Pool, proxies
from suites.task import Ledger, Point, Request
from suites.verl import checkpoint, diagnostics, gradients
from suites.verl.actor import Actor, Experience, Outcome, log_probs_under
from suites.verl.marks import Marks
from suites.verl.model import Qwen3
from suites.verl.policy_loss import advantages
from suites.verl.rollouts import NoSignal, Rollouts, collect, respond
from suites.verl.sampling import Plan, build_pool, plan
from suites.verl.settings import IDLE_STEPS, Stage, World
from suites.verl.streams import Streams


class Training:
    """One run, continued from its checkpoint if there is one.

    Args:
        world: task and model.
        stage: how it is trained.
        request: the method, the seeds, the budget, and where the checkpoint lies.
        start: the warmed-up policy, trained in place.
    """

    def __init__(self, world: World, stage: Stage, request: Request, start: Qwen3) -> None:
        self.chain, self.stage, self.method = world.chain, stage, request.method
        self.marks = Marks(request.budget or stage.budget, stage.evaluations)
        self.workdir = request.workdir
        self.streams = Streams(request.world_seed, request.draw_seed)
        policy = start.to(_device(stage.device))
        self.reference = deepcopy(policy) if stage.kl_loss_coef else None
        self.actor = Actor(policy, stage, self.chain.max_response)
        held_out = Random(f"evaluation of {self.chain.name}")
        self.questions = [self.chain.problem(held_out, held_out=True) for _ in range(stage.eval_prompts)]
        self.oracle = "grad_norm" in (*proxies.get(self.method.proxy).needs, *self.method.strategy.needs)
        self.progress = checkpoint.restore(self.workdir, policy, self.actor.optimizer)

    def points(self) -> Iterator[Point]:
        """Train to the budget. An evaluation at the first step past each mark, 0 and the whole budget included."""
        while not self.marks.done(self.progress.mark):
            spent = self.progress.ledger.backward
            due = self.marks.due(self.progress.mark, spent)
            yield self._evaluate() if due else self._step()
            self._advance(recorded=self.progress.recorded + 1)
            if due:
                self._advance(mark=self.marks.after(spent))
                # Whoever takes the points comes back for more when they are on record, so the checkpoint never leads.
                checkpoint.save(self.workdir, self.progress, self.actor.policy, self.actor.optimizer)
        checkpoint.remove(self.workdir)

    def _advance(self, **changes: Any) -> None:
        self.progress = replace(self.progress, **changes)

    def _evaluate(self) -> Point:
        rows = len(self.questions) * self.stage.eval_n
        uniforms = self.streams.evaluation(rows, self.chain.max_response).to(self.actor.policy.cos.device)
        answers = respond(self.actor.policy, self.chain, self.questions, uniforms)
        right = answers.scores.reshape(len(self.questions), -1).mean(1)
        return Point(
            step=self.progress.step,
            phase="eval",
            metric=f"acc/{self.chain.name}",
            value=float(right.mean()),
            ledger=self.progress.ledger,
            sd=float(right.std(ddof=1)),
            n=len(right),
            diagnostics={"response_length": float(answers.response_lengths.mean())} | self.progress.study,
        )

    def _step(self) -> Point:
        step, stage = self.progress.step, self.stage
        rollouts, generated = collect(self.actor.policy, self.chain, stage, self.streams, step)
        experience = self._judged(rollouts)
        pool, study = self._pool(experience)
        drawn = plan(self.method, pool, stage.updates, stage.recenter, self.streams.draws(step))
        done = [self.actor.update(experience, update, step) for update in drawn.updates if len(update.indices)]
        self._advance(
            step=step + 1,
            idle=0 if done else self.progress.idle + 1,
            ledger=self._accounted(pool, drawn, generated),
            study=study or self.progress.study,
        )
        if self.progress.idle == IDLE_STEPS:
            raise NoSignal(f"step {step}: nothing was drawn in {IDLE_STEPS} steps; no group has unequal scores")
        return Point(
            step=step + 1,
            phase="train",
            metric="reward",
            value=float(rollouts.scores.mean()),
            ledger=self.progress.ledger,
            n=len(rollouts),
            diagnostics=_summary(pool, drawn, done) | study,
        )

    def _judged(self, rollouts: Rollouts) -> Experience:
        found = advantages(rollouts.scores, rollouts.groups, self.stage.norm_adv_by_std_in_grpo)
        if self.reference is None:
            return Experience(rollouts, found)
        return Experience(rollouts, found, log_probs_under(self.reference, rollouts, self.stage.micro_batch_tokens))

    def _pool(self, experience: Experience) -> tuple[Pool, dict[str, float | None]]:
        """The step's pool, and diagnostics where they are due."""
        observed = experience.rollouts.observed(experience.advantages)
        studied = self.stage.diagnostics > 0 and self.progress.step % self.stage.diagnostics == 0
        if not (studied or self.oracle):
            return build_pool(observed, self.method.proxy), {}
        policy, mode = self.actor.policy, self.stage.loss_agg_mode
        true = gradients.per_sequence(policy, experience, mode, self.chain.max_response)
        pool = build_pool(observed, self.method.proxy, {"grad_norm": gradients.norms(true)})
        rng = self.streams.study(self.progress.step)
        return pool, diagnostics.study(self.method, pool, true, self.stage.updates, rng) if studied else {}

    def _accounted(self, pool: Pool, drawn: Plan, generated: int) -> Ledger:
        """The ledger after a step. Old log-probs come with the samples; the KL term and the oracle read the pool anew.

        Diagnostics are a study's instruments, not the method's cost.
        """
        passes = (self.reference is not None) + self.oracle
        return drawn.accounted(self.progress.ledger, pool, generated, passes * float(pool.costs.sum()))


def _summary(pool: Pool, drawn: Plan, done: list[Outcome]) -> dict[str, float | None]:
    """What a step's Point shows beside the reward."""
    found = diagnostics.draw_quality(drawn) | diagnostics.step_quality(pool, drawn)
    if done:
        for name in ("loss", "grad_norm", "clipped"):
            found[name] = float(np.mean([getattr(outcome, name) for outcome in done]))
    return found


def _device(setting: str) -> torch.device:
    """`auto` is the GPU where there is one."""
    found = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(found if setting == "auto" else setting)
