"""Every strategy passes every check, and every check can fail: by a plugin that is wrong in just that."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from strategies import WrongUse, conformance, parse, registry
from strategies.conformance import Check

VARIANTS = [
    "smoothed:inner=noisy",
    "smoothed:alpha=1",
    "knapsack:solver=exact",
    "knapsack:bias=0",
    "pps:design=poisson",
    "pps:inner=noisy",
    "pps:inner=smoothed",
    "pps:inner=uniform",
]
BUILT_IN = [entry.name for entry in registry.entries() if entry.origin.startswith("strategies.builtin")]

HEAD = """
import random
from dataclasses import dataclass
import numpy as np
from strategies import Draw, IIDStrategy, Pool, Strategy, WithoutReplacement, proportional, register

"""
IID = HEAD + '@register("bad")\n@dataclass(frozen=True)\nclass Bad(IIDStrategy):\n'
FREE = HEAD + '@register("bad")\n@dataclass(frozen=True)\nclass Bad(Strategy):\n    reads_norms = False\n'
PSTAR = "        return proportional(pool.norms / np.sqrt(pool.costs))\n"
UNIFORM = """
    def draw(self, pool, size, rng):
        indices = rng.choice(len(pool), size=size)
        return Draw(indices, np.full(size, {weight}){note})
"""


def probabilities(body: str) -> str:
    return IID + "    def probabilities(self, pool):\n" + body


def pstar_but(more: str) -> str:
    return probabilities(PSTAR) + more


BAD = {
    # The ones that a newcomer writes.
    "biased: leaves components out": (
        probabilities("        return proportional(np.where(pool.norms < np.median(pool.norms), 0.0, pool.norms))\n"),
        "unbiased",
    ),
    "biased: forgets the weights": (
        pstar_but(
            "    def draw(self, pool, size, rng):\n"
            "        indices = rng.choice(len(pool), size=size, p=self.probabilities(pool))\n"
            "        return Draw(indices, np.full(size, 1 / size))\n"
        ),
        "unbiased",
    ),
    "biased: weights off by 15%": (FREE + UNIFORM.format(weight="1.15 / size", note=""), "unbiased"),
    "biased: keeps the first draws only": (
        HEAD + '@register("bad")\n@dataclass(frozen=True)\nclass Bad(WithoutReplacement):\n'
        "    def inclusion(self, pool, size):\n"
        "        return np.where(pool.norms > 0, 0.5, 0.0)\n"
        "    def select(self, pi, rng):\n"
        "        return np.flatnonzero((rng.random(len(pi)) < 0.8) & (pi > 0))\n",
        "unbiased",
    ),
    "noise that loses components": (
        pstar_but(
            "    def perturb(self, pool, rng):\n"
            "        if not pool.norms.any():\n"
            "            return pool\n"
            "        return pool.with_norms(np.maximum(pool.norms * (1 + rng.normal(size=len(pool))), 0))\n"
        ),
        "unbiased",
    ),
    "NaN": (probabilities("        return pool.norms * np.nan\n"), "probabilities"),
    "negative": (probabilities("        return 2 / len(pool) - proportional(pool.norms)\n"), "probabilities"),
    "sums to 2": (probabilities("        return 2 * proportional(pool.norms)\n"), "probabilities"),
    "wrong shape": (probabilities("        return proportional(pool.norms)[:-1]\n"), "probabilities"),
    "a list": (probabilities("        return list(proportional(pool.norms))\n"), "probabilities"),
    "raises": (probabilities("        raise RuntimeError('no luck')\n"), "runs"),
    "raises on zeros": (probabilities("        return 1 / min(pool.norms.tolist()) * pool.norms\n"), "runs"),
    "mutates norms": (
        probabilities("        pool.norms[:] = proportional(pool.norms)\n        return pool.norms.copy()\n"),
        "pool-unchanged",
    ),
    "mutates in place": (
        probabilities("        p = pool.costs\n        p /= p.sum()\n        return proportional(pool.norms / p)\n"),
        "pool-unchanged",
    ),
    "np.random": (
        pstar_but(
            "    def draw(self, pool, size, rng):\n"
            "        p = self.probabilities(pool)\n"
            "        indices = np.random.choice(len(pool), size=size, p=p)\n"
            "        note = '' if pool.norms.any() else 'uniform'\n"
            "        return Draw(indices, 1 / (size * len(pool) * p[indices]), note)\n"
        ),
        "no-global-rng",
    ),
    "python's random": (
        FREE + "    def draw(self, pool, size, rng):\n"
        "        indices = np.array(random.choices(range(len(pool)), k=size))\n"
        "        return Draw(indices, np.full(size, 1 / size))\n",
        "no-global-rng",
    ),
    "a generator of its own": (
        pstar_but("    def perturb(self, pool, rng):\n        rng.bit_generator.state = np.random.PCG64().state\n"
                  "        return pool\n"),
        "deterministic",
    ),
    "state": (
        HEAD + "seen = []\n\n" + IID.removeprefix(HEAD) + "    def probabilities(self, pool):\n"
        "        seen.append(len(pool))\n"
        "        return proportional(pool.norms + len(seen) * pool.norms.max() * 1e-3)\n",
        "deterministic",
    ),
    # The ones that hide.
    "index out of range": (
        FREE + UNIFORM.format(weight="1 / size", note="").replace("indices,", "indices + 1,"),
        "draw",
    ),
    "infinite weights": (FREE + UNIFORM.format(weight="np.inf", note=""), "draw"),
    "no Draw": (
        FREE + "    def draw(self, pool, size, rng):\n        return rng.choice(len(pool), size=size)\n",
        "draw",
    ),
    "a note that is no text": (FREE + UNIFORM.format(weight="1 / size", note=", note=3"), "note"),
    "an undeclared feature": (
        probabilities("        return proportional(pool.norms * (pool.features['length'] > 0))\n"),
        "needs",
    ),
    "needs is a string": (pstar_but("    needs = ('length')\n"), "needs"),
    "draws outside its support": (
        pstar_but("    def support(self, pool):\n        return pool.norms > np.median(pool.norms)\n"),
        "support",
    ),
    "prefers the front": (
        probabilities("        return proportional(pool.norms * (1.0 + (np.arange(len(pool)) < len(pool) / 2)))\n"),
        "permutation-equivariant",
    ),
    "prefers the front in a draw of its own": (
        FREE + "    def draw(self, pool, size, rng):\n"
        "        p = proportional(np.arange(1.0, len(pool) + 1))\n"
        "        indices = rng.choice(len(pool), size=size, p=p)\n"
        "        return Draw(indices, 1 / (size * len(pool) * p[indices]))\n",
        "permutation-equivariant",
    ),
    "knows tokens": (
        probabilities("        return proportional(pool.norms / (100 + pool.costs))\n"),
        "scale-invariant",
    ),
    "silent about zeros": (
        probabilities("        return proportional((pool.norms if pool.norms.any() else 1) / pool.costs)\n"),
        "zero-norms",
    ),
    "needs two": (
        probabilities("        n = len(pool)\n        return proportional(pool.norms * (n - 1) / np.float64(n - 1))\n"),
        "single-component",
    ),
    "overflows": (probabilities("        return proportional(pool.norms**2)\n"), "extreme-values"),
    "a default of another type": (pstar_but("    power: int = 2.5\n"), "spec"),
    "a parameter without default": (
        IID + "    power: float\n\n    def probabilities(self, pool):\n" + PSTAR,
        "spec",
    ),
    "an abstract method left out": (IID + "    pass\n", "spec"),
}  # fmt: skip


@cache
def results(spec: str) -> dict[str, Check]:
    return {check.name: check for check in conformance.run(spec)}


@pytest.mark.parametrize("check", conformance.checks())
@pytest.mark.parametrize("spec", [*BUILT_IN, *VARIANTS])
def test_every_strategy_passes_every_check(spec: str, check: str) -> None:
    assert results(spec)[check].ok, results(spec)[check].why


@pytest.mark.parametrize("case", BAD)
def test_a_bad_plugin_fails_exactly_the_property_that_it_breaks(case: str, tmp_path: Path, plugins: None) -> None:
    source, broken = BAD[case]
    file = tmp_path / "bad.py"
    file.write_text(source)
    registry.load_file(file)
    found = conformance.run("bad")
    failed = [check for check in found if check.ok is False]
    assert [check.name for check in failed] == [broken], failed
    assert failed[0].why
    assert "\n" not in failed[0].why
    assert [check.name for check in found] == conformance.checks()


def test_every_check_has_a_plugin_that_fails_it() -> None:
    assert {broken for _, broken in BAD.values()} == set(conformance.checks())


def test_an_exception_is_placed_in_the_plugin(tmp_path: Path, plugins: None) -> None:
    file = tmp_path / "bad.py"
    file.write_text(BAD["raises"][0])
    registry.load_file(file)
    (failed,) = (check for check in conformance.run("bad") if check.ok is False)
    line = 1 + BAD["raises"][0].splitlines().index("        raise RuntimeError('no luck')")
    assert failed.why == f"RuntimeError: no luck (bad.py, line {line})"


def test_nothing_is_measured_behind_a_gate(tmp_path: Path, plugins: None) -> None:
    (tmp_path / "bad.py").write_text(BAD["NaN"][0])
    registry.load_file(tmp_path / "bad.py")
    after = conformance.run("bad")[conformance.checks().index("probabilities") + 1 :]
    assert {(check.ok, check.why) for check in after} == {(None, "not tried: probabilities fails")}


def test_a_strategy_must_be_registered_under_its_name() -> None:
    class Unknown(type(parse("pstar").strategy)):  # type: ignore[misc]
        pass

    (failed,) = (check for check in conformance.run(Unknown()) if not check.ok)
    assert failed == Check("spec", False, "Unknown is not registered: put @register('name') on the class")


def test_the_kit_leaves_the_global_generators_as_they_were() -> None:
    random.seed(5)
    np.random.seed(5)
    conformance.run("pstar")
    got = random.random(), np.random.random()
    random.seed(5)
    np.random.seed(5)
    assert got == (random.random(), np.random.random())


def test_methods_strategies_and_specs_are_one() -> None:
    method = parse("smoothed:alpha=0.05,draws=0.5")
    assert conformance.run(method) == conformance.run(method.strategy) == conformance.run(str(method))
    with pytest.raises(WrongUse, match="did you mean 'pstar'"):
        conformance.run("pstr")
