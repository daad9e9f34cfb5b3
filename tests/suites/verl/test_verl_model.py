from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from scipy import stats

torch = pytest.importorskip("torch")

from suites.verl.model import Qwen3, to_transformers, token_log_probs  # noqa: E402
from suites.verl.reasoning import Chain  # noqa: E402
from suites.verl.sampler import sample  # noqa: E402
from suites.verl.settings import TINY, ModelConfig  # noqa: E402

CHAIN = TINY.chain
TOLERANCE = 2e-5  # float32: sums in another order


@pytest.mark.parametrize("config", [ModelConfig(), ModelConfig(48, 3, 2, 80)], ids=str)
def test_fused_model_is_qwen3(config: ModelConfig) -> None:
    pytest.importorskip("transformers", reason="needs the extra: install costaware-bench[verl]")
    torch.manual_seed(0)
    ours = Qwen3(config, vocab_size=23, positions=50)
    with torch.no_grad():  # norms at their initial 1 would hide a missing one
        for parameter in ours.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    ids = torch.randint(0, 23, (5, 41))
    theirs = to_transformers(ours)
    assert torch.allclose(ours(ids), theirs(ids).logits, atol=TOLERANCE)
    weights = torch.randn(5, 40)
    (token_log_probs(ours(ids), ids) * weights).mean().backward()
    (token_log_probs(theirs(ids).logits, ids) * weights).mean().backward()
    assert torch.allclose(ours.embedding.grad, theirs.model.embed_tokens.weight.grad, atol=TOLERANCE)
    k_norm = theirs.model.layers[-1].self_attn.k_norm.weight.grad
    assert torch.allclose(ours.blocks[-1].qk_norm.grad[1, 0], k_norm, atol=TOLERANCE)


def _prompts(chain: Chain, count: int) -> list[list[int]]:
    rng = Random(5)
    return [chain.encode(chain.problem(rng).prompt) for _ in range(count)]


def _uniforms(rows: int) -> torch.Tensor:
    return torch.rand(rows, CHAIN.max_response, generator=torch.Generator().manual_seed(6))


def test_sampled_log_probs_are_the_teacher_forced_ones(policy: Callable[[], Qwen3]) -> None:
    model, prompts = policy(), _prompts(CHAIN, 24)
    found = sample(model, prompts, _uniforms(96), CHAIN.stop)
    assert len(set(found.lengths.tolist())) > 5  # rows did leave the batch at different times
    for row, length in enumerate(found.lengths.tolist()):
        prompt = prompts[row // 4]
        ids = torch.tensor([prompt + found.tokens[row, :length].tolist()])
        with torch.no_grad():
            log_p = model(ids)[0, len(prompt) - 1 : -1].log_softmax(-1)
        taken = log_p.gather(1, ids[0, len(prompt) :, None])[:, 0]
        assert torch.allclose(found.log_probs[row, :length], taken, atol=TOLERANCE)
        assert torch.allclose(found.entropies[row, :length], -(log_p.exp() * log_p).sum(-1), atol=TOLERANCE)
        assert not found.log_probs[row, length:].any()


def test_responses_end_at_the_stop_token_or_the_limit(policy: Callable[[], Qwen3]) -> None:
    found = sample(policy(), _prompts(CHAIN, 64), _uniforms(64)[:, :9], CHAIN.stop)
    for tokens, length in zip(found.tokens.tolist(), found.lengths.tolist(), strict=True):
        assert tokens[:length].count(CHAIN.stop) == (tokens[length - 1] == CHAIN.stop)
        assert tokens[length - 1] == CHAIN.stop or length == 9
    assert (found.lengths == 9).any()
    assert (found.lengths < 9).any()


def test_a_row_does_not_depend_on_its_company(policy: Callable[[], Qwen3]) -> None:
    model, prompts, uniforms = policy(), _prompts(CHAIN, 32), _uniforms(32)
    together = sample(model, prompts, uniforms, CHAIN.stop)
    alone = sample(model, prompts[7:8], uniforms[7:8], CHAIN.stop)
    assert torch.equal(alone.tokens[0], together.tokens[7])


def test_tokens_are_drawn_with_their_probabilities(policy: Callable[[], Qwen3]) -> None:
    model, prompt = policy(), _prompts(CHAIN, 1)
    uniforms = torch.rand(4000, 1, generator=torch.Generator().manual_seed(7))
    seen = np.bincount(sample(model, prompt, uniforms, CHAIN.stop).tokens[:, 0], minlength=CHAIN.vocab_size)
    with torch.no_grad():
        p = model(torch.tensor(prompt))[0, -1].softmax(-1).double().numpy()
    common = p * 4000 >= 5  # where the chi-square distribution holds; the rest counts as one
    observed = [*seen[common], seen[~common].sum()]
    expected = np.array([*p[common], p[~common].sum()])
    assert stats.chisquare(observed, 4000 * expected / expected.sum()).pvalue > 1e-4
