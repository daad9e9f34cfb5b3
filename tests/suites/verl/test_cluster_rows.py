from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("verl", reason="needs the extra: install costaware-bench[verl]")

from tensordict import TensorDict  # noqa: E402

from strategies import Draw, parse  # noqa: E402
from suites.updates import split  # noqa: E402
from suites.verl.cluster import rows  # noqa: E402
from suites.verl.sampling import Plan, build_pool, plan  # noqa: E402


def table(lengths: list[int], scores: list[float], each: int = 2) -> tuple[list[str], list[dict], TensorDict]:
    """Rows of groups of `each`, prompts of 3 tokens, responses as long as said."""
    generator = torch.Generator().manual_seed(0)
    reward = [torch.zeros(n) for n in lengths]
    for row, score in zip(reward, scores, strict=True):
        row[-1] = score
    fields = {
        "rm_scores": rows.nested(reward),
        "advantages": rows.nested(
            [torch.full((n,), 1e-9 + score - 0.5) for n, score in zip(lengths, scores, strict=True)]
        ),
        "old_log_probs": rows.nested([-torch.rand(n, generator=generator) for n in lengths]),
        "entropy": rows.nested([torch.rand(n, generator=generator) for n in lengths]),
        "response_mask": rows.nested([torch.ones(n, dtype=torch.long) for n in lengths]),
    }
    keys = [f"prompt_{place // each}_{place}_0" for place in range(len(lengths))]
    tags = [{"prompt_len": 3, "response_len": n, "seq_len": 3 + n} for n in lengths]
    return keys, tags, TensorDict(fields, batch_size=[len(lengths)])


def test_verls_padding_is_no_rollout() -> None:
    keys, tags, fields = table([4, 2, 5, 1], [1, 0, 1, 1])
    tags = [*tags[:1], {"is_padding": True, "prompt_len": 127, "response_len": 1}, *tags[1:]]
    keys = [*keys[:1], "pad_0_0", *keys[1:]]
    places = rows.real(tags)
    assert places.tolist() == [0, 2, 3, 4]
    known = rows.read(keys, tags, fields, places)
    assert known.keys == [keys[place] for place in places]
    assert known.observed.costs.tolist() == [7, 5, 8, 4]
    assert known.observed.groups.tolist() == [0, 0, 1, 1]


def test_advantages_are_zero_where_scores_are_equal() -> None:
    known = rows.read(*table([4, 2, 5, 1], [1, 0, 1, 1]), np.arange(4))
    assert known.observed.advantages.tolist() == pytest.approx([0.5, -0.5, 0, 0])
    assert not known.observed.advantages[2:].any()


def test_features_come_from_the_queue() -> None:
    keys, tags, fields = table([4, 2], [1, 0])
    found = rows.read(keys, tags, fields, np.arange(2)).observed.features()
    surprise = [(1 - row.exp()).mean().item() for row in fields["old_log_probs"].unbind()]
    assert found["surprise"] == pytest.approx(surprise, rel=1e-6)
    assert found["mean_entropy"] == pytest.approx([row.mean().item() for row in fields["entropy"].unbind()], rel=1e-6)
    assert found["reward"].tolist() == [1, 0]


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 40), st.integers(1, 5), st.integers(1, 4), st.integers(0, 2**20))
def test_layout_holds_every_update_rank_by_rank(n: int, updates: int, ranks: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.uniform(1, 100, n)
    size = rng.integers(0, 2 * n)
    draw = Draw(rng.integers(0, n, size), rng.uniform(0.1, 2, size))
    drawn = Plan(draw, split(draw, updates, rng))
    taken = [update for update in drawn.updates if len(update.indices)]
    layout = rows.lay_out(drawn, costs, ranks, mini_batch=8.0)
    assert layout.updates == len(taken)
    assert len(layout.rows) == layout.size * len(taken)
    if not taken:
        return
    assert layout.size % ranks == 0
    assert layout.size - max(len(update.indices) for update in taken) < ranks
    grid = layout.rows.reshape(ranks, len(taken), -1)  # what verl's dispatch and mini-batches cut out
    weights = layout.weights.reshape(grid.shape)
    for number, update in enumerate(taken):
        mine, scale = grid[:, number].ravel(), weights[:, number].ravel()
        real = mine != rows.FILLER
        assert sorted(mine[real]) == update.indices.tolist()
        by_row = dict(zip(mine[real], scale[real], strict=True))
        assert [by_row[row] for row in update.indices] == pytest.approx(list(update.weights * 8.0))
        assert not scale[~real].any()
        counts = (grid[:, number] != rows.FILLER).sum(1)
        assert counts.max() - counts.min() <= 1
    assert layout.tokens == rows.FILLER_TOKENS * int((layout.rows == rows.FILLER).sum())
    seen: set[int] = set()
    for row, repeated in zip(layout.rows, layout.repeated, strict=True):
        assert repeated == (row in seen and row != rows.FILLER)
        seen.add(row)


def test_no_sampling_is_verls_own_update() -> None:
    known = rows.read(*table([3] * 16, [0, 1] * 8), np.arange(16))
    pool = build_pool(known.observed, "advantage")
    drawn = plan(parse("none"), pool, 4, "none", np.random.default_rng(0))
    layout = rows.lay_out(drawn, pool.costs, ranks=2, mini_batch=4)
    assert (layout.size, layout.updates, layout.tokens) == (4, 4, 0)
    assert layout.weights == pytest.approx(np.ones(16))
    assert sorted(layout.rows) == list(range(16))
    assert not layout.repeated.any()


def test_weights_multiply_verls_correction() -> None:
    keys, tags, fields = table([2, 3], [0, 1])
    fields[rows.WEIGHTS] = rows.nested([torch.tensor([0.5, 1.0]), torch.tensor([1.0, 2.0, 0.0])])
    known = rows.read(keys, tags, fields, np.arange(2))
    layout = rows.Layout(np.array([1, rows.FILLER]), np.array([3.0, 0.0]), 2, 1)
    found = rows.token_weights(known, layout, np.arange(2)).unbind()
    assert [row.tolist() for row in found] == [[3.0, 6.0, 0.0], [0.0]]


def test_a_filler_has_the_fields_of_the_others_and_counts_for_nothing() -> None:
    found = rows.filler(rows.TRAINED_ON, token=7)
    assert set(found) == set(rows.TRAINED_ON)
    assert [found[name].tolist() for name in ("input_ids", "position_ids")] == [[7, 7], [0, 1]]
    assert found["prompts"].tolist() == found["responses"].tolist() == [7]
    for name in ("response_mask", "loss_mask", "advantages", rows.WEIGHTS):
        assert found[name].tolist() == [0]
    assert found["response_mask"].dtype == torch.int64
    assert found["advantages"].dtype == torch.float32
