"""The worlds are as the paper and DESIGN.md state them, and the same for every method."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from strategies import WrongUse
from strategies.types import Floats
from suites.synthetic import RECIPES, infos, make
from suites.synthetic.settings import Settings
from suites.synthetic.task import SyntheticTask
from suites.synthetic.worlds import World

SEED = np.random.SeedSequence(1)


def world(name: str, seed: np.random.SeedSequence = SEED) -> World:
    return RECIPES[name].world(Settings(), seed)


def test_least_squares_is_the_papers() -> None:
    it = world("least-squares")
    assert it.rows.shape == (3000, 50)
    assert it.lengths.max() <= 10
    assert it.costs.min() >= 1
    assert it.costs.max() <= 1000
    assert_uniform(it.lengths / 10)
    assert_uniform((it.costs - 1) / 999)
    assert abs(np.corrcoef(it.lengths, it.costs)[0, 1]) < 4.5 / np.sqrt(3000)


def assert_uniform(values: Floats) -> None:
    """Kolmogorov-Smirnov at the 1e-5 level: sup distance below 2.5 / sqrt(N)."""
    grid = (np.arange(len(values)) + 0.5) / len(values)
    assert np.abs(np.sort(values) - grid).max() < 2.5 / np.sqrt(len(values))


def test_the_variants_differ_in_what_they_say() -> None:
    gaussian = world("least-squares-gaussian").lengths
    assert gaussian.max() == pytest.approx(10)
    assert gaussian.std() / gaussian.mean() < 0.15  # nearly equal norms: 1/sqrt(2 d) = 0.1
    heavy = world("heavy-tailed-costs").costs
    assert np.sort(heavy)[-30:].sum() > 0.15 * heavy.sum()  # the dearest per cent; 2 % for U(1, 1000)
    tied = world("correlated-costs")
    assert_uniform((tied.costs - 1) / 999)
    assert 0.7 < np.corrcoef(tied.lengths, tied.costs)[0, 1] < 0.85  # a copula of 0.8 gives 0.786 between uniforms
    assert world("noisy-proxy").lengths.min() > 1
    np.testing.assert_allclose(world("subset").lengths, 10)
    assert set(world("logistic").targets) == {-1.0, 1.0}


def test_the_seed_makes_the_world() -> None:
    once, again, other = (
        world("least-squares"),
        world("least-squares"),
        world("least-squares", np.random.SeedSequence(2)),
    )
    np.testing.assert_array_equal(once.rows, again.rows)
    np.testing.assert_array_equal(once.costs, again.costs)
    assert not np.array_equal(once.costs, other.costs)
    np.testing.assert_array_equal(once.rows, world("heavy-tailed-costs").rows)  # tasks that differ in costs share data


@pytest.mark.parametrize("name", RECIPES)
def test_G_bounds_the_gradient_on_the_ball(name: str) -> None:  # noqa: N802
    recipe = RECIPES[name]
    task = SyntheticTask(name, recipe, Settings(n=300, dim=4))
    it = recipe.world(task.settings, SEED)
    norms, rng = task.pool(it).norms, np.random.default_rng(0)
    reach = np.zeros(len(norms))
    for _ in range(300):
        x = rng.standard_normal(4)
        x *= min(recipe.radius, 5.0) * rng.choice([1, rng.random()]) / np.linalg.norm(x)
        z, b = torch.as_tensor(it.rows @ x), torch.as_tensor(it.targets)
        slopes = torch.empty_like(z)
        task.loss.slope(z, b, slopes)
        reach = np.maximum(reach, np.abs(slopes.numpy()) * it.lengths)
    assert (reach <= norms * (1 + 1e-12)).all()
    assert np.median(reach / norms) > 0.6  # and no looser than it need be
    if recipe.loss == "absolute":
        np.testing.assert_allclose(reach, norms)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 0}, "n=0: synthetic tasks need at least 1"),
        ({"trials": -1}, "trials=-1"),
        ({"n": 20, "dim": 11}, "n >= 2 dim"),
        ({"dtype": "float16"}, "dtype=float16: synthetic tasks know float64, float32"),
        ({"device": "tpu"}, "device=tpu"),
        ({"trails": 3}, "did you mean 'trials'"),
        ({"n": "many"}, "n=many"),
    ],
)
def test_wrong_settings_get_one_clear_line(settings: dict[str, object], message: str) -> None:
    with pytest.raises(WrongUse, match=message) as error:
        make("synthetic/least-squares", settings)
    assert "\n" not in str(error.value)


def test_unknown_task_names_the_nearest() -> None:
    with pytest.raises(WrongUse, match="did you mean 'synthetic/least-squares'"):
        make("synthetic/least-square", {})
    assert [info.name for info in infos()] == [f"synthetic/{name}" for name in RECIPES]
