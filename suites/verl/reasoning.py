"""Procedural reasoning with verifiable answers: chains of one-digit operations, answered in three styles.

    prompt    3+7+5=
    verbose   v3+7=10;10+5=15#15.
    terse     t10,15#15.
    direct    d#15.

The policy picks the style with its first token, so response lengths vary within a prompt's group (4 to 60 tokens) as
well as across prompts: the costs of rollouts differ, as they do for language models. Corpus solutions slip now and then
(bad working in, bad working out), which leaves reinforcement learning room to sharpen.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from random import Random

PAD = 0
STYLES = "vtd"
STOP = "."
HELD_OUT_SHARE = 8  # one prompt in 8 is kept for evaluation and never trained on


@dataclass(frozen=True)
class Problem:
    """`terms[0] operators[0] terms[1] ...`, worked from left to right."""

    terms: tuple[int, ...]
    operators: str

    @property
    def prompt(self) -> str:
        """The text that the policy is asked to continue."""
        rest = "".join(f"{op}{term}" for op, term in zip(self.operators, self.terms[1:], strict=True))
        return f"{self.terms[0]}{rest}="

    @property
    def held_out(self) -> bool:
        """Whether it is an evaluation prompt; decided by the text, so that no stream of prompts can leak."""
        return zlib.crc32(self.prompt.encode()) % HELD_OUT_SHARE == 0


def verdict(response: str, answer: str) -> float:
    """1 where a response is closed and states, once and after '#', this answer; else 0."""
    working, _, stated = response.removesuffix(STOP).partition("#")
    closed = response.endswith(STOP) and working.count(STOP) == 0
    return float(closed and stated == answer)


@dataclass(frozen=True)
class Chain:
    """A distribution over problems, a corpus of solutions, and the exact-match verifier.

    Args:
        name: of the task, e.g. `chain-sum`.
        operators: what may stand between terms: any of + - *.
        modulus: partial results are taken modulo this; 0 leaves them as they are (then + only: numbers stay >= 0).
        min_terms, max_terms: the number of terms is uniform between these.
        max_term: terms are uniform from 1 to this digit.
        styles: how often a corpus solution is verbose, terse, direct; sums to 1.
        slips: probability that a partial result of a corpus solution is off by 1 or 10.
    """

    name: str = "chain-sum"
    operators: str = "+"
    modulus: int = 0
    min_terms: int = 2
    max_terms: int = 8
    max_term: int = 9
    styles: tuple[float, float, float] = (0.45, 0.40, 0.15)
    slips: float = 0.10

    @property
    def alphabet(self) -> str:
        """The characters; character k is token k + 1, token 0 pads."""
        return "0123456789" + self.operators + "=;,#" + STOP + STYLES

    @property
    def vocab_size(self) -> int:
        """Number of tokens, padding included."""
        return len(self.alphabet) + 1

    @property
    def stop(self) -> int:
        """The token that ends a response."""
        return self.alphabet.index(STOP) + 1

    @property
    def max_prompt(self) -> int:
        """Tokens of the longest prompt."""
        return 2 * self.max_terms

    @property
    def max_response(self) -> int:
        """Tokens of the longest response: every step restated, and 2 to spare."""
        digits = len(str((self.modulus or self.max_term * self.max_terms + 1) - 1))
        steps = self.max_terms - 1
        return 1 + steps * (2 * digits + 4) + digits + 1 + 2

    def encode(self, text: str) -> list[int]:
        """Token ids of a text."""
        return [self.alphabet.index(char) + 1 for char in text]

    def decode(self, tokens: list[int]) -> str:
        """Text of token ids; padding reads `_`."""
        return "".join(self.alphabet[token - 1] if token else "_" for token in tokens)

    def apply(self, left: int, operator: str, right: int) -> int:
        """One step of the chain."""
        value = {"+": left + right, "-": left - right, "*": left * right}[operator]
        return value % self.modulus if self.modulus else value

    def answer(self, problem: Problem) -> int:
        """The right result."""
        value = problem.terms[0]
        for operator, term in zip(problem.operators, problem.terms[1:], strict=True):
            value = self.apply(value, operator, term)
        return value

    def problem(self, rng: Random, held_out: bool = False) -> Problem:
        """A problem of the training distribution, or of the held-out one."""
        while True:
            count = rng.randint(self.min_terms, self.max_terms)
            terms = tuple(rng.randint(1, self.max_term) for _ in range(count))
            found = Problem(terms, "".join(rng.choice(self.operators) for _ in range(count - 1)))
            if found.held_out == held_out:
                return found

    def solution(self, problem: Problem, rng: Random) -> str:
        """A corpus solution in a random style, slips included."""
        style = rng.choices(STYLES, self.styles)[0]
        if style == "d":
            return f"d#{self._slip(self.answer(problem), rng)}{STOP}"
        value, steps = problem.terms[0], []
        for operator, term in zip(problem.operators, problem.terms[1:], strict=True):
            result = self._slip(self.apply(value, operator, term), rng)
            steps.append(f"{value}{operator}{term}={result}" if style == "v" else str(result))
            value = result  # a slip is carried on, as people do
        return style + (";" if style == "v" else ",").join(steps) + f"#{value}{STOP}"

    def reward(self, problem: Problem, response: str) -> float:
        """1 where the response is closed and states, once and after '#', the right result; else 0."""
        return verdict(response, str(self.answer(problem)))

    def _slip(self, value: int, rng: Random) -> int:
        if rng.random() >= self.slips:
            return value
        slipped = value + rng.choice((-10, -1, 1, 10))
        return slipped % self.modulus if self.modulus else max(0, slipped)
