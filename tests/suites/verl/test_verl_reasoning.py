from __future__ import annotations

import math
from random import Random

import pytest

from suites.verl.reasoning import Chain, Problem
from suites.verl.settings import PRESETS

CHAINS = [world.chain for world, _ in PRESETS.values()]
SUM = Problem((3, 7, 5), "++")


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: chain.name)
def test_a_corpus_without_slips_is_right_in_every_style(chain: Chain) -> None:
    rng, flawless = Random(0), Chain(**{**vars(chain), "slips": 0.0})
    problems = [chain.problem(rng) for _ in range(300)]
    texts = [flawless.solution(problem, rng) for problem in problems]
    assert {text[0] for text in texts} == set("vtd")
    assert all(chain.reward(problem, text) == 1.0 for problem, text in zip(problems, texts, strict=True))


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: chain.name)
def test_lengths_keep_their_bounds_and_vary(chain: Chain) -> None:
    rng = Random(1)
    problems = [chain.problem(rng) for _ in range(2000)]
    lengths = [len(chain.solution(problem, rng)) for problem in problems]
    assert max(lengths) <= chain.max_response
    assert max(len(problem.prompt) for problem in problems) <= chain.max_prompt
    assert max(lengths) > 5 * min(lengths)


@pytest.mark.parametrize(
    ("text", "reward"),
    [
        ("d#15.", 1.0),
        ("v3+7=10;10+5=15#15.", 1.0),
        ("v3+7=11;11+5=15#15.", 1.0),  # the answer counts, not the working
        ("d#15", 0.0),  # never closed
        ("d#14.", 0.0),
        ("d#015.", 0.0),
        ("d15.", 0.0),
        ("d#15#15.", 0.0),
        ("d.#15.", 0.0),
        ("", 0.0),
    ],
)
def test_verifier_wants_the_one_right_closed_answer(text: str, reward: float) -> None:
    assert Chain().reward(SUM, text) == reward


def test_operations_are_worked_from_left_to_right_under_the_modulus() -> None:
    chain = Chain("chain-mix", operators="+-*", modulus=100)
    assert chain.answer(Problem((9, 9, 9), "**")) == 729 % 100
    assert chain.answer(Problem((2, 7, 3), "-*")) == (2 - 7) % 100 * 3 % 100


def test_one_partial_result_in_ten_slips() -> None:
    chain, rng = Chain(styles=(1.0, 0.0, 0.0)), Random(2)
    steps = [step for _ in range(1500) for step in chain.solution(chain.problem(rng), rng)[1:].split("#")[0].split(";")]
    wrong = sum(int(left.split("+")[0]) + int(left.split("+")[1]) != int(right) for left, right in _split(steps))
    tolerance = 4 * math.sqrt(0.1 * 0.9 * len(steps))  # binomial, 4 standard errors: wrong once in 16,000 seeds
    assert abs(wrong - 0.1 * len(steps)) < tolerance


def _split(steps: list[str]) -> list[list[str]]:
    return [step.split("=") for step in steps]


def test_evaluation_prompts_are_never_trained_on() -> None:
    chain, rng = Chain(max_terms=3), Random(3)
    trained = {chain.problem(rng).prompt for _ in range(3000)}
    asked = {chain.problem(rng, held_out=True).prompt for _ in range(300)}
    assert trained
    assert asked
    assert not trained & asked


def test_problems_follow_from_the_seed() -> None:
    chain = Chain()
    one, two = Random(4), Random(4)
    assert [chain.problem(one) for _ in range(50)] == [chain.problem(two) for _ in range(50)]


def test_tokens_spell_the_text() -> None:
    chain = Chain("chain-mix", operators="+-*", modulus=100)
    text = "v3-7=96;96*5=80#80."
    assert chain.decode(chain.encode(text)) == text
    assert chain.encode(text)[-1] == chain.stop
    assert max(chain.encode(chain.alphabet)) == chain.vocab_size - 1
