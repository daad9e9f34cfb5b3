"""The process that asks math-verify: `python -m suites.verl.verifier CPU_SECONDS`, one question a line.

math-verify's own timeout is an alarm, which only a main thread can have, and verl calls rewards in other threads; so it
runs here, where the kernel ends the whole process when one question takes more than its share of processor time or
memory. That share, not wall-clock time, decides: a busy machine does not make right answers wrong.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import sys
from functools import lru_cache
from typing import Any

from suites.verl.answers import latex

MEMORY = 4 << 30  # bytes of address space: 10^(10^10) ends as a MemoryError
READY = "ready"


def main() -> None:
    """Read {"gold", "text"} a line, answer 1 or 0 a line; ends when its input does."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1, encoding="ascii")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no answer
    _limit_memory()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # the default ends the process, in the middle of whatever it does
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    logging.getLogger("math_verify").setLevel(logging.ERROR)  # it warns that nothing limits its time: we do
    agrees("1", "1")  # imports, and compiles what math-verify compiles once
    print(READY, file=out)
    for line in sys.stdin:
        question = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, float(sys.argv[1]))
        right = agrees(question["gold"], question["text"])
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(int(right), file=out)


def agrees(gold: str, text: str) -> bool:
    """Whether math-verify takes the answer in `text` for `gold`."""
    from math_verify import parse, verify

    try:
        answer = parse(text, parsing_timeout=None)
        return bool(verify(_parsed(gold), answer, timeout_seconds=None))
    except (Exception, MemoryError):  # math-verify lets some of sympy's errors through
        return False


@lru_cache(maxsize=1_000)
def _parsed(gold: str) -> list[Any]:
    from math_verify import parse

    found: list[Any] = parse(latex(gold), parsing_timeout=None)
    return found


def _limit_memory() -> None:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard == resource.RLIM_INFINITY or hard > MEMORY:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))


if __name__ == "__main__":
    main()
