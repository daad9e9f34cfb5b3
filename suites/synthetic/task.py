"""A synthetic task: one world, one method, all trials together, measured at log-spaced steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch
from torch import Tensor

from strategies.errors import WrongUse
from strategies.method import Method
from strategies.types import Floats, IIDStrategy, Pool
from suites.synthetic import crossings, diagnostics, losses
from suites.synthetic.crossings import Crossings
from suites.synthetic.engine import BLOCK, Problem, Sgd, StepSize
from suites.synthetic.measure import excess_error, gradient_norm2
from suites.synthetic.optimum import optimum
from suites.synthetic.recipes import Recipe
from suites.synthetic.sampling import Stream, stream
from suites.synthetic.settings import Settings
from suites.synthetic.worlds import World
from suites.task import Ledger, Metric, Point, Request, Task

LOSSES = {
    "squared": losses.SQUARED,
    "absolute": losses.ABSOLUTE,
    "logistic": losses.LOGISTIC,
    "welsch": losses.WELSCH,
}
PASSES = 50  # default budget in passes through a pool at the mean cost of 500
MEAN_COST = 500.0
PER_DECADE = 24  # measurements a decade of steps
DOWN = Metric("down", "log")


class SyntheticTask(Task):
    """One recipe with its settings. Budget: tokens that the mean trial spends; a cheap method takes more steps."""

    def __init__(self, name: str, recipe: Recipe, settings: Settings) -> None:
        self.name, self.recipe, self.settings = name, recipe, settings
        self.default_budget: float = PASSES * MEAN_COST * settings.n
        self.loss = LOSSES[recipe.loss]
        names = ("excess_error", "excess_error_last") if recipe.convex else ("grad_norm2",)
        self.metrics: Mapping[str, Metric] = dict.fromkeys(names, DOWN)

    def check(self, method: Method) -> None:
        """Refuse what has no meaning here: proxies and features of rollouts, draw sizes of i.i.d. methods, no GPU."""
        if method.proxy != "advantage":
            raise WrongUse(f"{method}: {self.name} knows its gradient norms; leave out proxy={method.proxy}")
        if method.strategy.needs:
            raise WrongUse(f"{method}: {self.name} has no feature {method.strategy.needs[0]}; it has costs and norms")
        if isinstance(method.strategy, IIDStrategy) and method.draws != 1:
            raise WrongUse(f"{method}: {self.name} draws one component a step; draws changes nothing for i.i.d. draws")
        if self.settings.device == "cuda" and not torch.cuda.is_available():
            raise WrongUse("device=cuda: no GPU here; use device=cpu or device=auto")

    def pool(self, world: World) -> Pool:
        """Costs and Lipschitz constants G_i = |a_i| sup |l'| on the ball."""
        lengths = world.lengths
        return Pool(world.costs, lengths * self.loss.slope_bound(lengths, world.targets, self.recipe.radius))

    def step_size(self, world: World) -> StepSize:
        """eta_t by the recipe's schedule; mu and L are the extreme eigenvalues of the quadratic part's Hessian."""
        if self.recipe.schedule == "convex":
            return StepSize(self.recipe.radius, 0.5, by_moment=True)
        curvatures = np.linalg.eigvalsh(world.rows.T @ world.rows / len(world.rows))
        if self.recipe.schedule == "strongly-convex":
            return StepSize(1 / curvatures[0], 1.0, by_moment=False)
        start = float(self.loss.value(torch.zeros(len(world.rows)), torch.as_tensor(world.targets)).mean())
        return StepSize(math.sqrt(2 * start / (curvatures[-1] * self.loss.smoothness)), 0.5, by_moment=True)

    def run(self, request: Request) -> Iterator[Point]:
        """Points at step 0, at log-spaced steps, and at the first step where the mean cost has reached the budget."""
        device = _device(self.settings.device)
        world = self.recipe.world(self.settings, request.world_seed)
        pool = self.pool(world)
        draws = stream(request.method, pool, self.settings.trials, request.draw_seed, device)
        problem = Problem(world, self.loss, self.recipe.radius, getattr(torch, self.settings.dtype), device)
        sgd = Sgd(problem, self.step_size(world), draws.second_moment, self.settings.trials)
        measures = self._measures(world, sgd)
        reached = {metric: Crossings(self.settings.trials) for metric in self.metrics}
        of_theory = diagnostics.of_theory(draws, pool)
        for _ in _stops(sgd, draws, self.default_budget if request.budget is None else request.budget):
            cost = sgd.moments.cost.cpu().numpy()
            for metric, measure in measures.items():
                values = measure().cpu().numpy()
                reached[metric].update(values, cost, sgd.steps)
                yield self._point(metric, values, sgd, pool, of_theory)
        crossings.write(request.workdir / "trials.parquet", reached)

    def _measures(self, world: World, sgd: Sgd) -> dict[str, Callable[[], Tensor]]:
        device = sgd.x.device
        if not self.recipe.convex:
            norm2 = gradient_norm2(world, self.loss, device)
            return dict(zip(self.metrics, [lambda: norm2(sgd.x)], strict=True))
        excess = excess_error(world, self.loss, optimum(world, self.loss, self.recipe.radius), device)
        return dict(zip(self.metrics, [lambda: excess(sgd.mean), lambda: excess(sgd.x)], strict=True))

    def _point(self, metric: str, values: Floats, sgd: Sgd, pool: Pool, of_theory: diagnostics.Values) -> Point:
        value, steps, count = float(values.mean()), sgd.steps, len(values)
        found = of_theory | diagnostics.measured(sgd.moments, steps)
        if self.recipe.schedule == "convex" and metric == "excess_error":  # the theorems are about the mean iterate
            found |= diagnostics.bounds(of_theory, pool, value, steps, self.recipe.radius, self.recipe.lower_bound)
        spent = float(sgd.moments.cost.mean())
        ledger = Ledger(backward=spent, backward_drawn=spent, draws=float(steps))
        sd = float(values.std(ddof=1)) if count > 1 else None
        return Point(steps, "eval", metric, value, ledger, sd, count, found)


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(name)


def _stops(sgd: Sgd, draws: Stream, budget: float) -> Iterator[None]:
    """Advance to each step that is measured. Steps are log-spaced, so that every decade of error is seen alike."""
    yield
    while (spent := float(sgd.moments.cost.mean())) < budget:
        per_step = spent / sgd.steps if sgd.steps else float(draws.mean_cost.mean())
        last = sgd.steps + math.ceil((budget - spent) / per_step)  # where the budget is expected to be reached
        stop = min(last, max(sgd.steps + 1, math.floor(sgd.steps * 10 ** (1 / PER_DECADE))))
        while sgd.steps < stop:
            sgd.advance(*draws.take(min(BLOCK, stop - sgd.steps)))
        yield
