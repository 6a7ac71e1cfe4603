"""Requests that wait for an answer, and the time of the next check for timeouts."""

from qsync.errors import Unanswered
from qsync.node.connection import Connection
from qsync.node.effects import Socket
from qsync.node.system import SYSTEM
from qsync.node.tickets import SPARE, AskTicket, Deadlines, ReadTicket, Tickets, number_of
from qsync.node.timers import FAR
from qsync.wire.verbs import GetRequest


def waiting(sock: Socket) -> AskTicket:
    connection = Connection(sock, frame_bytes_max=1, opened_at=0.0)
    return AskTicket(connection, 1, lambda _: None, write=False, late=Unanswered("late"))


def test_while_nobody_waits_nobody_is_looked_for() -> None:
    sock = SYSTEM.socket(2)
    tickets = Tickets()
    assert tickets.expires_at == FAR
    for number, deadline in ((1, 5.0), (2, 3.0), (3, 4.0)):
        tickets.put(number, waiting(sock), deadline=deadline)
    assert tickets.expires_at == 3.0
    tickets.pop(2)
    assert tickets.expires_at == 4.0
    tickets.pop(1)
    assert [number for number, _ in tickets.overdue(4.0)] == [3]
    assert tickets.expires_at == FAR
    sock.close()


def test_who_waits_for_a_shorter_time_is_found_before_those_who_asked_earlier() -> None:
    deadlines = Deadlines()
    for ticket, deadline in ((1, 5.0), (2, 6.0), (3, 2.0), (4, 6.0), (5, 1.0)):
        deadlines.add(deadline, ticket)
    assert deadlines.soonest({1, 2, 3, 4}) == 2.0
    assert deadlines.pop_overdue(5.5) == [3, 1]
    assert deadlines.soonest({4}) == 6.0
    assert deadlines.pop_overdue(7.0) == [4]


def test_deadlines_of_what_was_answered_are_not_kept_behind_one_that_waits() -> None:
    deadlines = Deadlines()
    for ticket in range(3 * SPARE):
        deadlines.add(100.0 + ticket, ticket)
        deadlines.add(50.0, 10_000 + ticket)
    waiting = {0, 10_000}
    deadlines.trim(waiting, len(waiting))
    assert len(deadlines) == 2
    assert deadlines.pop_overdue(200.0) == [10_000, 0]


def test_reads_and_writes_that_wait_too_long_are_found_together() -> None:
    sock = SYSTEM.socket(2)
    tickets = Tickets()
    tickets.put(1, waiting(sock), deadline=9.0)
    connection = Connection(sock, frame_bytes_max=1, opened_at=0.0)
    asked = GetRequest(7, "kv", 0, [1])
    tickets.put_read(2, ReadTicket(connection, asked), deadline=5.0)
    assert tickets.expires_at == 5.0
    assert [(number, number_of(each)) for number, each in tickets.overdue(9.0)] == [(1, 1), (2, 7)]
    sock.close()
