"""Asks math-verify in processes that can be killed, from any thread.

A process ends itself when one question has used up its processor time (`suites.verl.verifier`); where it does not
answer at all it is killed. Another one takes its place. They end with the process that started them.
"""

from __future__ import annotations

import json
import logging
import os
import select
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO

from suites.verl.verifier import READY

ROOT = Path(__file__).resolve().parents[2]
CPU_S = 5.0  # math-verify's own default
PATIENCE = 12  # wall-clock seconds a second of processor time, on a machine that does much else
START_S = 120.0  # to import math-verify
log = logging.getLogger(__name__)


class NoVerifier(RuntimeError):
    """math-verify can't be started: no answer could be right, so this must not pass as a reward of 0."""


class Grader:
    """A few verifying processes, started when they are needed and then kept.

    Args:
        cpu_s: processor time in seconds that one question may take.
        most: how many processes at most; further threads wait for one.
    """

    def __init__(self, cpu_s: float = CPU_S, most: int = min(4, os.cpu_count() or 1)) -> None:
        self.cpu_s = cpu_s
        self._free = threading.Semaphore(most)
        self._idle: list[_Verifier] = []  # append and pop are atomic

    def agrees(self, gold: str, text: str) -> bool | None:
        """Whether math-verify takes the answer in `text` for `gold`; None where that took too long, or crashed it.

        Raises:
            NoVerifier: math-verify does not start here.
        """
        with self._free:
            try:
                verifier = self._idle.pop()
            except IndexError:
                verifier = _Verifier(self.cpu_s)
            verdict = verifier.ask({"gold": gold, "text": text})
            if verdict is None:
                verifier.close()
                log.info("an answer of %d characters was given up: %.60r", len(text), text)
            else:
                self._idle.append(verifier)
            return verdict

    def close(self) -> None:
        """End the processes that wait."""
        while self._idle:
            self._idle.pop().close()


class _Verifier:
    """One process; `ask` has it answer or die."""

    def __init__(self, cpu_s: float) -> None:
        self.wall_s = cpu_s * PATIENCE
        self._process = subprocess.Popen(
            [sys.executable, "-m", "suites.verl.verifier", str(cpu_s)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        if self._answer(START_S) != READY:
            self.close()
            raise NoVerifier("math-verify does not start (its error is above): install costaware-bench[verl]")

    def ask(self, question: dict[str, str]) -> bool | None:
        try:
            pipe = self._pipe(self._process.stdin)
            pipe.write(json.dumps(question).encode() + b"\n")
            pipe.flush()
        except OSError:  # killed from outside while it was idle
            return None
        answer = self._answer(self.wall_s)
        return answer == "1" if answer else None

    def _answer(self, wall_s: float) -> str:
        """The next line; empty where the process ended or said nothing in time. A line comes in one write."""
        pipe = self._pipe(self._process.stdout)
        readable, _, _ = select.select([pipe], [], [], wall_s)
        return pipe.readline().decode().strip() if readable else ""

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None  # both were asked for
        return pipe

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                self._pipe(pipe).close()
