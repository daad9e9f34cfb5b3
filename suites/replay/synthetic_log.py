"""The log that ships with the package: made up, but in the shape of a verl rollout dump. Called synthetic everywhere.

    python -m suites.replay.synthetic_log > suites/replay/data/synthetic.jsonl

Prompts ask for sums; a response adds up in one of three styles (sentences, partial sums, the bare answer), so that
costs differ by an order of magnitude. Each addition slips with a rate that depends on the prompt and falls with
training: easy prompts are solved by all (zero variance), hard ones are not. Only the standard library's generator is
used, whose streams are the same on every machine.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Sequence
from typing import Any

SEED, STEPS, PROMPTS, SAMPLES = 0, 4, 16, 8
STYLES = {"sentences": 0.45, "partial sums": 0.35, "answer": 0.2}
SHORTCUT = 2.0  # an answer without its partial sums slips this much more often


def rollouts(seed: int = SEED) -> Iterator[dict[str, Any]]:
    """Records with the keys of `trainer.rollout_data_dir`: STEPS x PROMPTS x SAMPLES of them."""
    rng = random.Random(seed)
    for step in range(1, STEPS + 1):
        for _ in range(PROMPTS):
            terms = [rng.randrange(1, 100) for _ in range(rng.randrange(2, 13))]
            slip = rng.choice((0.002, 0.01, 0.05, 0.15)) * 0.9**step
            uid = f"{rng.getrandbits(64):016x}"
            for sample in range(SAMPLES):
                output, answer = _response(terms, slip, rng)
                yield {
                    "input": f"Add up: {' + '.join(map(str, terms))} =",
                    "output": output,
                    "gts": str(sum(terms)),
                    "score": float(answer == sum(terms)),
                    "step": step,
                    "uid": f"{uid}_{sample}_0",
                }


def _response(terms: Sequence[int], slip: float, rng: random.Random) -> tuple[str, int]:
    """A response in some style, and the answer it comes to."""
    (style,) = rng.choices(list(STYLES), list(STYLES.values()))
    total, said = terms[0], []
    for term in terms[1:]:
        slips = rng.random() < slip * (SHORTCUT if style == "answer" else 1.0)
        added = total + term + (rng.choice((-10, -1, 1, 10)) if slips else 0)
        said.append((total, term, added))
        total = added
    if style == "answer":
        return f"#{total}", total
    if style == "partial sums":
        return " ".join([*(f"{added};" for _, _, added in said), f"#{total}"]), total
    sentences = [f"We have {before} and add {term}, which makes {added}." for before, term, added in said]
    return " ".join([*sentences, f"So the sum of all {len(terms)} numbers is {total}. #{total}"]), total


def text(seed: int = SEED) -> str:
    """The whole log, a line a rollout."""
    return "".join(json.dumps(record) + "\n" for record in rollouts(seed))


if __name__ == "__main__":
    sys.stdout.write(text())
