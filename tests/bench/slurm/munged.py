"""The authentication daemon: one per machine, shared by the test sessions that run at the same time."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

USERS, CHANGES = Path("/run/lock/costaware-tests-munge"), Path("/run/lock/costaware-tests-munge-changes")


@contextmanager
def munge() -> Iterator[None]:
    """munged, which all clusters of a machine share: started if none answers, stopped by the last one that used it.

    (The database clients of Slurm 22.05 know its default socket only.) Users hold USERS shared; who changes something
    holds CHANGES. USERS has the id of the munged that we started, if we did.
    """
    with USERS.open("a+") as users, CHANGES.open("w") as changes:
        with _locked(changes):
            if subprocess.run(["munge", "-n"], capture_output=True, timeout=30).returncode:
                subprocess.run(["install", "-d", "-o", "munge", "-g", "munge", "-m", "755", "/run/munge"], check=True)
                subprocess.run(["runuser", "-u", "munge", "--", "/usr/sbin/munged"], check=True, timeout=30)
                users.truncate(0)
                users.write(Path("/run/munge/munged.pid").read_text())
                users.flush()
            fcntl.flock(users, fcntl.LOCK_SH)
        try:
            yield
        finally:
            with _locked(changes), suppress(BlockingIOError):  # another one uses it: that one will stop it
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _stop_munged(users)


def _stop_munged(users: TextIO) -> None:
    users.seek(0)
    started = users.read().strip()
    users.truncate(0)
    with suppress(FileNotFoundError, ProcessLookupError):
        if started and Path(f"/proc/{started}/comm").read_text().strip() == "munged":
            os.kill(int(started), signal.SIGTERM)


@contextmanager
def _locked(file: TextIO) -> Iterator[None]:
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
