"""What the paper says beside what was measured here, where the settings are the same kind of thing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from leaderboard.curves import Floats
from leaderboard.intervals import ALPHA, p_value
from leaderboard.race import Entry, Race
from leaderboard.row import Row
from leaderboard.stats import Ratios
from leaderboard.tiers import holm
from leaderboard.verdict import estimate, percent

STUDY = "synthetic/least-squares"  # the task of the paper's section 4.4
COMPARED = ("uniform", "variance", "pstar")  # and its three approaches


@dataclass(frozen=True)
class Claim:
    """One claim of the paper and our answer, in words; `task` says where ours was measured."""

    setting: str
    claim: str
    task: str
    ours: str


@cache
def paper() -> dict[str, Any]:
    """The package's claims.json."""
    tree: dict[str, Any] = json.loads((files("leaderboard") / "claims.json").read_text())
    return tree


def claims(rows: Sequence[Row], races: Sequence[Race]) -> list[Claim]:
    """Every claim that some row of this board speaks to."""
    return [*_synthetic(races), *_training(rows)]


def _training(rows: Sequence[Row]) -> list[Claim]:
    found = []
    for claim in paper()["token_savings"]:
        for row in rows:
            if _same(claim, row) and row.saving is not None:
                said = "no saving claimed" if claim["saving"] is None else f"{claim['saving']:.0%} to {claim['target']}"
                where = f"{claim['setting']}, {claim['benchmark']}, {claim['model']}"
                ours = "; ".join(filter(None, (estimate(row), _by_its_rule(claim["target"], row))))
                found.append(Claim(where, f"{row.method}: {said}", f"{row.task}, {row.metric}", ours))
    return found


def _by_its_rule(target: str, row: Row) -> str:
    """Our figure by the rule that the claim follows, beside the threshold mean; empty where there is none."""
    if target == "baseline peak" and row.hits is not None:
        return f"to the baseline's peak {percent(row.peak_saving)} ({row.hits} of {row.pairs} seeds reach it)"
    if target != "baseline peak" and row.own_peak_saving is not None:
        low, high = percent(row.own_peak_saving_low).rstrip("%"), percent(row.own_peak_saving_high).rstrip("%")
        return f"each to 99% of its own peak {percent(row.own_peak_saving)} [{low}, {high}]"
    return ""


def _same(claim: dict[str, Any], row: Row) -> bool:
    """Same setting and strategy; on another model and benchmark, unless the row names them, which the table says."""
    setting = row.task.partition("/")[2].partition("@")[0]
    alpha = f":alpha={claim['alpha']}" if "alpha" in claim else ""
    benchmark = (row.metric or "").partition("/")[2]
    same_benchmark = benchmark in ("", claim["benchmark"]) or (row.headline and "@paper" not in row.task)
    return (
        row.task.startswith("verl/")
        and not row.aa
        and setting == claim["setting"]
        and row.method == claim["strategy"] + alpha
        and same_benchmark
    )


def _synthetic(races: Sequence[Race]) -> list[Claim]:
    texts = paper()["synthetic"]["claims"]
    studies = [race for race in races if race.task == STUDY and race.trials]
    found = []
    for race in studies:
        for text, best, axis in zip(texts, ("pstar", "variance"), ("backward", "step"), strict=True):
            if (best, 0) in race.series:
                found.append(
                    Claim("section 4.4", text, f"{race.task}, {race.metric}", _first_everywhere(race, best, axis))
                )
    return found


def _first_everywhere(race: Race, best: str, axis: str) -> str:
    """At how many levels `best` costs least of the paper's approaches: paired t tests over trials, Holm over all."""
    ratios = race.ratios(axis)
    others: list[Entry] = [(name, 0) for name in COMPARED if name != best and (name, 0) in ratios]
    if (best, 0) not in ratios or not others:
        return "not measured here"
    tests = [(i, d) for other in others for i in range(15) if len(d := _difference(ratios, other, (best, 0), i)) > 1]
    p = holm(np.array([p_value(d) for _, d in tests]))
    every = {i for i, _ in tests}
    unsure = {i for (i, _), q in zip(tests, p, strict=True) if q > ALPHA}
    wrong = {i for (i, d), q in zip(tests, p, strict=True) if q <= ALPHA and d.mean() < 0}
    right = every - unsure - wrong
    against = " and ".join(name for name, _ in others)
    return (
        f"{best} against {against}: least beyond doubt at {len(right)} of {len(every)} levels, "
        f"undecided at {len(unsure - wrong)}, not least at {len(wrong)}"
    )


def _difference(ratios: Mapping[Entry, Ratios], other: Entry, best: Entry, level: int) -> Floats:
    """(n,) log cost of `other` less that of `best` at one level, over the replicates that have both."""
    _, i, j = np.intersect1d(ratios[other].keys, ratios[best].keys, return_indices=True)
    d = ratios[other].ratio[i, level] - ratios[best].ratio[j, level]
    return np.asarray(d[np.isfinite(d)])
