"""parse(str(method)) == method, for whatever parameters; what can't be read gets one line that says how to mend it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import IIDStrategy, Method, WrongUse, parse, proxies
from strategies.builtin.indicator import Indicator
from strategies.builtin.inverse_sqrt_cost import InverseSqrtCost
from strategies.builtin.knapsack import Knapsack
from strategies.builtin.noisy import NoisyProxy
from strategies.builtin.none import NoSampling
from strategies.builtin.nonzero import NonZero
from strategies.builtin.pps import PPS
from strategies.builtin.pstar import PStar
from strategies.builtin.smoothed import Smoothed
from strategies.builtin.uniform import Uniform
from strategies.builtin.variance import Variance

plain = st.one_of(
    st.sampled_from([Indicator(), InverseSqrtCost(), PStar(), Uniform(), Variance()]),
    st.builds(Knapsack, bias=st.floats(0, 1, exclude_max=True), solver=st.sampled_from(["greedy", "exact"])),
)


def _wrapped(inner: st.SearchStrategy[IIDStrategy]) -> st.SearchStrategy[IIDStrategy]:
    return st.one_of(
        st.builds(Smoothed, inner=inner, alpha=st.floats(0, 1)),
        st.builds(NoisyProxy, inner=inner, sigma2=st.floats(0, allow_infinity=False)),
    )


iid = st.recursive(plain, _wrapped, max_leaves=4)
sampled = st.one_of(iid, st.builds(PPS, inner=iid, design=st.sampled_from(["systematic", "poisson"])))
names = st.sampled_from([proxy.name for proxy in proxies.entries()])
fractions = st.floats(0, exclude_min=True, allow_infinity=False)
methods = st.one_of(
    st.builds(Method, sampled, names, fractions),
    st.builds(Method, st.sampled_from([NoSampling(), NonZero()]), names),
)


@given(methods)
def test_the_round_trip_returns_an_equal_method(method: Method) -> None:
    assert parse(str(method)) == method
    assert parse(method.to_json()) == method
    assert parse(json.dumps(method.to_json())) == method


@pytest.mark.parametrize(
    ("spec", "canonical"),
    [
        ("pstar", "pstar"),
        ("smoothed", "smoothed:alpha=0.01"),
        (" smoothed : alpha = 0.05 ".replace(" : ", ":"), "smoothed:alpha=0.05"),
        ("smoothed:alpha=1e-2,inner=(noisy:sigma2=0.1)", "smoothed:alpha=0.01,inner=(noisy:sigma2=0.1)"),
        ("smoothed:inner=noisy,alpha=0.01", "smoothed:alpha=0.01,inner=(noisy:sigma2=0.1)"),
        ("smoothed:inner=variance", "smoothed:alpha=0.01,inner=variance"),
        ("pps:draws=0.50,proxy=surprise", "pps:proxy=surprise,draws=0.5"),
        ("pps:design=poisson,inner=(smoothed:inner=(noisy:sigma2=1))",
         "pps:inner=(smoothed:alpha=0.01,inner=(noisy:sigma2=1)),design=poisson"),
        ("knapsack:solver=exact", "knapsack:bias=0.05,solver=exact"),
        ("none:draws=1", "none"),
    ],
)  # fmt: skip
def test_canonical_spelling(spec: str, canonical: str) -> None:
    assert str(parse(spec)) == canonical


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("pstr", "unknown strategy 'pstr': did you mean 'pstar'?"),
        ("smoothed:alhpa=0.1", "unknown parameter of smoothed 'alhpa': did you mean 'alpha'?"),
        ("smoothed:alpha=much", "alpha=much: smoothed needs a number"),
        ("smoothed:alpha=", "'alpha=' is not key=value"),
        ("smoothed:alpha=0.1,alpha=0.2", "alpha is given twice"),
        ("smoothed:inner=(noisy", "parentheses do not match"),
        ("smoothed:inner=none", "smoothed needs a strategy with probabilities there"),
        ("pps:design=random", "unknown design of pps 'random'"),
        ("pstar:proxy=advantages", "unknown proxy 'advantages': did you mean 'advantage'?"),
        ("pstar:draws=0", "draws=0: must be a finite fraction of the pool > 0"),
        ("pstar:draws=nan", "draws=nan: must be a finite fraction of the pool > 0"),
        ("none:draws=0.5", "you mean pps:inner=uniform,draws=0.5"),
        ("nonzero:draws=0.5", "you mean pps:inner=indicator,draws=0.5"),
        ("", "write name:key=value"),
        ("pstar:", "write name:key=value"),
        ('{"name": "pstar"', "is not JSON"),
    ],
)
def test_what_cannot_be_read_is_one_line(spec: str, line: str) -> None:
    with pytest.raises(WrongUse) as refused:
        parse(spec)
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)
