"""`replay/<name>`: a rollout log as a task of a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from strategies.method import Method, parse
from suites.replay import columns
from suites.replay.comparison import Row, compare, lacking
from suites.replay.log import Log, features, read
from suites.replay.terms import Terms
from suites.task import Ledger, Metric, Point, Request, Task

SHIPPED = Path(__file__).with_name("data") / "synthetic.jsonl"
METRIC = "tokens_share"


@dataclass(frozen=True)
class Settings:
    """Settings of a replay task, as of `costaware predict`: empty or 0 is the default there.

    `rollouts` is a file or folder; empty is the synthetic log that ships with the package.
    """

    rollouts: str = ""
    columns: str = ""
    tokenizer: str = ""
    skip_bad: bool = False
    baseline: str = "none"
    updates: int = 4
    minibatch: int = 0
    norms: str = ""


class Replay(Task):
    """Predicts a method's tokens on one log: a single point, with all quantities as its diagnostics."""

    metrics: Mapping[str, Metric] = {METRIC: Metric("down", "linear")}

    def __init__(self, name: str, settings: Settings) -> None:
        self.name, self._settings = name, settings
        self._columns = columns.parse(settings.columns)
        self._paths = [Path(settings.rollouts) if settings.rollouts else SHIPPED]
        self._terms(seed=0)  # what can't be compared on is refused now

    def _terms(self, seed: int) -> Terms:
        chosen = self._settings
        return Terms(parse(chosen.baseline), chosen.updates, chosen.minibatch, chosen.norms, seed)

    def check(self, method: Method) -> None:
        lacking(method, features(self._paths, self._columns))

    def run(self, request: Request) -> Iterator[Point]:
        log = read(self._paths, self._columns, self._settings.tokenizer, self._settings.skip_bad)
        seed = int(request.draw_seed.generate_state(1)[0])
        (row,) = compare(log, [request.method], self._terms(seed))
        yield _point(log, row)


def _point(log: Log, row: Row) -> Point:
    tokens = sum(float(step.pool.costs.sum()) for step in log.steps)
    ledger = Ledger(
        generated=tokens,
        backward=row.tokens_share * tokens,
        backward_drawn=row.tokens_share_drawn * tokens,
        draws=row.draws,
    )
    return Point(len(log.steps), "eval", METRIC, row.tokens_share, ledger, diagnostics=row.quantities)
