"""Whatever clients send, a node answers or hangs up, and goes on: only typed errors come of it."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio
from hypothesis import example, given
from hypothesis import strategies as st

from qsync.config import NodeConfig
from qsync.errors import QsyncError
from qsync.node.assembly import found_cluster
from qsync.node.connection import Connection
from qsync.node.node import Node, open_node
from qsync.wire import replies
from qsync.wire.frames import Frames
from tests.fuzz.asked import CORPUS, PAYLOADS, ROW, SEED, SESSION, write
from tests.fuzz.hostile import dumps

PING = 99
FRAME_BYTES_MAX = 1 << 30


class Client:
    """A connection to a node that is in the same process, and what it hears."""

    def __init__(self, node: Node) -> None:
        self.node = node
        here, self._there = socket.socketpair()
        here.setblocking(False)
        self.connection = Connection(here, frame_bytes_max=1, opened_at=0.0)
        self._there.setblocking(False)
        self._frames = Frames(FRAME_BYTES_MAX)

    def ask(self, payload: bytes) -> list[int]:
        """Let the node take it in a batch of its own; the ids of what is answered by then."""
        node = self.node
        node._begin()
        try:
            node.requests.handle_frames(self.connection, [payload])
        except QsyncError:
            pass  # the reactor would hang up
        node._turn()
        node.requests.expire()
        node.requests.queries.tick()
        node._turn()
        return [replies.decode(answer)[0] for answer in self._heard()]

    def _heard(self) -> Iterator[bytes]:
        while True:
            try:
                data = self._there.recv(1 << 20)
            except BlockingIOError:
                return
            yield from self._frames.feed(data)

    def close(self) -> None:
        self.node.reactor.close(self.connection, "the test is over")
        self._there.close()


def config(path: Path) -> NodeConfig:
    flags = {"node.dir": str(path), "listen": "127.0.0.1:0", "store.writer": "inline"}
    return NodeConfig.load(None, {}, flags)


@contextmanager
def client(node: Node) -> Iterator[Client]:
    made = Client(node)
    node.reactor.add(made.connection)
    try:
        yield made
    finally:
        made.close()


def lay_out(asking: Client) -> bytes:
    """Two spaces, one with a second index, and a session, whose id is returned."""
    fields = [["id", "unsigned"], ["name", "string?"]]
    for name in ("plain", "indexed"):
        primary = {"primary": [[1, "unsigned"]], "format": fields, "if_not_exists": True}
        asking.ask(write([10, name, primary]))
    second = {"parts": [[2, "string"]], "unique": False, "if_not_exists": True}
    asking.ask(write([13, "indexed", "name", second]))
    asking.ask(write([2, "plain", ROW], [2, "indexed", ROW], [30, SEED]))
    known = asking.node.replica.state.sessions.head
    (session, *others) = [each for each in known if len(each) == len(SESSION)]
    asking.ask(write(*([31, other] for other in others)))
    return session


@pytest.mark.parametrize("kind", sorted(PAYLOADS))
async def test_no_request_ends_a_node(tmp_path: Path, kind: str) -> None:
    mine = config(tmp_path)
    found_cluster([mine])
    async with open_node(mine) as node:
        while node.replica.machine.leader is None:
            await trio.lowlevel.checkpoint()
        with client(node) as asking:

            @given(st.lists(PAYLOADS[kind], min_size=1, max_size=3))
            def check(payloads: list[bytes]) -> None:
                session = lay_out(asking)
                for payload in payloads:
                    asking.ask(payload.replace(SESSION, session))
                assert PING in asking.ask(dumps([PING, 1]))

            for payload in CORPUS:
                check = example([payload])(check)
            check()
