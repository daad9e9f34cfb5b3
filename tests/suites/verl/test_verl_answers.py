"""Which answer a response states, by the conventions that prompts ask for."""

from __future__ import annotations

import pytest

from suites.verl.answers import CONVENTIONS, stated

RESPONSES = {
    r"so \boxed{13}.": "13",
    r"\boxed{1} is wrong, it is \boxed{\frac{1}{2}}": r"\frac{1}{2}",
    r"\boxed{7} and then \boxed{\frac{1}{": "7",  # cut off: the last one that is whole
    r"the set \boxed{\{1, 2\}}": r"\{1, 2\}",
    r"} } \boxed {3} {": "3",
    "Answer: $13$": "13",
    "**Answer:** 13": "13",
    "Answer: 5\nno,\nAnswer: 13.": "13",
    "**Final Answer:**\n\n13": "13",
    r"Answer: \boxed{13}": "13",
    "答案 Answer：13": "13",
    "He has 18.\n#### 18": "18",
    "#### 1,234.": "1,234",
    "#### Step 2\nso it is 7\n#### 7": "7",
    "#### Step 2\nso it is \\boxed{7}": "7",
    "nothing at all": "",
    "": "",
}


@pytest.mark.parametrize("response", RESPONSES)
def test_value(response: str) -> None:
    assert stated(response).value == RESPONSES[response]


def test_the_convention_that_was_asked_for_counts_first() -> None:
    response = "a step: \\boxed{4}\n#### 5\nAnswer: 6"
    assert {asked: stated(response, asked).value for asked in CONVENTIONS} == {
        "boxed": "4",
        "hashes": "5",
        "answer": "6",
    }
    assert stated(response, "no such convention").value == "4"


ASKED_FOR_HASHES = {
    r"#### $\frac{1}{2}$": r"\frac{1}{2}",
    r"so it is #### \frac{1}{2}.": r"\frac{1}{2}",
    "#### 18 dollars": "18 dollars",
    "#### Step 2\n#### 7\n#### Remarks": "7",
}


@pytest.mark.parametrize("response", ASKED_FOR_HASHES)
def test_hashes_that_were_asked_for_may_lead_to_anything(response: str) -> None:
    assert stated(response, "hashes").value == ASKED_FOR_HASHES[response]


def test_without_a_convention_the_end_is_read() -> None:
    assert stated("x" * 10_000 + "\nA: 26").text.endswith("x\nA: 26")
    assert len(stated("x" * 10_000).text) == 1_000
