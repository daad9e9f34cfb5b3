"""Points on their way from verl's trainer, a process of ray's, to the one that records them.

Lines of JSON over a socket of this machine. Each is answered when it is on record, so that a checkpoint never leads the
records: the trainer saves none before all its Points are answered for.
"""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from suites.task import Ledger, Point

POLL_S = 0.5
ANSWER = b"\n"
HOST = "127.0.0.1"


class Sender:
    """The trainer's end. `address` is what `Receiver.address` says."""

    def __init__(self, address: str) -> None:
        port, _, key = address.partition(":")
        self.socket = socket.create_connection((HOST, int(port)))
        self.socket.sendall(f"{key}\n".encode())
        self.sent = self.answered = 0

    def send(self, point: Point) -> None:
        """Hand a Point over; `settle` says when it is on record."""
        self.socket.sendall(json.dumps(asdict(point), default=float).encode() + b"\n")
        self.sent += 1

    def settle(self) -> None:
        """Wait until everything that was sent is on record.

        Raises:
            ConnectionError: the other end is gone.
        """
        while self.answered < self.sent:
            got = self.socket.recv(4096)
            if not got:
                raise ConnectionError("the process that records this run's points is gone")
            self.answered += len(got)

    def close(self) -> None:
        """Hang up when everything is on record."""
        self.settle()
        self.socket.close()


class Receiver:
    """The recording end."""

    def __init__(self) -> None:
        self.listener = socket.create_server((HOST, 0))
        self.key = secrets.token_hex(16)

    @property
    def address(self) -> str:
        """What a Sender needs: port and key."""
        return f"{self.listener.getsockname()[1]}:{self.key}"

    def points(self, alive: Callable[[], bool]) -> Iterator[Point]:
        """Points as they come, until the sender hangs up, or it never called and `alive` says that it won't.

        A Point is answered for when the next one is asked for: by then its taker has recorded it.
        """
        connection = self._accept(alive)
        if connection is None:
            return
        with connection, connection.makefile("rb") as lines:
            if lines.readline().decode().strip() != self.key:
                raise ConnectionError("somebody else called in the trainer's place")
            for line in _until_gone(lines):
                if not line.endswith(b"\n"):  # killed in the middle of it
                    return
                yield _point(json.loads(line))
                with suppress(OSError):  # it may have hung up after its last Point
                    connection.sendall(ANSWER)

    def close(self) -> None:
        """Free the port."""
        self.listener.close()

    def _accept(self, alive: Callable[[], bool]) -> socket.socket | None:
        self.listener.settimeout(POLL_S)
        while True:
            try:
                connection, _ = self.listener.accept()
            except TimeoutError:
                if not alive():
                    return None
            else:
                connection.setblocking(True)
                return connection


def _until_gone(lines: Iterable[bytes]) -> Iterator[bytes]:
    with suppress(ConnectionResetError):  # it was killed with answers unread
        yield from lines


def _point(tree: dict[str, Any]) -> Point:
    return Point(**tree | {"ledger": Ledger(**tree["ledger"])})
