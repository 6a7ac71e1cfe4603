"""One connection to one node without a socket: handshake in any pieces, then answers."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from election.messages import Index, Position, Replica, Term
from qsync.client.connection import PLAIN_HELLO, ClientConnection
from qsync.errors import AccessDenied, ForeignCluster, ProtocolError, QsyncError, TooLarge
from qsync.tls.names import Bearer, CertifiedName
from qsync.wire import limits, replies
from qsync.wire.frames import LENGTH, LENGTH_SIZE
from qsync.wire.session import Acceptor, Greeting, Hello

GREETING = Greeting(cluster="c-1", instance="i-1", replica=Replica(1), name="n1")


def greeted(connection: ClientConnection) -> Acceptor:
    """The node's side, after the greeting."""
    acceptor = Acceptor(GREETING)
    assert connection.received(acceptor.greet()) == []
    return acceptor


def welcomed(hello: Hello = PLAIN_HELLO) -> ClientConnection:
    """A connection on which requests may be sent."""
    connection = ClientConnection(hello)
    acceptor = greeted(connection)
    acceptor.received(connection.out[0][LENGTH_SIZE:])
    assert connection.received(acceptor.accept()) == []
    return connection


@given(cuts=st.lists(st.integers(1, 40)))
def test_a_handshake_may_come_in_any_pieces_with_answers_right_behind(cuts: list[int]) -> None:
    connection, acceptor = ClientConnection(), Acceptor(GREETING)
    came = acceptor.greet() + acceptor_ok() + replies.reply(1, "a") + replies.reply(2, "b")
    payloads: list[bytes] = []
    for size in [*cuts, len(came)]:
        payloads += connection.received(came[:size]) if came else []
        came = came[size:]
    assert connection.ready
    assert len(connection.out) == 1
    assert connection.greeting == GREETING
    assert [replies.decode(each) for each in payloads] == [(1, ["a"]), (2, ["b"])]


def acceptor_ok() -> bytes:
    """What ends a handshake with a client."""
    acceptor = Acceptor(GREETING)
    connection = ClientConnection()
    connection.received(acceptor.greet())
    acceptor.received(connection.out[0][LENGTH_SIZE:])
    return acceptor.accept()


def test_nothing_may_be_sent_before_the_node_has_agreed() -> None:
    connection = ClientConnection()
    greeted(connection)
    assert not connection.ready
    assert welcomed().ready


def test_the_refusal_of_a_node_is_raised_as_it_was_said() -> None:
    connection = ClientConnection()
    acceptor = greeted(connection)
    with pytest.raises(AccessDenied, match="not you"):
        connection.received(acceptor.refuse(AccessDenied("not you")))
    assert not connection.ready


@pytest.mark.parametrize(
    ("hello", "replica"),
    [(replace(PLAIN_HELLO, cluster="c-2"), None), (PLAIN_HELLO, Replica(2))],
    ids=["cluster", "replica"],
)
def test_who_is_not_the_wanted_peer_gets_no_hello(hello: Hello, replica: Replica | None) -> None:
    connection = ClientConnection(hello, replica=replica)
    with pytest.raises(ForeignCluster):
        connection.received(Acceptor(GREETING).greet())
    assert connection.out == []


CERTIFIED = CertifiedName(GREETING.cluster, Bearer.NODE, GREETING.name)


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (replace(CERTIFIED, name="n2"), "n1 shows the certificate of node n2"),
        (replace(CERTIFIED, cluster="c-2"), "shows a certificate of cluster c-2"),
    ],
    ids=["name", "cluster"],
)
def test_who_greets_as_another_than_its_certificate_gets_no_hello(
    shown: CertifiedName, words: str
) -> None:
    connection = ClientConnection()
    connection.certify(shown, b"channel")
    with pytest.raises(ForeignCluster, match=words):
        connection.received(Acceptor(GREETING).greet())
    assert connection.out == []


def test_who_greets_as_its_certificate_is_welcome() -> None:
    connection = ClientConnection()
    connection.certify(CERTIFIED, b"channel")
    assert connection.received(Acceptor(GREETING).greet() + acceptor_ok()) == []
    assert connection.ready


@pytest.mark.parametrize(
    ("data", "error"),
    [(LENGTH.pack(limits.HANDSHAKE_BYTES_MAX + 1), TooLarge), (b"\0\0\0\1\xff", ProtocolError)],
    ids=["long", "nonsense"],
)
def test_a_stranger_who_greets_with_anything_else_is_an_error(
    data: bytes, error: type[QsyncError]
) -> None:
    with pytest.raises(error):
        ClientConnection().received(data)


def test_answers_may_be_larger_than_a_handshake() -> None:
    large = "x" * limits.HANDSHAKE_BYTES_MAX
    (payload,) = welcomed().received(replies.reply(1, large))
    assert replies.decode(payload) == (1, [large])


def test_answers_may_be_larger_than_requests() -> None:
    """Nodes may be configured to take larger transactions, and answer with the rows they left."""
    large = bytes(limits.CLIENT_FRAME_BYTES_MAX)
    (payload,) = welcomed().received(replies.row(1, large, read_from=Position(Term(1), Index(1))))
    _, answer = replies.decode(payload)
    assert isinstance(answer, list)
    assert replies.read_row(answer)[0] == large


def test_a_select_may_have_as_many_rows_as_fit() -> None:
    many = [b"\x81\x01"] * 1_000_001
    (payload,) = welcomed().received(replies.rows(1, many, read_from=Position(Term(1), Index(1))))
    _, answer = replies.decode(payload)
    assert isinstance(answer, list)
    assert len(replies.read_rows(answer)[0]) == len(many)
