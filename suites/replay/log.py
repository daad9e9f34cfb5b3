"""Rollout logs -> one pool a step. Texts pass by; a few numbers a rollout are kept, so logs may exceed memory."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from strategies.errors import WrongUse
from strategies.types import Pool
from suites.advantages import group_advantages, zero_variance
from suites.replay.columns import MADE
from suites.replay.costs import CHARACTERS, counter
from suites.replay.files import Advance, sources
from suites.replay.reading import LogFile, Manner
from suites.replay.rollout import Rollout


@dataclass(frozen=True)
class Step:
    """One pool of rollouts, its norms |advantage|. `label`: the step, or the file where there are no steps."""

    label: str
    pool: Pool
    groups: int
    singletons: int  # groups of one rollout: no baseline, so advantage 0
    zero_variance: int  # rollouts in groups of equal rewards, singletons among them


@dataclass(frozen=True)
class Log:
    """What was read. `units`: what costs are made of; `skipped`: how many bad records were dropped."""

    steps: tuple[Step, ...]
    units: tuple[str, ...]
    skipped: int

    @property
    def by_characters(self) -> bool:
        """Whether characters stand in for tokens, somewhere in the log."""
        return CHARACTERS.unit in self.units

    @property
    def features(self) -> set[str]:
        """What is known of every rollout, for proxies and strategies to read."""
        return set.intersection(*(set(step.pool.features) for step in self.steps))


@dataclass
class _Growing:
    """A pool while it is read."""

    label: str
    costs: array[float] = field(default_factory=lambda: array("d"))
    lengths: array[float] = field(default_factory=lambda: array("d"))
    rewards: array[float] = field(default_factory=lambda: array("d"))
    groups: array[int] = field(default_factory=lambda: array("q"))
    ids: dict[Any, int] = field(default_factory=dict)
    features: dict[str, array[float]] = field(default_factory=dict)

    def add(self, rollout: Rollout, prompt: float, response: float) -> None:
        self.costs.append(prompt + response)
        self.lengths.append(response)
        self.rewards.append(rollout.reward)
        self.groups.append(self.ids.setdefault(rollout.group, len(self.ids)))
        for name, value in rollout.features.items():
            self.features.setdefault(name, array("d")).append(value)

    def close(self) -> Step:
        rewards, groups = np.array(self.rewards), np.array(self.groups)
        advantage = group_advantages(rewards, groups)
        made = {"advantage": advantage, "length": np.array(self.lengths), "reward": rewards}
        # a feature that only some of a step's files have is no feature of the step
        own = {name: np.array(values) for name, values in self.features.items() if len(values) == len(rewards)}
        sizes = np.bincount(groups)
        return Step(
            label=self.label,
            pool=Pool(np.array(self.costs), np.abs(advantage), groups, own | made),
            groups=len(sizes),
            singletons=int((sizes == 1).sum()),
            zero_variance=int(zero_variance(rewards, groups).sum()),
        )


def read(
    paths: Iterable[str | Path],
    columns: Mapping[str, str] | None = None,
    tokenizer: str | None = None,
    skip_bad: bool = False,
    advance: Advance = lambda _: None,
) -> Log:
    """The pools of one or several logs, files or folders.

    A pool is one step of the files in one folder (shards of a step belong together, two runs' folders do not), or a
    whole file where it has no steps. Steps may interleave.

    Args:
        paths: see `files.sources`.
        columns: role or feature -> column, over those found by their common names.
        tokenizer: see `costs.counter`; without one, the log's token counts, else characters.
        skip_bad: drop and count records that hold no rollout instead of refusing the log.
        advance: told the bytes read.

    Raises:
        WrongUse: the first bad record (with file and line), a missing column, an empty file, or no group in which the
            rewards differ: then every advantage is 0 and there is nothing to sample.
    """
    manner = Manner(columns or {}, counter(tokenizer), bool(tokenizer), skip_bad)
    growing: dict[tuple[Path, Any], _Growing] = {}
    units: dict[str, None] = {}  # a set in order of appearance
    skipped = 0
    for path in sources(paths):
        file = LogFile(path, manner)
        for rollout, prompt, response in file.rollouts(advance):
            whole = rollout.step is None
            key = (path, None) if whole else (path.parent, rollout.step)
            if key not in growing:
                growing[key] = _Growing(path.name if whole else f"step {rollout.step}")
            growing[key].add(rollout, prompt, response)
        units[file.unit] = None
        skipped += file.skipped
    log = Log(tuple(growing[key].close() for key in _in_order(growing)), tuple(units), skipped)
    _refuse_useless(log)
    return log


def features(paths: Iterable[str | Path], columns: Mapping[str, str]) -> set[str]:
    """What a log knows of each rollout, by a look at its beginning.

    Raises:
        WrongUse: no rollout there, or a missing column.
    """
    file = LogFile(sources(paths)[0], Manner(columns, CHARACTERS, tokenize=False, skip_bad=True))
    first, _, _ = next(file.rollouts(lambda _: None))
    return {*first.features, *MADE}


def _in_order(keys: Collection[tuple[Path, Any]]) -> list[tuple[Path, Any]]:
    """Folders as they came; within one, numbered steps by number, others as they came."""
    folders = {folder: place for place, folder in enumerate(dict.fromkeys(folder for folder, _ in keys))}
    return sorted(keys, key=lambda key: (folders[key[0]], key[1] if isinstance(key[1], int | float) else float("inf")))


def _refuse_useless(log: Log) -> None:
    if any(step.pool.norms.any() for step in log.steps):
        return
    groups, singletons = (sum(getattr(step, name) for step in log.steps) for name in ("groups", "singletons"))
    if singletons == groups:
        raise WrongUse(
            f"no usable group: each of the {groups} groups has one rollout, so no advantage can be made; "
            "say which column names the prompt with --columns group=NAME"
        )
    raise WrongUse(
        f"no usable group: the rewards are equal within each of the {groups} groups, so every advantage is 0"
    )
