from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from suites.task import Ledger, Point
from suites.verl.cluster import state
from suites.verl.cluster.channel import Receiver, Sender
from suites.verl.cluster.state import State
from suites.verl.marks import Marks


def checkpoint(workdir: Path, step: int) -> Path:
    found = workdir / state.FOLDER / f"{state.STEP}{step}"
    (found / "actor").mkdir(parents=True)
    return found


def test_only_a_whole_checkpoint_counts(tmp_path: Path) -> None:
    assert state.latest(tmp_path) is None
    assert state.recorded(tmp_path) == 0
    first, second = checkpoint(tmp_path, 2), checkpoint(tmp_path, 10)
    kept = State(step=2, mark=1, recorded=5, ledger=Ledger(backward=7.0))
    state.save(first, kept)
    assert not second.exists()  # saving one removes the others
    checkpoint(tmp_path, 10)  # killed in the middle of this one
    assert state.latest(tmp_path) == first
    assert (state.recorded(tmp_path), state.load(first)) == (5, kept)
    state.prune(tmp_path / state.FOLDER, first)
    assert [path.name for path in (tmp_path / state.FOLDER).iterdir()] == ["global_step_2"]


def test_newest_is_by_number_not_by_name(tmp_path: Path) -> None:
    for step in (9, 10):
        (checkpoint(tmp_path, step) / state.NAME).write_text("{}")
    assert state.latest(tmp_path) == tmp_path / state.FOLDER / "global_step_10"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.close()


def point(step: int) -> Point:
    return Point(step, "train", "reward", 0.5, Ledger(backward=10.0 * step), n=4, diagnostics={"loss": 0.1})


def test_points_arrive_in_order_and_are_answered_when_taken(receiver: Receiver) -> None:
    settled = threading.Event()

    def trainer() -> None:
        sender = Sender(receiver.address)
        for step in range(3):
            sender.send(point(step))
        sender.settle()
        settled.set()
        sender.socket.close()

    thread = threading.Thread(target=trainer)
    thread.start()
    points = receiver.points(alive=lambda: True)
    assert [next(points) for _ in range(3)] == [point(step) for step in range(3)]
    assert not settled.is_set()  # the third is taken, not yet recorded
    assert list(points) == []
    thread.join()
    assert settled.is_set()


def test_a_trainer_that_never_calls_ends_the_wait(receiver: Receiver) -> None:
    assert list(receiver.points(alive=lambda: False)) == []


def test_half_a_line_is_no_point(receiver: Receiver) -> None:
    sender = Sender(receiver.address)
    sender.send(point(1))
    sender.socket.sendall(b'{"step": 2')
    sender.socket.close()
    assert list(receiver.points(alive=lambda: True)) == [point(1)]


def test_a_stranger_is_turned_away(receiver: Receiver) -> None:
    Sender(f"{receiver.address.partition(':')[0]}:guess")
    with pytest.raises(ConnectionError, match="somebody else"):
        list(receiver.points(alive=lambda: True))


def test_settling_notices_that_nobody_records_any_more(receiver: Receiver) -> None:
    sender = Sender(receiver.address)
    sender.send(point(1))
    points = receiver.points(alive=lambda: True)
    next(points)
    points.close()
    with pytest.raises(ConnectionError, match="is gone"):
        sender.settle()


def test_marks_are_due_at_the_first_step_past_each() -> None:
    marks = Marks(budget=100.0, evaluations=4)
    assert marks.due(0, 0.0)
    assert [marks.due(1, spent) for spent in (24.9, 25.0, 70.0)] == [False, True, True]
    assert [marks.after(spent) for spent in (0.0, 25.0, 70.0, 100.0)] == [1, 2, 3, 5]
    assert [marks.done(mark) for mark in (4, 5)] == [False, True]
