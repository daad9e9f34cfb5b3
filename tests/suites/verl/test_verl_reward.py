"""The reward: what math-verify says, for every answer of the sets, and an end to whatever a response holds."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("math_verify", reason="verl is not installed: install costaware-bench[verl]")

from suites.verl import grader, reward
from suites.verl.grader import Grader, NoVerifier
from suites.verl.reward import compute_score, correct

pytestmark = [pytest.mark.verl, pytest.mark.xdist_group("verifier")]
LONG = 100_000
CPU_S = 1.0


@pytest.fixture(scope="module")
def quick() -> Iterator[Grader]:
    """Gives up sooner, so that the tests do."""
    made = Grader(cpu_s=CPU_S, most=1)
    yield made
    made.close()


@pytest.fixture
def impatient(quick: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reward, "_grader", lambda: quick)
    reward._verdict.cache_clear()


def records(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def math_verify(gold: str, text: str) -> bool:
    """Its documented use, in this process."""
    from math_verify import parse, verify

    verdict: bool = verify(parse(f"${gold}$"), parse(text))
    return verdict


PAIRS = {
    ("13", r"\boxed{13}"): True,
    ("13", r"\boxed{14}"): False,
    ("13", r"\boxed{013}"): True,
    (r"\frac{1}{2}", r"\boxed{0.5}"): True,
    (r"\frac{1}{2}", "Answer: $1/2$"): True,
    ("1,234", "#### 1234"): True,
    (r"3,\!250", r"\boxed{3250}"): True,
    (r"25\%", r"\boxed{25}"): True,
    (r"25\%", r"\boxed{0.25}"): True,
    ("25", r"\boxed{25\%}"): True,
    (r"\$6", r"\boxed{6}"): True,
    (r"2\sqrt{3}", r"Answer: 2\sqrt{3}"): True,
    ("2", r"Answer: 2\sqrt{3}"): False,
    ("12", "Answer: 12, 13"): False,
    ("13", "Answer: 13 dollars"): True,
    ("13", "the 13th of\nA: 26"): False,
    ("26", "the 13th of\nA: 26"): True,
    ("13", "I don't know."): False,
    ("", ""): False,
}


@pytest.mark.parametrize(("gold", "response"), PAIRS)
def test_verdict(gold: str, response: str) -> None:
    score = compute_score("any", response, gold)
    assert score == {"score": float(PAIRS[gold, response]), "acc": float(PAIRS[gold, response])}


def test_the_prompts_convention_reaches_the_verifier() -> None:
    response = "first \\boxed{4}\nAnswer: 6"
    assert compute_score("any", response, "6", {"answer_format": "answer"})["acc"] == 1
    assert compute_score("any", response, "6", {"answer_format": "boxed"})["acc"] == 0


@pytest.mark.shared_data
@pytest.mark.parametrize("log", ["rollouts_math_qwen2.5_100x8.jsonl", "rollouts_gsm8k_gpt3_1319x4.jsonl"])
def test_agrees_with_math_verify_on_real_responses(log: str, shared_data: Path) -> None:
    rows = records(shared_data / log)
    ours = [correct(row["output"], row["gts"]) for row in rows]
    theirs = [math_verify(row["gts"], row["output"]) for row in rows]
    assert [row for row, a, b in zip(rows, ours, theirs, strict=True) if a != b] == []
    off = [row for row, a in zip(rows, ours, strict=True) if a != row["score"]]
    assert {row["gts"] for row in off} <= {"10{,}000"}  # the log scored an answer of 10000 as wrong


@pytest.mark.shared_data
@pytest.mark.parametrize("name", ["gsm8k_test", "aime24", "amc23"])
def test_agrees_with_math_verify_on_the_answer_sets(name: str, shared_data: Path) -> None:
    """Each answer in each convention, against the right one and against the next problem's."""
    rows = records(shared_data / f"{name}.jsonl")
    golds = [str(row["answer"]).rpartition("####")[2].strip() for row in rows]
    for gold, other in zip(golds, [*golds[1:], golds[0]], strict=True):
        expected = math_verify(gold, rf"\boxed{{{other}}}")
        for form in (r"\boxed{%s}", "Answer: $%s$", "#### %s"):
            assert correct("so it is\n" + form % gold, gold), (form, gold)
            assert correct("so it is\n" + form % other, gold) == expected, (form, other, gold)


HOSTILE = {
    "long text": "a" * LONG,
    "long answer": r"\boxed{" + "1" * LONG + "}",
    "no end": r"\boxed{" * (LONG // 7),
    "never closed": r"\boxed{" + "{" * LONG,
    "closed too often": "}" * LONG + r"\boxed{14}",
    "spaces": "answer" + " " * LONG + "x",
    "stars": "Answer:" + "*" * LONG,
    "answers": "answer: " * (LONG // 8),
    "hashes": "#" * LONG,
    "digits": "#### " + "1" * LONG + "x",
    "dollars": "$" * LONG,
    "unicode": "\\boxed{" + "𝟙３①\u202e\x00\ud800" * 100 + "}",
    "fractions": r"\boxed{" + r"\frac{1}{" * 110 + "}" * 111,
    "deep": r"\boxed{" + "(" * 450 + "1" + ")" * 450 + "}",
    "nul": "\x00" * LONG,
    "lines": "\n" * LONG,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_response_scores_zero(name: str, impatient: None) -> None:
    started = time.process_time()
    assert compute_score("any", HOSTILE[name], "13") == {"score": 0.0, "acc": 0.0}
    assert time.process_time() - started < CPU_S  # what this process itself spent: extraction is linear


@pytest.mark.parametrize("bomb", [r"\boxed{9^{9^{9^{9}}}}", r"\boxed{" + "{" * 60 + "1" + "}" * 61])
def test_what_would_never_end_is_ended_in_any_thread(bomb: str, quick: Grader) -> None:
    """And the next answer finds a new process."""
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(quick.agrees, "13", bomb).result(timeout=60 * CPU_S) in (None, False)
        assert pool.submit(quick.agrees, "1/2", r"\boxed{0.5}").result() is True


def test_threads_get_their_own_verdicts() -> None:
    golds = [f"{n}/7" for n in range(60)]
    shared = Grader(most=2)
    with ThreadPoolExecutor(8) as pool:
        verdicts = list(pool.map(lambda n: shared.agrees(golds[n], rf"\boxed{{\frac{{{n - n % 2}}}{{7}}}}"), range(60)))
    shared.close()
    assert verdicts == [n % 2 == 0 for n in range(60)]


def test_process_killed_while_idle_is_replaced(quick: Grader) -> None:
    assert quick.agrees("2", r"\boxed{2.0}") is True
    os.kill(quick._idle[0]._process.pid, signal.SIGKILL)
    quick._idle[0]._process.wait()
    assert quick.agrees("2", r"\boxed{2.0}") is None
    assert quick.agrees("2", r"\boxed{2.0}") is True


def test_processes_end_with_their_parent() -> None:
    code = (
        "from suites.verl.grader import Grader; g = Grader(most=1); g.agrees('1', '1');"
        "print(g._idle[0]._process.pid, flush=True); import os; os.kill(os.getpid(), 9)"
    )
    with os.popen(f'{sys.executable} -c "{code}"') as pipe:
        child = int(pipe.readline())
    for _ in range(600):
        if not Path(f"/proc/{child}").exists():
            return
        threading.Event().wait(0.1)
    pytest.fail("the verifying process outlived its parent")


def test_a_broken_installation_is_not_a_score_of_zero(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "math_verify"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('half an installation')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(NoVerifier, match="install"):
        grader.Grader().agrees("1", "2")


def test_verl_finds_the_function() -> None:
    from verl.utils.import_utils import load_extern_object

    assert load_extern_object(module_path=reward.MODULE, object_name=reward.FUNCTION) is compute_score
