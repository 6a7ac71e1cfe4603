"""Answers in turns: every connection has one before any has a second."""

from collections.abc import Iterator

import pytest

from qsync.node.connection import UNSENT_BYTES_MAX, ClosedBy, Connection
from qsync.node.due import DUE_SECONDS_MAX, SLICES_SECONDS_MAX, Due
from qsync.node.system import SYSTEM


@pytest.fixture
def three() -> Iterator[list[Connection]]:
    socks = [SYSTEM.socket(2) for _ in range(3)]
    yield [Connection(each, frame_bytes_max=1, opened_at=0.0) for each in socks]
    for each in socks:
        each.close()


class Given:
    """What was answered, in order; each answer takes `cost` seconds."""

    def __init__(self, cost: float = 0.0) -> None:
        self.answers: list[object] = []
        self.now = 0.0
        self._cost = cost

    def clock(self) -> float:
        return self.now

    def give(self, _: Connection, question: object) -> None:
        self.now += self._cost
        self.answers.append(question)


def test_every_connection_has_a_turn_before_any_has_a_second(three: list[Connection]) -> None:
    given = Given()
    due = Due(clock=given.clock)
    for name, connection in zip("abc", three, strict=True):
        for number in range(3 if name == "a" else 2):
            due.add(connection, given.give, f"{name}{number}")
    due.work()
    assert given.answers == ["a0", "b0", "c0", "a1", "b1", "c1", "a2"]
    assert len(due) == 0


def test_who_does_not_read_its_answers_waits_and_nobody_else_does(three: list[Connection]) -> None:
    given = Given()
    due = Due(clock=given.clock)
    for name, connection in zip("abc", three, strict=True):
        for number in range(2):
            due.add(connection, given.give, f"{name}{number}")
    three[0].unsent = UNSENT_BYTES_MAX
    due.work()
    assert given.answers == ["b0", "c0", "b1", "c1"]
    assert not due.ready
    three[0].unsent = 0
    assert due.ready
    due.work()
    assert given.answers[4:] == ["a0", "a1"]


def test_nothing_is_answered_on_a_connection_that_is_closed(three: list[Connection]) -> None:
    given = Given()
    due = Due(clock=given.clock)
    for connection in three:
        due.add(connection, given.give, connection)
    three[1].closed = ClosedBy.OTHER_SIDE
    due.work()
    assert given.answers == [three[0], three[2]]
    assert len(due) == 0


def test_a_pass_ends_in_time_and_gives_one_answer_at_least(three: list[Connection]) -> None:
    given = Given(cost=DUE_SECONDS_MAX)
    due = Due(clock=given.clock)
    for connection in three:
        due.add(connection, given.give, "slow")
    due.work()
    assert len(given.answers) == 1
    assert due.ready


def test_a_long_answer_is_given_in_slices_between_those_of_the_others(
    three: list[Connection],
) -> None:
    given = Given(cost=SLICES_SECONDS_MAX / 4)
    due = Due(clock=given.clock)

    def slice_(connection: Connection, left: int) -> int | None:
        given.give(connection, f"slice {left}")
        return left - 1 or None

    due.add(three[0], slice_, 4)
    due.add(three[0], given.give, "a1")
    for number in range(2):
        due.add(three[1], given.give, f"b{number}")
    due.work()
    assert given.answers == ["slice 4", "b0", "slice 3", "b1"]  # and then peers have their turn
    due.work()
    assert given.answers[4:] == ["slice 2", "slice 1", "a1"]
    assert len(due) == 0


def test_an_answer_that_fails_costs_its_connection_only(three: list[Connection]) -> None:
    given = Given()
    failed: list[Connection] = []
    due = Due(failed=lambda connection, _: failed.append(connection), clock=given.clock)

    def broken(_: Connection, question: object) -> None:
        raise ValueError(question)

    due.add(three[0], broken, "odd")
    due.add(three[1], given.give, "good")
    due.work()
    assert failed == [three[0]]
    assert given.answers == ["good"]
