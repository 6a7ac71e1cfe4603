"""The handshake: greeting, hello, "ok" or "no", and every way in which it can go wrong."""

import contextlib
from dataclasses import replace

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from election.messages import Replica, Term
from qsync.errors import (
    AccessDenied,
    ForeignCluster,
    Overloaded,
    ProtocolError,
    QsyncError,
    WrongVersion,
)
from qsync.wire import limits
from qsync.wire.frames import Frames
from qsync.wire.proofs import SecretKeys
from qsync.wire.session import (
    Acceptor,
    ConnectionState,
    Dialer,
    Greeting,
    Hello,
    Party,
    decode_greeting,
    decode_hello,
    encode_greeting,
    encode_hello,
)

GREETING = Greeting(
    cluster="c-1",
    instance="i-1",
    replica=Replica(1),
    name="n1",
    term=Term(3),
    features=("a",),
    nonce=b"g" * 32,
)
PEER = Hello(
    party=Party.PEER,
    cluster="c-1",
    instance="i-2",
    replica=2,
    name="n2",
    epoch=7,
    nonce=b"h" * 32,
)
CLIENT = Hello(party=Party.CLIENT, user="ann")


def payload(framed: bytes | None) -> bytes:
    assert framed is not None
    (only,) = Frames().feed(framed)
    return only


def shake(acceptor: Acceptor, dialer: Dialer) -> None:
    hello = dialer.received(payload(acceptor.greet()))
    acceptor.received(payload(hello))
    assert dialer.received(payload(acceptor.accept())) is None


@pytest.mark.parametrize("hello", [PEER, CLIENT], ids=["peer", "client"])
def test_both_sides_are_ready_after_a_good_handshake(hello: Hello) -> None:
    acceptor, dialer = Acceptor(GREETING), Dialer(hello, replica=Replica(1))
    shake(acceptor, dialer)
    assert acceptor.state is dialer.state is ConnectionState.READY
    assert acceptor.hello == hello
    assert dialer.greeting == GREETING


names = st.text(max_size=20)


@given(
    st.builds(
        Greeting,
        cluster=names,
        instance=names,
        replica=st.integers(1, 31).map(Replica),
        name=names,
        features=st.lists(names, max_size=3).map(tuple),
        versions=st.just((1, 5)),
    )
)
def test_a_greeting_comes_back_as_it_was(greeting: Greeting) -> None:
    assert decode_greeting(payload(encode_greeting(greeting))) == greeting


@given(
    st.builds(
        Hello,
        party=st.sampled_from(Party),
        cluster=st.none() | names,
        instance=st.none() | names,
        replica=st.integers(0, 31),
        name=names,
        epoch=st.integers(0, 2**64 - 1),
        user=st.none() | names,
        features=st.lists(names, max_size=3).map(tuple),
    )
)
def test_a_hello_comes_back_as_it_was(hello: Hello) -> None:
    assert decode_hello(payload(encode_hello(hello))) == hello


SECRET = b"a secret of this cluster"


def with_secret(secret: bytes) -> tuple[str, ...]:
    return ("secret",) if secret else ()


def sides(acceptors: bytes, dialers: bytes) -> tuple[Acceptor, Dialer]:
    """A node and the peer that dials it, each with the secret that it knows."""
    greeting = replace(GREETING, features=with_secret(acceptors))
    hello = replace(PEER, features=with_secret(dialers))
    return Acceptor(greeting, keys=SecretKeys(acceptors)), Dialer(hello, keys=SecretKeys(dialers))


def test_peers_that_know_the_secret_agree() -> None:
    acceptor, dialer = sides(SECRET, SECRET)
    shake(acceptor, dialer)
    assert acceptor.state is dialer.state is ConnectionState.READY


@pytest.mark.parametrize(
    ("acceptors", "dialers", "why"),
    [
        (SECRET, b"another secret of 16", "n2 does not prove"),
        (SECRET, b"", "n2 has none"),
        (b"", SECRET, "n2 has a cluster secret"),
    ],
)
def test_who_does_not_know_the_secret_is_refused(
    acceptors: bytes, dialers: bytes, why: str
) -> None:
    acceptor, dialer = sides(acceptors, dialers)
    hello = dialer.received(payload(acceptor.greet()))
    with pytest.raises(AccessDenied, match=why):
        acceptor.received(payload(hello))
    assert acceptor.hello is None


def test_an_acceptor_that_does_not_know_the_secret_is_left() -> None:
    acceptor, dialer = sides(SECRET, SECRET)
    acceptor.received(payload(dialer.received(payload(acceptor.greet()))))
    acceptor._agreed = b"another secret of 16"
    with pytest.raises(AccessDenied, match="n1 does not prove"):
        dialer.received(payload(acceptor.accept()))
    assert dialer.state is not ConnectionState.READY


def test_a_hello_that_was_overheard_opens_nothing_later() -> None:
    acceptor, dialer = sides(SECRET, SECRET)
    overheard = payload(dialer.received(payload(acceptor.greet())))
    acceptor.received(overheard)
    greeting = replace(GREETING, features=("secret",), nonce=b"n" * 32)
    later = Acceptor(greeting, keys=SecretKeys(SECRET))
    later.greet()
    with pytest.raises(AccessDenied):
        later.received(overheard)


def test_a_client_needs_no_secret() -> None:
    acceptor = Acceptor(GREETING, keys=SecretKeys(SECRET))
    shake(acceptor, Dialer(CLIENT))
    assert acceptor.state is ConnectionState.READY


@given(st.integers(0, 2**20), st.sampled_from(["greeting", "hello", "ok"]))
def test_a_bit_flipped_in_a_handshake_of_peers_ends_it(bit: int, where: str) -> None:
    acceptor, dialer = sides(b"", b"")

    def carried(framed: bytes | None, what: str) -> bytes:
        data = bytearray(payload(framed))
        if what == where:
            at = bit % (len(data) * 8)
            data[at // 8] ^= 1 << at % 8
        return bytes(data)

    def talk() -> None:
        hello = dialer.received(carried(acceptor.greet(), "greeting"))
        acceptor.received(carried(hello, "hello"))
        dialer.received(carried(acceptor.accept(), "ok"))

    with pytest.raises(QsyncError):
        talk()
    assert dialer.state is not ConnectionState.READY


def test_a_peer_of_a_release_without_checksums_is_refused_by_its_version() -> None:
    acceptor = Acceptor(GREETING)
    acceptor.greet()
    with pytest.raises(WrongVersion, match="an older release"):
        acceptor.received(payload(encode_hello(replace(PEER, nonce=b""))))
    with pytest.raises(WrongVersion, match="an older release"):
        Dialer(PEER).received(payload(encode_greeting(replace(GREETING, nonce=b""))))


def test_a_dialer_of_an_unknown_version_is_told_so_whatever_else_its_hello_holds() -> None:
    acceptor = Acceptor(GREETING)
    acceptor.greet()
    with pytest.raises(WrongVersion):
        acceptor.received(cbor2.dumps(["hello", 2, {"quite": "different"}]))


def test_an_acceptor_without_a_common_version_is_left() -> None:
    with pytest.raises(WrongVersion):
        Dialer(CLIENT).received(payload(encode_greeting(replace(GREETING, versions=(2, 3)))))


def test_a_peer_of_another_cluster_is_refused_and_hears_why() -> None:
    acceptor, dialer = Acceptor(GREETING), Dialer(PEER)
    stranger = replace(PEER, cluster="c-2")
    dialer.received(payload(acceptor.greet()))
    with pytest.raises(ForeignCluster) as caught:
        acceptor.received(payload(encode_hello(stranger)))
    with pytest.raises(ForeignCluster, match="not c-2"):
        dialer.received(payload(acceptor.refuse(caught.value)))
    assert acceptor.state is dialer.state is ConnectionState.CLOSED


def test_a_dialer_leaves_a_foreign_cluster_before_it_says_hello() -> None:
    with pytest.raises(ForeignCluster):
        Dialer(replace(PEER, cluster="c-2")).received(payload(encode_greeting(GREETING)))


def test_a_dialer_leaves_when_somebody_else_answers_at_that_address() -> None:
    with pytest.raises(ForeignCluster, match="replica 1 answers where 3"):
        Dialer(PEER, replica=Replica(3)).received(payload(encode_greeting(GREETING)))


def test_a_peer_that_claims_our_own_id_is_foreign() -> None:
    acceptor = Acceptor(GREETING)
    acceptor.greet()
    with pytest.raises(ForeignCluster, match="is mine"):
        acceptor.received(payload(encode_hello(replace(PEER, replica=1))))


def test_a_node_that_dials_itself_is_told_so() -> None:
    acceptor = Acceptor(GREETING)
    acceptor.greet()
    with pytest.raises(ProtocolError, match="itself"):
        acceptor.received(payload(encode_hello(replace(PEER, replica=1, instance="i-1"))))


def test_a_peer_must_name_itself() -> None:
    acceptor = Acceptor(GREETING)
    acceptor.greet()
    with pytest.raises(ProtocolError):
        acceptor.received(payload(encode_hello(Hello(party=Party.PEER, cluster="c-1"))))


def test_a_second_hello_does_not_fit_the_table() -> None:
    acceptor = Acceptor(GREETING)
    shake(acceptor, Dialer(CLIENT))
    with pytest.raises(ProtocolError):
        acceptor.received(payload(encode_hello(CLIENT)))


def test_an_ok_that_was_not_asked_for_does_not_fit_the_table() -> None:
    with pytest.raises(ProtocolError):
        Dialer(CLIENT).received(cbor2.dumps(["ok"]))


def test_a_refusal_says_what_would_help_and_when_to_come_again() -> None:
    acceptor, dialer = Acceptor(GREETING), Dialer(CLIENT)
    dialer.received(payload(acceptor.greet()))
    why = Overloaded("too many", hint="wait", details={"retry_after": 1.5, "more": "is not told"})
    with pytest.raises(Overloaded) as caught:
        dialer.received(payload(acceptor.refuse(why)))
    assert (caught.value.message, caught.value.hint) == ("too many", "wait")
    assert caught.value.details == {"retry_after": 1.5}


def test_the_longest_refusal_fits_into_a_frame_of_the_handshake() -> None:
    acceptor = Acceptor(GREETING)
    acceptor.greet()
    why = AccessDenied("\N{GRINNING FACE}" * 9999, hint="\N{GRINNING FACE}" * 9999)
    assert len(payload(acceptor.refuse(why))) <= limits.HANDSHAKE_BYTES_MAX


def test_a_refusal_of_an_older_node_is_understood() -> None:
    acceptor, dialer = Acceptor(GREETING), Dialer(CLIENT)
    dialer.received(payload(acceptor.greet()))
    with pytest.raises(AccessDenied, match="not you"):
        dialer.received(cbor2.dumps(["no", AccessDenied.number, "not you"]))


def test_a_node_may_refuse_before_it_greets() -> None:
    dialer = Dialer(CLIENT)
    refusal = Acceptor(GREETING).refuse(AccessDenied("not from there"))
    with pytest.raises(AccessDenied, match="not from there"):
        dialer.received(payload(refusal))
    assert dialer.state is ConnectionState.CLOSED


words = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=10,
)
messages = st.binary(max_size=60) | st.lists(
    st.sampled_from(["qsync", "hello", "ok", "no", 1, [1]]) | words, max_size=11
).map(cbor2.dumps)


@given(st.lists(messages, max_size=4))
def test_strangers_cause_nothing_but_typed_errors(said: list[bytes]) -> None:
    acceptor, dialer = Acceptor(GREETING), Dialer(CLIENT)
    acceptor.greet()
    for message in said:
        for side in (acceptor.received, dialer.received):
            with contextlib.suppress(QsyncError):
                side(message)


@given(st.data())
def test_a_truncated_hello_is_a_protocol_error(data: st.DataObject) -> None:
    whole = payload(encode_hello(PEER))
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(ProtocolError):
        decode_hello(whole[:cut])
