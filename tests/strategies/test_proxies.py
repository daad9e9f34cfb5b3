"""What stands in for a gradient norm, against its formula."""

from __future__ import annotations

import numpy as np
import pytest

from strategies import WrongUse, proxies

FEATURES = {
    "advantage": np.array([-2.0, 0.0, 1.0]),
    "surprise": np.array([0.5, 0.2, 0.1]),
    "score_norm": np.array([0.3, 0.2, 0.1]),
    "mean_entropy": np.array([4.0, 1.0, -1e-9]),
    "length": np.array([4, 9, 0]),
    "grad_norm": np.array([7.0, 0.0, 1.0]),
}


@pytest.mark.parametrize(
    ("name", "norms"),
    [
        ("advantage", [2, 0, 1]),
        ("surprise", [1, 0, 0.1]),
        ("score-norm", [0.6, 0, 0.1]),
        ("entropy", [4, 0, 0]),
        ("length", [1, 0, 1]),  # T = 0 counts as 1
        ("oracle", [7, 0, 1]),
    ],
)
def test_norms(name: str, norms: list[float]) -> None:
    assert np.allclose(proxies.norms(name, FEATURES), norms)
    assert set(proxies.get(name).needs) <= set(FEATURES)


def test_a_missing_feature_is_named_with_what_there_is() -> None:
    with pytest.raises(WrongUse, match=r"proxy surprise needs the feature surprise, which the log lacks .*advantage"):
        proxies.norms("surprise", {"advantage": FEATURES["advantage"]}, where="the log")


def test_every_proxy_says_what_it_is_right_for() -> None:
    assert all(proxy.suits and proxy.doc for proxy in proxies.entries())
