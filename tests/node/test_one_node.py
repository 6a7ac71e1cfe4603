"""Asking one node over real sockets, blocking and with `await`: one class in two shells."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
import trio

from admin.cluster import ask
from admin.cluster.ask import NoAnswer
from election.messages import Replica
from qsync.client.one_node import NodeConnection
from qsync.client.one_node_aio import AsyncNodeConnection
from qsync.errors import FailureReason, ForeignCluster, NoSuchSpace, QsyncError, Unavailable
from qsync.wire import replies
from qsync.wire.connection_states import ConnectionState
from qsync.wire.frames import LENGTH_SIZE, Frames
from qsync.wire.session import Acceptor, Greeting
from qsync.wire.verbs import PlainRequest, Verb

GREETING = Greeting(cluster="c-1", instance="i-1", replica=Replica(7), name="n7")
PING = PlainRequest(1, Verb.PING)
Script = Callable[[socket.socket], None]
Asking = Callable[..., list[object]]


def blocking(address: str, *, timeout: float = 5.0, replica: int | None = None) -> list[object]:
    """One question, blocking."""
    wanted = None if replica is None else Replica(replica)
    with NodeConnection(address, timeout=timeout, replica=wanted) as node:
        return node.ask(PING)


def awaited(address: str, *, timeout: float = 5.0, replica: int | None = None) -> list[object]:
    """The same with `await`."""

    async def ask() -> list[object]:
        wanted = None if replica is None else Replica(replica)
        async with await AsyncNodeConnection.open(address, timeout=timeout, replica=wanted) as node:
            return await node.ask(PING)

    return trio.run(ask)


both = pytest.mark.parametrize("ask", [blocking, awaited])


@contextmanager
def serving(*scripts: Script) -> Iterator[str]:
    """A listener that plays one script on its only connection; its address."""
    with socket.create_server(("127.0.0.1", 0)) as door:

        def play() -> None:
            made, _ = door.accept()
            # Who gives up after a moment may not even have greeted, on a machine that stood still.
            with made, suppress(ConnectionError):
                for script in scripts:
                    script(made)

        thread = threading.Thread(target=play)
        thread.start()
        try:
            yield f"127.0.0.1:{door.getsockname()[1]}"
        finally:
            thread.join()


def welcome(line: socket.socket) -> None:
    """Greet, hear the hello, agree."""
    acceptor, frames = Acceptor(GREETING), Frames()
    line.sendall(acceptor.greet())
    while acceptor.state is not ConnectionState.READY:
        said = line.recv(4096)
        if not said:
            raise ConnectionResetError
        for payload in frames.feed(said):
            acceptor.received(payload)
            line.sendall(acceptor.accept())


def hear(line: socket.socket) -> None:
    """Take one request."""
    assert len(line.recv(4096)) > LENGTH_SIZE


def wait_for_the_end(line: socket.socket) -> None:
    """Say nothing more until the other side has hung up."""
    while line.recv(4096):
        pass


def says(frame: bytes) -> Script:
    """An answer."""
    return lambda line: line.sendall(frame)


@both
def test_the_values_of_an_answer_are_given(ask: Asking) -> None:
    with serving(welcome, hear, says(replies.reply(1, "there")), wait_for_the_end) as address:
        assert ask(address) == ["there"]


@both
def test_the_answer_to_something_else_is_passed_over(ask: Asking) -> None:
    late = says(replies.reply(99, "late"))
    with serving(welcome, hear, late, says(replies.reply(1, "now")), wait_for_the_end) as address:
        assert ask(address) == ["now"]


@both
def test_an_error_that_was_answered_is_raised(ask: Asking) -> None:
    answer = says(replies.failed(1, NoSuchSpace("no space s")))
    with serving(welcome, hear, answer, wait_for_the_end) as address, pytest.raises(NoSuchSpace):
        ask(address)


@both
def test_where_nobody_listens_the_reason_is_a_refusal(ask: Asking) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        address = f"127.0.0.1:{door.getsockname()[1]}"
    with pytest.raises(Unavailable) as caught:
        ask(address)
    assert caught.value.reason is FailureReason.REFUSED
    assert caught.value.message == f"{address}: Connection refused"
    assert caught.value.details == {"nodes": {address: "Connection refused"}}


@both
@pytest.mark.parametrize("scripts", [(), (welcome,)], ids=["handshake", "answer"])
def test_a_node_that_says_nothing_is_late(ask: Asking, scripts: tuple[Script, ...]) -> None:
    with serving(*scripts, wait_for_the_end) as address, pytest.raises(Unavailable) as caught:
        ask(address, timeout=0.1)
    assert caught.value.reason is FailureReason.TIMED_OUT
    assert caught.value.message == f"{address}: no answer in time"


def test_a_late_answer_is_not_taken_for_that_to_the_next_question() -> None:
    given_up = threading.Event()

    def late(line: socket.socket) -> None:
        assert given_up.wait(10)
        with suppress(ConnectionError):
            line.sendall(replies.reply(1, "late"))
            wait_for_the_end(line)

    with serving(welcome, hear, late) as address, NodeConnection(address) as node:
        with pytest.raises(Unavailable) as caught:
            node.ask(PING, timeout=0.05)
        assert caught.value.reason is FailureReason.TIMED_OUT
        given_up.set()
        with pytest.raises(Unavailable):
            node.ask(PING)


@both
@pytest.mark.parametrize("scripts", [(), (welcome, hear)], ids=["handshake", "answer"])
def test_a_node_that_hangs_up_broke_the_connection(
    ask: Asking, scripts: tuple[Script, ...]
) -> None:
    with serving(*scripts) as address, pytest.raises(Unavailable) as caught:
        ask(address)
    assert caught.value.reason is FailureReason.BROKEN
    assert caught.value.message == f"{address}: it hung up"


@both
def test_another_replica_than_the_wanted_one_is_not_asked(ask: Asking) -> None:
    greet = says(Acceptor(GREETING).greet())
    with serving(greet, wait_for_the_end) as address, pytest.raises(ForeignCluster):
        ask(address, replica=8)


@both
def test_what_is_no_address_is_unavailable_in_words(ask: Asking) -> None:
    with pytest.raises(QsyncError, match="is not an address"):
        ask("127.0.0.1:nix")


def test_an_order_that_nobody_heard_is_not_in_doubt_and_any_other_is() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        address = f"127.0.0.1:{door.getsockname()[1]}"
    with pytest.raises(Unavailable):
        ask.change(address, PING, timeout=1)
    with serving(welcome, hear) as address, pytest.raises(NoAnswer):
        ask.change(address, PING, timeout=1)
