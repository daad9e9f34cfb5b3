"""Submit the runs of a directory to Slurm: what is missing or failed for the machine's reasons, and nothing twice."""

from __future__ import annotations

import re
import shutil
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import bench
from bench import journal, plans, scheduler, slurm, snapshot
from bench.judge import Verdict
from bench.outlook import Outlook, attempts_of, look, settle
from bench.plans import Plan
from bench.resources import Resources
from bench.retries import Policy, grown
from bench.rundir import RunDir
from bench.scheduler import NoAnswer
from bench.spec import RunSpec

A_LIMIT = re.compile(r"limit|array specification", re.IGNORECASE)  # of sbatch, that fewer jobs may meet
QUEUE_FULL = re.compile("temporarily", re.IGNORECASE)  # MaxJobCount is reached; sbatch itself has tried for two minutes

Runs = Sequence[tuple[RunSpec, Resources]]


@dataclass(frozen=True)
class Options:
    """How to submit: jobs at a time in an array, when to try again, and whether to keep the code as it is now."""

    parallel: int | None = None
    policy: Policy = field(default_factory=Policy)
    snapshot: bool = False


@dataclass
class Round:
    """What a submission did.

    Attributes:
        verdicts: run id -> where it stood before.
        arrays: the plans that are on the batch system now.
        problems: one line for each thing that kept runs from being submitted.
        held_back: runs that were not submitted for these reasons.
    """

    verdicts: dict[str, Verdict]
    arrays: list[Plan] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    held_back: int = 0

    @property
    def submitted(self) -> int:
        """Number of runs."""
        return sum(len(pack) for plan in self.arrays for pack in plan.packs)

    @property
    def active(self) -> bool:
        """Whether the batch system has anything to do."""
        return bool(self.arrays) or any(verdict.active for verdict in self.verdicts.values())


def submit(directory: Path, runs: Runs, options: Options) -> Round:
    """One round; the caller holds the directory (`plan.claimed`).

    Raises:
        scheduler.NoAnswer: what is queued already is unknown, so nothing was submitted.
    """
    directory = directory.resolve()
    found = look(directory)
    if found.tasks is None:
        raise NoAnswer(f"the scheduler does not answer ({found.silent}): nothing more was submitted; sweep again later")
    for plan in found.lost:
        plan.withdraw()
    verdicts = {spec.run_id: found.verdict(RunDir(directory / spec.run_id)) for spec, _ in runs}
    settle(found, verdicts.values())
    round_ = Round(verdicts)
    todo = _prepared(directory, _chosen(found, runs, verdicts, options.policy), round_)
    if todo:
        root = snapshot.take(directory, [spec for spec, _ in todo]) if options.snapshot else import_root()
        arrays = plans.arrays(directory, todo, root, scheduler.longest_array(), options.parallel)
        _submit_all(arrays, found, round_)
    return round_


def import_root() -> Path:
    """Where our packages come from; jobs start there."""
    return Path(bench.__file__).resolve().parents[1]


def _chosen(
    found: Outlook, runs: Runs, verdicts: Mapping[str, Verdict], policy: Policy
) -> list[tuple[RunSpec, Resources]]:
    chosen = []
    for spec, resources in runs:
        attempts = found.journal.get(spec.run_id, [])
        if policy.takes(verdicts[spec.run_id], attempts):
            chosen.append((spec, grown(resources, attempts)))
    return chosen


def _prepared(directory: Path, runs: Iterable[tuple[RunSpec, Resources]], round_: Round) -> Runs:
    ready = []
    for spec, resources in runs:
        try:
            RunDir(directory / spec.run_id).prepare(spec)
            ready.append((spec, resources))
        except OSError as error:
            round_.held_back += 1
            round_.problems.append(f"{spec.run_id}: its directory can't be written to ({error.strerror})")
    return ready


def _submit_all(arrays: Iterable[Plan], found: Outlook, round_: Round) -> None:
    """Submit arrays, smaller ones where a limit of the cluster is in the way; what it has no room for stays behind."""
    waiting, full = deque(arrays), set[int]()  # resources, by identity: each array of a group shares its own
    while waiting:
        plan = waiting.popleft()
        if id(plan.resources) in full:
            round_.held_back += sum(map(len, plan.packs))
            continue
        plan.write()
        try:
            array = slurm.submit(plan)
        except slurm.Refused as why:
            shutil.rmtree(plan.folder)
            if A_LIMIT.search(str(why)) and len(plan.packs) > 1:
                waiting.extendleft(reversed(_halves(plan)))
                continue
            full.add(id(plan.resources))
            full.update(id(other.resources) for other in waiting if QUEUE_FULL.search(str(why)))
            round_.held_back += sum(map(len, plan.packs))
            round_.problems.append(f"sbatch refuses: {why}")
        else:
            journal.submitted(found.directory, attempts_of(plan, array, found.journal))
            round_.arrays.append(plan)


def _halves(plan: Plan) -> list[Plan]:
    middle = len(plan.packs) // 2
    parts = (plan.packs[:middle], plan.packs[middle:])
    return [replace(plan, packs=packs, name=plans.new_name(plan.directory)) for packs in parts]
