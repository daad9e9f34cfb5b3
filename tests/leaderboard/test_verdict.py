"""Sentences and the paper's claims say what the rows say, and no more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leaderboard.claims import claims, paper
from leaderboard.row import Row
from leaderboard.verdict import estimate, percent, verdict

BASE = Row("verl/grpo@small", "acc", "none", "none", False, 5, "ok", saving=0.0, tier=2, replicates=5, replicate="seed")
WIN = replace(BASE, method="pstar", saving=0.32, saving_low=0.3, saving_high=0.341, tier=1, grey=False)


@pytest.mark.parametrize(("share", "text"), [(0.123, "12%"), (-0.123, "−12%"), (-0.001, "0%"), (None, "–")])
def test_percent(share: float | None, text: str) -> None:
    assert percent(share) == text


def test_estimate_marks_bounds() -> None:
    assert estimate(WIN) == "32% [30, 34]"
    assert estimate(replace(WIN, bound=True)) == "≤ 32% [30, 34]"
    assert estimate(replace(WIN, saving_low=None)) == "32%"


def test_a_winner_a_tie_and_no_winner() -> None:
    assert verdict([BASE, WIN]) == (
        "pstar needs 32% fewer tokens than none (95% interval 30% to 34%, 5 seeds); ahead of every other strategy."
    )
    dear = replace(WIN, saving_by_axis={"backward": 0.32, "generated": -0.872})
    assert verdict([BASE, dear]).endswith("every other strategy. To get there it generates 87% more tokens.")
    assert verdict([BASE, replace(dear, saving_by_axis={"generated": -0.04})]) == verdict([BASE, WIN])
    other = replace(WIN, method="nonzero", saving=0.3)
    assert verdict([BASE, WIN, other]).endswith("a tie with 1 other.")
    assert verdict([BASE, replace(WIN, grey=True, tier=2)]).startswith("No strategy saves tokens beyond doubt")
    assert verdict([BASE, replace(WIN, saving_low=None, tier=None, grey=None)]).startswith("One seed says nothing")


def test_claims_match_setting_and_strategy() -> None:
    found = claims([WIN, replace(WIN, method="smoothed:alpha=0.05")], [])
    assert found
    assert all(claim.claim.startswith("pstar") and claim.setting.startswith("grpo,") for claim in found)
    assert all(claim.ours == "32% [30, 34]" for claim in found)
    assert len(paper()["token_savings"]) == 13


def test_claims_are_answered_by_their_own_rule_too() -> None:
    own = {"own_peak_saving": 0.1, "own_peak_saving_low": -0.05, "own_peak_saving_high": 0.2}
    row = replace(WIN, peak_saving=0.4, hits=4, pairs=5, **own)
    ours = {claim.ours for claim in claims([row], [])}
    assert ours == {
        "32% [30, 34]; to the baseline's peak 40% (4 of 5 seeds reach it)",
        "32% [30, 34]; each to 99% of its own peak 10% [−5, 20]",
    }
