"""Stretches of a node's log, packed step by step while the node does everything else."""

import socket
from collections.abc import Iterator

import pytest

from election.messages import Index
from qsync.errors import Damaged, Overloaded
from qsync.node import log_export
from qsync.node.connection import ClosedBy, Connection
from qsync.node.log_export import LogExports
from qsync.record import HEADER
from qsync.wire import packed
from qsync.wire.verbs import PackedRequest
from tests.node.lone import Lone, row

WRITES = 40


@pytest.fixture
def lone() -> Lone:
    found = Lone()
    found.write([10, "things", {"primary": [[1, "unsigned"]], "is_sync": True}])
    for number in range(WRITES):
        found.write([2, "things", row(number, "x" * number)])
    return found


@pytest.fixture
def asker() -> Iterator[Connection]:
    here, there = socket.socketpair()
    with here, there:
        yield Connection(here, frame_bytes_max=1 << 20, opened_at=0.0)


@pytest.fixture
def room(lone: Lone) -> LogExports:
    replicated_log = lone.replica.machine.replicated_log
    return LogExports(replicated_log, lone.log.read, send=lone.send, flush=lambda: None)


def work(room: LogExports) -> int:
    """Step until there is nothing left; how often."""
    steps = 0
    while len(room):
        room.step()
        steps += 1
    return steps


def answer(lone: Lone) -> packed.PackedAnswer:
    (found,) = lone.answers()
    assert isinstance(found, list)
    return packed.read(found)


def indexes(found: packed.PackedAnswer) -> list[int]:
    rows = found.rows
    return [
        int(HEADER.unpack_from(rows.slab, at)[0]) for at in range(0, len(rows.slab), rows.width)
    ]


def test_an_answer_has_the_asked_entries_whatever_the_records_are(
    lone: Lone, room: LogExports, asker: Connection
) -> None:
    last = int(lone.replica.machine.replicated_log.log.last)
    for first, count in ((1, 1000), (7, 5), (last, 10), (last + 1, 10), (3, 0)):
        room.ask(asker, PackedRequest(1, Index(first), count, 16))
        work(room)
        found = answer(lone)
        upto = min(last, first + count - 1)
        assert indexes(found) == list(range(first, upto + 1))
        assert (found.reached, found.durable) == (upto, last)
        assert found.before == lone.replica.machine.replicated_log.log.crc_at(first - 1)


def test_a_step_is_small_and_everybody_gets_one_in_turn(
    lone: Lone, room: LogExports, asker: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_export, "STEP_ENTRIES", 10)
    last = int(lone.replica.machine.replicated_log.log.last)
    room.ask(asker, PackedRequest(1, Index(1), last, 0))
    room.ask(asker, PackedRequest(2, Index(1), 10, 0))
    room.step()
    assert not lone.said
    room.step()
    assert indexes(answer(lone)) == list(range(1, 11))
    assert work(room) >= last // 10 - 1
    assert indexes(answer(lone)) == list(range(1, last + 1))


def test_only_so_many_may_ask_at_once(room: LogExports, asker: Connection) -> None:
    for number in range(log_export.ASKED_MAX):
        room.ask(asker, PackedRequest(number, Index(1), 10, 0))
    with pytest.raises(Overloaded):
        room.ask(asker, PackedRequest(99, Index(1), 10, 0))


def test_who_hung_up_costs_nothing_more(lone: Lone, room: LogExports, asker: Connection) -> None:
    room.ask(asker, PackedRequest(1, Index(1), 10, 0))
    asker.closed = ClosedBy.US
    assert work(room) == 1
    assert not lone.said


def test_what_is_not_durable_is_not_in_an_answer(
    lone: Lone, room: LogExports, asker: Connection
) -> None:
    last = int(lone.replica.machine.replicated_log.log.last)
    done = lone.submit([2, "things", row(99, "pending")])
    assert done.index > last
    room.ask(asker, PackedRequest(1, Index(last), 10, 0))
    work(room)
    assert indexes(answer(lone)) == [last]


def test_an_answer_begins_anew_when_the_log_was_cut_meanwhile(
    lone: Lone, room: LogExports, asker: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_export, "STEP_ENTRIES", 10)
    replicated_log = lone.replica.machine.replicated_log
    room.ask(asker, PackedRequest(1, Index(1), 30, 0))
    room.step()
    replicated_log.cuts += 1
    replicated_log.pending_writes.written = Index(15)
    work(room)
    assert indexes(answer(lone)) == list(range(1, 16))


def test_a_log_that_does_not_hold_the_asked_is_told_as_damage(
    lone: Lone, asker: Connection
) -> None:
    def beyond(first: Index, *, bytes_max: int) -> bytes:
        return lone.log.read(Index(first + 5), bytes_max=bytes_max)

    room = LogExports(
        lone.replica.machine.replicated_log, beyond, send=lone.send, flush=lambda: None
    )
    room.ask(asker, PackedRequest(1, Index(1), 10, 0))
    work(room)
    (error,) = lone.answers()
    assert isinstance(error, Damaged)
