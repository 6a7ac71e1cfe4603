"""A running node among strangers that send anything: it lives, serves others, and does not grow."""

import contextlib
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admin.cluster import ask
from admin.lab import lab
from qsync.status import decode
from tests.examples import scaled
from tests.fuzz.asked import CORPUS, PAYLOADS
from tests.fuzz.hostile import framed
from tests.live.real import put, running
from tests.live.test_bad_input import frame, hello, payload, stranger

pytestmark = pytest.mark.slow

GROWTH_MIB_MAX = 100
"""More than what answers and buffers of a hundred rough clients take, and less than any leak."""
ASKED = st.one_of(PAYLOADS["write"], PAYLOADS["other"])
"""Not options: a node that is told to lead no more is right not to."""
HOLDERS, HELD_BYTES = 50, 1 << 20


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Lab]:
    with running(tmp_path_factory.mktemp("rough") / "one", nodes=1) as found:
        put(found, [1, "before"])
        yield found


def memory_mib(found: lab.Lab) -> float:
    """What the node's process has in memory."""
    process = found.nodes[0].process
    assert process is not None, found.nodes[0].log.read_text()[-2000:]
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    size = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert size is not None
    return int(size[1]) / 1024


def serves(found: lab.Lab) -> None:
    """Others are answered as ever."""
    node = found.nodes[0]
    assert decode.status(ask.status(node.address, timeout=10)).status == "running"
    put(found, [2, "meanwhile"])


@contextlib.contextmanager
def client(found: lab.Lab) -> Iterator[socket.socket]:
    """A connection whose handshake is over."""
    sock, _ = stranger(found.addresses[0])
    with sock:
        sock.sendall(frame(hello()))
        assert payload(sock) == ["ok"]
        yield sock


def send(sock: socket.socket, data: bytes) -> None:
    """What the node does not want any more need not arrive."""
    with contextlib.suppress(ConnectionError):
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(1 << 16):
            pass


def test_rough_clients_end_their_own_connections_only(one: lab.Lab) -> None:
    before = memory_mib(one)
    pid = one.nodes[0].process

    @settings(max_examples=scaled(100))
    @given(st.lists(ASKED, min_size=1, max_size=4), st.randoms())
    def check(payloads: list[bytes], dice: Random) -> None:
        with client(one) as sock:
            data = b"".join(map(framed, payloads))
            send(sock, data[: dice.randint(1, len(data))] if dice.random() < 0.2 else data)

    check()
    for each in CORPUS:
        with client(one) as sock:
            send(sock, framed(each))
    serves(one)
    assert one.nodes[0].process == pid, "the node was started again"
    assert memory_mib(one) - before < GROWTH_MIB_MAX


def test_strangers_that_never_say_hello_are_dropped_by_their_bytes(one: lab.Lab) -> None:
    before = memory_mib(one)

    @settings(max_examples=scaled(50))
    @given(st.lists(st.one_of(st.binary(max_size=200), st.binary().map(framed)), max_size=5))
    def check(said: list[bytes]) -> None:
        sock, _ = stranger(one.addresses[0])
        with sock:
            send(sock, b"".join(said))

    check()
    serves(one)
    assert memory_mib(one) - before < GROWTH_MIB_MAX


def test_frames_that_are_begun_and_never_ended_take_what_was_sent_and_no_more(one: lab.Lab) -> None:
    before = memory_mib(one)
    with contextlib.ExitStack() as open_ones:
        for _ in range(HOLDERS):
            sock = open_ones.enter_context(client(one))
            sock.sendall((16 << 20).to_bytes(4, "big") + bytes(HELD_BYTES))
        serves(one)
        held = memory_mib(one) - before
        assert held < HOLDERS * HELD_BYTES / (1 << 20) * 2 + GROWTH_MIB_MAX
    serves(one)
    assert memory_mib(one) - before < GROWTH_MIB_MAX
