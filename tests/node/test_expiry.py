"""Sessions of clients end when they were silent for long, whatever they asked before."""

import socket
from collections.abc import Iterator

import pytest

from qsync.errors import DuplicateKey
from qsync.node.answers import VisibleReads
from qsync.node.connection import Connection
from qsync.node.due import Due
from qsync.node.expiry import Expiry
from qsync.node.requests import ClientRequests
from qsync.wire import requests
from qsync.wire.frames import LENGTH_SIZE
from qsync.wire.verbs import WriteFlags, WriteRequest
from tests.node.lone import Lone, row

TTL = 100.0
INSERT = 1


class Desk(VisibleReads):
    """The requests of a node alone, with one client."""

    def __init__(self, lone: Lone, client: Connection) -> None:
        self._replica = lone.replica
        self.client = client
        self.expiry = Expiry(lone.replica, ttl=TTL)
        self.requests = ClientRequests(
            lone.replica,
            self,
            step=lone.replica.step,
            send=lone.send,
            leader_address=lambda: None,
            now=lambda: lone.now,
            inflight_max=5,
            expiry=self.expiry,
            due=Due(clock=lambda: 0.0),
        )

    def write(self, session: bytes, key: int, flags: int) -> None:
        write = WriteRequest(1, session, key, 1, flags, [[INSERT, "things", row(key)]])
        frame = requests.encode(write)
        self.requests.handle_frames(self.client, [frame[LENGTH_SIZE:]])


@pytest.fixture
def lone() -> Lone:
    found = Lone()
    found.write([10, "things", {"primary": [[1, "unsigned"]]}])
    found.write([30, b"client"])
    return found


@pytest.fixture
def desk(lone: Lone) -> Iterator[Desk]:
    here, there = socket.socketpair()
    with here, there:
        yield Desk(lone, Connection(here, frame_bytes_max=1 << 20, opened_at=0.0))


@pytest.mark.parametrize("flags", [WriteFlags.NONE, WriteFlags.SUBMIT, WriteFlags.NO_WAIT])
@pytest.mark.parametrize("refused", [False, True])
def test_a_session_lives_as_long_as_its_client_writes(
    lone: Lone, desk: Desk, flags: WriteFlags, refused: bool
) -> None:
    (session,) = lone.replica.state.sessions.head
    if refused:
        lone.write([INSERT, "things", row(7)])
    assert desk.expiry.sweep(lone.now) == 0
    lone.now = 0.9 * TTL
    desk.write(session, 7, int(flags))
    lone.settle()
    assert any(isinstance(each, DuplicateKey) for each in lone.answers()) is refused
    lone.now = 1.8 * TTL
    assert desk.expiry.sweep(lone.now) == 0
    assert session in lone.replica.state.sessions.head
    lone.now = 2.0 * TTL
    assert desk.expiry.sweep(lone.now) == 1
    assert session not in lone.replica.state.sessions.head


def test_who_uses_a_session_that_another_leader_opened_is_counted_for_it(
    lone: Lone, desk: Desk
) -> None:
    """By the users of the connections; nobody else is counted for a session that is not there."""
    (session,) = lone.replica.state.sessions.head
    desk.client.turn.user = "ann"
    desk.expiry.sweep(lone.now)
    desk.write(session, 7, int(WriteFlags.NONE))
    desk.write(b"never opened", 8, int(WriteFlags.NONE))
    assert lone.replica.raw.holders._users == {session: "ann"}
    lone.write([31, session])
    desk.expiry.sweep(lone.now)
    assert lone.replica.raw.holders._users == {}


def test_sessions_that_nobody_opened_are_not_remembered(lone: Lone, desk: Desk) -> None:
    assert desk.expiry.sweep(lone.now) == 0
    for seed in range(50):
        desk.write(bytes([seed]) * 20, 1, int(WriteFlags.NONE))
    assert len(desk.expiry._used) == 1
