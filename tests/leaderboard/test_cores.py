"""Jobs on all cores: in order, with their errors, and without what they closed over being sent."""

from __future__ import annotations

import os
from functools import partial

import pytest

from leaderboard.cores import spread


def test_results_come_in_order_of_the_jobs() -> None:
    unsendable = open(os.devnull)  # noqa: SIM115
    try:
        assert list(spread([lambda i=i: (i, unsendable.name) for i in range(20)])) == [
            (i, os.devnull) for i in range(20)
        ]
    finally:
        unsendable.close()


@pytest.mark.parametrize("number", [1, 5])
def test_an_error_in_a_job_is_the_callers(number: int) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        list(spread([partial(int, "x")] * number))


def test_no_jobs() -> None:
    assert list(spread([])) == []
