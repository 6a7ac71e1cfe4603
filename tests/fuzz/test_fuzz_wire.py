"""Bytes of strangers become messages or typed errors: frames, handshakes, messages, requests."""

import contextlib
import tracemalloc
from collections.abc import Callable

import cbor2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from election.messages import Replica
from qsync.core.messages import Append
from qsync.errors import ProtocolError, QsyncError, TooLarge
from qsync.wire import cbor, peer_messages, replies, requests
from qsync.wire.connection_states import TABLE, ConnectionState, SessionInput
from qsync.wire.frames import SEAL_SIZE, Frames, SealedFrames, seal
from qsync.wire.session import (
    Acceptor,
    Dialer,
    Greeting,
    Hello,
    Party,
    encode_greeting,
    encode_hello,
)
from tests.fuzz.asked import OTHERS, PAYLOADS, WRITES
from tests.fuzz.hostile import BOMBS, VALUES, bent, dumps, framed, swapped
from tests.unit.test_peer_messages import answers, append_of

FRAME_BYTES_MAX = 4096
GREETING = Greeting(cluster="c-1", instance="i-1", replica=Replica(1), name="n1", nonce=bytes(32))
PEER = Hello(
    party=Party.PEER, cluster="c-1", instance="i-2", replica=2, name="n2", epoch=7, nonce=bytes(32)
)
CLIENT = Hello(party=Party.CLIENT, user="ann")

# ------------------------------------------------------------------------------------------ frames

LENGTHS = st.sampled_from([0, 1, 5, FRAME_BYTES_MAX, FRAME_BYTES_MAX + 1, 2**31, 2**32 - 1])
STREAMS = st.lists(
    st.one_of(
        st.binary(max_size=50).map(framed),
        st.binary(max_size=50),
        LENGTHS.map(lambda length: length.to_bytes(4, "big")),
        st.integers(0, FRAME_BYTES_MAX).map(lambda size: framed(bytes(size))),
    ),
    max_size=8,
).map(b"".join)


def naive(stream: bytes) -> tuple[list[bytes], bool]:
    """What a stream holds, and whether something in it is refused."""
    found: list[bytes] = []
    while len(stream) >= 4:
        length = int.from_bytes(stream[:4], "big")
        if not 0 < length <= FRAME_BYTES_MAX:
            return found, True
        if len(stream) < 4 + length:
            break
        found.append(stream[4 : 4 + length])
        stream = stream[4 + length :]
    return found, False


@given(stream=STREAMS, sizes=st.lists(st.integers(1, 700), min_size=1))
def test_any_stream_cut_anywhere_gives_its_frames_and_keeps_no_more_than_one(
    stream: bytes, sizes: list[int]
) -> None:
    frames = Frames(FRAME_BYTES_MAX)
    wanted, bad = naive(stream)
    found: list[bytes] = []
    refused, at = False, 0
    while at < len(stream) and not refused:
        size = sizes[len(found) % len(sizes)]
        try:
            found += frames.feed(stream[at : at + size])
        except (ProtocolError, TooLarge):
            refused = True
        assert frames.buffered <= FRAME_BYTES_MAX + 4 + size
        at += size
    assert refused is bad
    # What came in one piece with a length that is refused is refused with it.
    assert found == wanted[: len(found)]
    assert refused or found == wanted


SEALS = st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=5)


@given(payloads=SEALS, sizes=st.lists(st.integers(1, 70), min_size=1), bit=st.integers(0))
def test_a_bit_flipped_anywhere_between_members_is_found_and_all_before_it_holds(
    payloads: list[bytes], sizes: list[int], bit: int
) -> None:
    stream = bytearray(b"".join(map(seal, payloads)))
    at = bit % (len(stream) * 8)
    stream[at // 8] ^= 1 << at % 8
    whole, end = 0, 0
    while end + SEAL_SIZE + len(payloads[whole]) <= at // 8:
        end += SEAL_SIZE + len(payloads[whole])
        whole += 1
    frames, found, place, waits_from = SealedFrames(FRAME_BYTES_MAX), list[bytes](), 0, 0
    try:
        while place < len(stream):
            size = sizes[len(found) % len(sizes)]
            found += frames.feed(bytes(stream[place : place + size]))
            place += size
            waits_from = place
    except (ProtocolError, TooLarge):
        # A length is never believed before its own checksum holds.
        assert waits_from < end + SEAL_SIZE + len(payloads[whole])
    else:
        raise AssertionError(found)
    assert found == payloads[: len(found)]
    assert len(found) <= whole


# -------------------------------------------------------------------------------------- handshakes

PAYLOADS_OF_SESSIONS = st.one_of(
    st.binary(max_size=40),
    BOMBS,
    st.sampled_from([["ok"], ["no", 9, "why"], ["no", 42, "foreign"], ["hello"]]).map(dumps),
    swapped(st.just(cbor2.loads(encode_hello(PEER)[4:]))),
    swapped(st.just(cbor2.loads(encode_greeting(GREETING)[4:]))),
    bent(st.sampled_from([encode_hello(PEER)[4:], encode_greeting(GREETING)[4:]])),
    st.sampled_from(
        [
            encode_hello(PEER, greeted=encode_greeting(GREETING)[4:])[4:],
            encode_hello(PEER)[4:],
            encode_hello(CLIENT)[4:],
        ]
    ),
    st.just(encode_greeting(GREETING)[4:]),
)


@given(st.lists(PAYLOADS_OF_SESSIONS, max_size=4))
@example([cbor2.dumps(["hello", 1, [], "peer", "c-1", "i-1", 1 << 70, "n", False, 0, None])])
def test_an_acceptor_is_ready_only_after_a_hello_that_it_agreed_to(said: list[bytes]) -> None:
    acceptor = Acceptor(GREETING)
    acceptor.greet()
    for payload in said:
        try:
            hello = acceptor.received(payload)
        except QsyncError as error:
            assert acceptor.state is (
                ConnectionState.HELLO if acceptor.hello is None else ConnectionState.READY
            )
            acceptor.refuse(error)
            return
        assert acceptor.hello == hello
        assert hello.party is Party.CLIENT or (hello.cluster, hello.replica != 1) == ("c-1", True)
        acceptor.accept()
        assert acceptor.state is ConnectionState.READY


@given(st.lists(PAYLOADS_OF_SESSIONS, max_size=4))
def test_a_dialer_is_ready_only_after_a_greeting_and_an_ok(said: list[bytes]) -> None:
    dialer = Dialer(PEER, replica=Replica(1))
    for payload in said:
        before = dialer.state
        try:
            dialer.received(payload)
        except QsyncError:
            assert dialer.state in {before, ConnectionState.CLOSED}
        else:
            assert dialer.state in {TABLE.get((before, word)) for word in SessionInput} | {before}
        if dialer.state is ConnectionState.READY:
            assert dialer.greeting is not None
            assert dialer.greeting.cluster == "c-1"
            return


# --------------------------------------------------------------------------------- what peers say

APPENDS = st.builds(append_of, st.lists(st.binary(max_size=30), max_size=4))
PEERS = st.one_of(answers, APPENDS).map(lambda message: peer_messages.encode(message)[SEAL_SIZE:])


@given(
    st.one_of(
        bent(PEERS),
        swapped(PEERS.map(cbor2.loads)),
        swapped(PEERS.map(cbor2.loads)),
        st.lists(VALUES, max_size=12).map(lambda fields: dumps([4, *fields])),
        BOMBS,
    )
)
def test_what_a_peer_says_is_a_message_or_a_protocol_error(payload: bytes) -> None:
    try:
        message = peer_messages.decode(payload)
    except ProtocolError:
        return
    assert peer_messages.decode(peer_messages.encode(message)[SEAL_SIZE:]) == message
    if isinstance(message, Append):
        assert message.prev_index + len(message.entries) == message.last


# ------------------------------------------------------------------------------ clients and nodes


@given(st.one_of(PAYLOADS["write"], PAYLOADS["other"], PAYLOADS["option"]))
def test_what_a_client_asks_is_a_request_or_a_protocol_error(payload: bytes) -> None:
    with contextlib.suppress(ProtocolError):
        assert 0 <= requests.decode(payload).id < 2**64


REPLIES = st.one_of(
    st.builds(lambda values: [7, 0, *values], st.lists(VALUES, max_size=7)),
    st.just([7, 0, 1, 2, 3, 2, [None], False]),
    st.just([7, 5, "why", "unknown", False, "hint", "h:1", {"token": "x"}]),
)
READERS: list[Callable[[list[object]], object]] = [
    replies.read_committed,
    replies.read_row,
    replies.read_rows,
    replies.read_count,
    replies.read_map,
]


@pytest.mark.parametrize("read", READERS)
def test_what_a_node_answers_is_a_reply_or_a_typed_error(
    read: Callable[[list[object]], object],
) -> None:
    @given(st.one_of(swapped(REPLIES), bent(REPLIES.map(dumps)), BOMBS))
    def check(payload: bytes) -> None:
        with contextlib.suppress(ProtocolError):
            whose, values = replies.decode(payload)
            assert type(whose) is int
            if isinstance(values, QsyncError):
                assert str(values)
            else:
                read(values)

    check()


@given(st.one_of(st.binary(max_size=60), BOMBS, bent(st.one_of(WRITES, OTHERS).map(dumps))))
def test_decoding_takes_memory_by_what_was_sent_and_not_by_what_it_says(payload: bytes) -> None:
    tracemalloc.start()
    try:
        with contextlib.suppress(ProtocolError):
            cbor.loads(payload)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200_000 + 200 * len(payload)
