"""`verl/variance`: how noisy is one update of a method, for its tokens, on fixed pools of rollouts? Nothing is trained.

The pools are rollouts of two policies: `start`, the warmed-up one, and `late`, trained from it to the default budget
without sampling. True per-sequence gradients give the variance of any draw. A draw is as large as a mini-batch, so that
all methods are compared at the same number of draws an update.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from strategies import Method, Pool, parse, proxies
from strategies.types import Floats
from suites.task import Ledger, Metric, Point, Request, Task
from suites.verl.cache import cached, fingerprint
from suites.verl.settings import Stage, Study, World
from suites.verl.warmstart import warm_start

if TYPE_CHECKING:
    from suites.verl.diagnostics import Noise
    from suites.verl.model import Qwen3

POLICIES = ("start", "late")
OTHERS = ("none", "nonzero", "uniform", "inverse-sqrt-cost", "variance", "smoothed", "pps:inner=variance,draws=0.25")
DESIGNS = ("pstar:proxy={}", "pps:proxy={},design=poisson,draws=0.25", "pps:proxy={},draws=0.25")


@dataclass(frozen=True, eq=False)
class Fixed:
    """A pool whose features hold the true norms, and the (N, N) inner products of its gradients."""

    pool: Pool
    gram: Floats

    def under(self, proxy: str) -> Pool:
        """The pool with its norms by a proxy."""
        return self.pool.with_norms(proxies.norms(proxy, self.pool.features))


class VarianceTable(Task):
    """An evaluation each at `start` and `late`: the method's relative variance times tokens.

    Before it come Points that boards leave aside (phase `train`), with the same number for every design and proxy.
    """

    def __init__(self, name: str, world: World, stage: Stage, study: Study) -> None:
        self.name, self.world, self.stage, self.study = name, world, stage, study
        self.metrics = {f"variance_tokens/{policy}": Metric("down", "log") for policy in POLICIES}

    def prepare(self) -> None:
        late(self.world, self.stage)  # which starts from the other

    def run(self, request: Request) -> Iterator[Point]:
        for step, name in enumerate(POLICIES):
            policy = late(self.world, self.stage) if name == "late" else warm_start(self.world)
            pools = self._pools(policy, request)
            for method in _methods():
                noise = self._noise(method, pools, request)
                yield Point(step, "train", f"{name}/{method}", noise.product, Ledger(), diagnostics=asdict(noise))
            own = self._noise(request.method, pools, request)
            shown = asdict(own) | _proxy_quality(pools)
            yield Point(step, "eval", f"variance_tokens/{name}", own.product, Ledger(), diagnostics=shown)

    def _pools(self, policy: Qwen3, request: Request) -> list[Fixed]:
        from suites.verl import gradients
        from suites.verl.actor import Experience
        from suites.verl.policy_loss import advantages
        from suites.verl.rollouts import collect
        from suites.verl.sampling import build_pool
        from suites.verl.streams import Streams

        found, streams = [], Streams(request.world_seed, request.draw_seed)
        for step in range(self.study.pools):
            rollouts, _ = collect(policy, self.world.chain, self.stage, streams, step)
            judged = advantages(rollouts.scores, rollouts.groups, self.stage.norm_adv_by_std_in_grpo)
            experience = Experience(rollouts, judged)
            mode, horizon = self.stage.loss_agg_mode, self.world.chain.max_response
            true = gradients.per_sequence(policy, experience, mode, horizon)
            norms = {"grad_norm": gradients.norms(true)}
            found.append(Fixed(build_pool(rollouts.observed(judged), "oracle", norms), gradients.gram(true)))
        return found

    def _noise(self, method: Method, pools: list[Fixed], request: Request) -> Noise:
        from suites.verl import diagnostics

        rng = np.random.default_rng(request.draw_seed)
        updates = max(1, round(method.draws * self.stage.updates))
        measured = [
            diagnostics.noise(method, fixed.under(method.proxy), fixed.gram, updates, rng, self.study.plans)
            for fixed in pools
        ]
        return diagnostics.mean(measured)


def late(world: World, stage: Stage) -> Qwen3:
    """The policy after the default budget without sampling, seed 0; trained once a machine."""
    stage = replace(stage, evaluations=1, eval_prompts=2)  # nobody looks at these

    def train() -> Qwen3:
        from suites.verl.training import Training

        world_seed, draw_seed = np.random.SeedSequence(0).spawn(2)
        with tempfile.TemporaryDirectory() as workdir:
            request = Request(parse("none"), world_seed, draw_seed, None, Path(workdir))
            training = Training(world, stage, request, warm_start(world))
            for _ in training.points():
                pass
        return training.actor.policy.cpu()

    return cached(f"late-{world.chain.name}-{fingerprint(world, asdict(stage))}", world, train)


def _methods() -> list[Method]:
    """The table's rows: the rules without a proxy or with the paper's, and every design under every proxy."""
    specs = [*OTHERS, *(design.format(proxy.name) for design in DESIGNS for proxy in proxies.entries())]
    return [parse(spec) for spec in specs]


def _proxy_quality(pools: list[Fixed]) -> dict[str, float | None]:
    from suites.verl import diagnostics

    found = [diagnostics.proxy_quality(fixed.pool, fixed.pool.features["grad_norm"]) for fixed in pools]
    means: dict[str, float | None] = {}
    for name in found[0]:
        known = [value for each in found if (value := each[name]) is not None]
        means[name] = float(np.mean(known)) if len(known) == len(found) else None
    return means
