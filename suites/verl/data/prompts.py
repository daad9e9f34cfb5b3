r"""Prompts that ask for an answer in one convention, the one by which the verifier then reads it.

The convention is written into each row (`extra_info.answer_format`) and handed to the reward with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from suites.replay.files import BadRecord, shown

FORMATS = {
    # Qwen2.5-Math's own instruction
    "boxed": "{}\n\nPlease reason step by step, and put your final answer within \\boxed{{}}.",
    # DAPO's
    "answer": "Solve the following math problem step by step. The last line of your response should be of the form "
    "Answer: $Answer (without quotes) where $Answer is the answer to the problem.\n\n{}\n\n"
    'Remember to put your answer on its own line after "Answer:".',
    # verl's for GSM8K
    "hashes": '{} Let\'s think step by step and output the final answer after "####".',
}
_OTHERS = [re.compile(re.escape(form.format("\0")).replace("\0", "(.*)"), re.DOTALL) for form in FORMATS.values()]
_INSTRUCTION = re.compile(
    r"last line of your response|put your (?:final )?answer|final answer (?:with)?in \\boxed", re.I
)


def ask(problem: str, answer_format: str) -> list[dict[str, str]]:
    """The chat that puts a problem to the model."""
    return [{"role": "user", "content": FORMATS[answer_format].format(problem)}]


def problem(prompt: Any) -> str:
    """The bare problem of a text or a chat, without the instruction of whoever made the copy.

    Raises:
        BadRecord: no text, or not one question.
    """
    if not isinstance(prompt, str):
        prompt = _question(prompt)
    bare = next((found[1] for found in (other.fullmatch(prompt.strip()) for other in _OTHERS) if found), prompt).strip()
    if not bare:
        raise BadRecord("has no problem")
    return bare


def instructed(bare: str) -> bool:
    """Whether a problem still asks for its answer in some format, which may not be the one that the verifier reads."""
    return _INSTRUCTION.search(bare) is not None


def _question(chat: Any) -> str:
    users = [turn for turn in chat or [] if isinstance(turn, Mapping) and turn.get("role") == "user"]
    if len(users) != 1 or not isinstance(users[0].get("content"), str):
        raise BadRecord(f"has no problem ({shown(chat)})")
    content: str = users[0]["content"]
    return content
