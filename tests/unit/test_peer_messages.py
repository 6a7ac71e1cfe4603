"""Peer messages come back as they were; what is not one is a ProtocolError and nothing else."""

import contextlib
from dataclasses import replace

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from election.messages import (
    Index,
    Position,
    RejectReason,
    Replica,
    RequestVote,
    RequestVoteResponse,
    Resigned,
    Term,
    TimeoutNow,
)
from qsync import record
from qsync.core.limbo import Owner
from qsync.core.logstart import EMPTY, LogStart
from qsync.core.messages import (
    Append,
    AppendResponse,
    Heartbeat,
    HeartbeatResponse,
    InstallSnapshot,
    MemberState,
    Message,
    ReadIndex,
    ReadIndexResponse,
    TransferLeadership,
)
from qsync.errors import ProtocolError
from qsync.record import Crc, Entry
from qsync.wire import cbor
from qsync.wire.frames import SealedFrames
from qsync.wire.peer_messages import decode, encode, encode_append

u64 = st.integers(0, 2**64 - 1)
terms = u64.map(Term)
led_terms = st.integers(1, 2**64 - 1).map(Term)
indexes = u64.map(Index)
places = st.builds(Position, terms, indexes)
replicas = st.integers(1, 31).map(Replica)
flags = st.booleans()

START = LogStart(
    index=Index(7),
    term=Term(3),
    crc=Crc(2**32 - 1),
    origin=Replica(2),
    vclock=((Replica(1), record.Lsn(3)), (Replica(2), record.Lsn(4))),
    owner=Owner(Index(5), Replica(2), Term(3)),
    configuration=b"voters",
)

answers: st.SearchStrategy[Message] = st.one_of(
    st.builds(
        RequestVote,
        term=led_terms,
        candidate=replicas,
        position=places,
        pre=flags,
        transfer=flags,
    ),
    st.builds(
        RequestVoteResponse,
        term=terms,
        asked_term=terms,
        voter=replicas,
        pre=flags,
        granted=flags,
        reason=st.none() | st.sampled_from(RejectReason),
    ),
    st.builds(TimeoutNow, term=led_terms, leader=replicas),
    st.builds(Resigned, term=led_terms, leader=replicas),
    st.builds(
        AppendResponse,
        term=terms,
        follower=replicas,
        epoch=u64,
        ok=flags,
        index=indexes,
        index_term=terms,
        recruit=flags,
    ),
    st.builds(
        Heartbeat,
        term=led_terms,
        leader=replicas,
        epoch=u64,
        round=u64,
        matched=indexes,
        confirmed=indexes,
        last=indexes,
        promise=flags,
        admit=flags,
    ),
    st.builds(
        HeartbeatResponse,
        term=terms,
        follower=replicas,
        epoch=u64,
        round=u64,
        recruit=flags,
        promised_us=u64,
        standing=st.sampled_from(MemberState),
    ),
    st.builds(ReadIndex, term=terms, follower=replicas, ask=u64),
    st.builds(ReadIndexResponse, term=terms, ask=u64, place=st.none() | places),
    st.builds(TransferLeadership, term=terms, candidate=replicas),
    st.builds(
        InstallSnapshot,
        term=led_terms,
        leader=replicas,
        epoch=u64,
        start=st.sampled_from((EMPTY, START)),
    ),
)


def payload(framed: bytes) -> bytes:
    (only,) = SealedFrames().feed(framed)
    return only


def chain(bodies: list[bytes], *, after: int, previous: int) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for number, body in enumerate(bodies, after + 1):
        entries.append(
            record.make(
                index=number,
                term=3,
                origin=1,
                lsn=number,
                kind=1,
                flags=1,
                time=1.5,
                body=body,
                previous=previous,
            )
        )
        previous = entries[-1].crc
    return tuple(entries)


def append_of(bodies: list[bytes], *, after: int = 41) -> Append:
    entries = chain(bodies, after=after, previous=77)
    return Append(
        term=Term(3),
        leader=Replica(1),
        epoch=9,
        prev_index=Index(after),
        prev_term=Term(2),
        prev_crc=Crc(77),
        last=Index(after + len(entries)),
        confirmed=Index(after),
        entries=entries,
    )


@given(answers)
def test_messages_come_back_as_they_were(message: Message) -> None:
    assert decode(payload(encode(message))) == message


@given(answers)
def test_packed_messages_are_ordinary_cbor(message: Message) -> None:
    """Somebody else's encoder, with the shortest heads, is understood as well."""
    packed = payload(encode(message))
    assert decode(cbor2.dumps(cbor2.loads(packed))) == message


@given(st.lists(st.binary(max_size=50), max_size=5), st.integers(0, 2**40))
def test_an_append_comes_back_with_its_entries(bodies: list[bytes], after: int) -> None:
    append = append_of(bodies, after=after)
    packed = payload(encode(append))
    assert decode(packed) == append
    assert decode(cbor2.dumps(cbor2.loads(packed))) == append


def test_an_append_can_be_sent_with_the_stored_bytes() -> None:
    append = append_of([b"one", b"two"])
    assert encode_append(append, record.encode(append.entries)) == encode(append)


@given(st.data())
def test_a_damaged_append_is_a_protocol_error(data: st.DataObject) -> None:
    append = append_of([b"one", b"two"])
    packed = bytearray(payload(encode(append)))
    start = len(packed) - len(record.encode(append.entries))
    at = data.draw(st.integers(start, len(packed) - 1))
    packed[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ProtocolError):
        decode(bytes(packed))


@pytest.mark.parametrize("last", [42, 44])
def test_an_append_must_reach_exactly_its_last_entry(last: int) -> None:
    values = cbor2.loads(payload(encode(append_of([b"one", b"two"]))))
    values[7] = last
    with pytest.raises(ProtocolError, match="do not reach"):
        decode(cbor2.dumps(values))


def test_an_append_must_follow_its_previous_entry() -> None:
    values = cbor2.loads(payload(encode(append_of([b"one", b"two"]))))
    values[4], values[7] = 40, 42
    with pytest.raises(ProtocolError, match="does not follow 40"):
        decode(cbor2.dumps(values))


@pytest.mark.parametrize("who", [0, 32, 2**32 - 1])
def test_a_replica_id_out_of_range_is_a_protocol_error(who: int) -> None:
    message = HeartbeatResponse(
        term=Term(1), follower=Replica(who), epoch=1, round=1, recruit=False, promised_us=1
    )
    with pytest.raises(ProtocolError):
        decode(payload(encode(message)))


NOBODY_LEADS: list[Message] = [
    RequestVote(
        term=Term(0),
        candidate=Replica(1),
        position=Position(Term(0), Index(0)),
        pre=False,
        transfer=False,
    ),
    TimeoutNow(term=Term(0), leader=Replica(1)),
    Resigned(term=Term(0), leader=Replica(1)),
    Heartbeat(
        term=Term(0), leader=Replica(1), epoch=1, round=1, matched=Index(0), confirmed=Index(0)
    ),
    replace(append_of([b"a"]), term=Term(0)),
]


@pytest.mark.parametrize("message", NOBODY_LEADS, ids=lambda message: type(message).__name__)
@pytest.mark.parametrize("packed", [True, False])
def test_nobody_leads_term_0_or_asks_for_votes_in_it(message: Message, *, packed: bool) -> None:
    said = payload(encode(message))
    if not packed:
        said = cbor2.dumps(cbor2.loads(said))
    with pytest.raises(ProtocolError, match="term 0"):
        decode(said)


@given(answers, st.data())
def test_a_truncated_message_is_a_protocol_error(message: Message, data: st.DataObject) -> None:
    packed = payload(encode(message))
    cut = data.draw(st.integers(0, len(packed) - 1))
    with pytest.raises(ProtocolError):
        decode(packed[:cut])


@given(st.binary(max_size=100))
def test_garbage_raises_only_protocol_errors(said: bytes) -> None:
    with contextlib.suppress(ProtocolError):
        decode(said)


@given(
    st.integers(0, 12),
    st.lists(st.none() | flags | st.integers() | st.text(max_size=3) | st.binary(max_size=3)),
)
def test_arrays_of_the_wrong_things_raise_only_protocol_errors(
    kind: int, values: list[object]
) -> None:
    with contextlib.suppress(ProtocolError):
        decode(cbor2.dumps([kind, *values]))


@given(answers, st.data())
def test_a_message_with_one_byte_changed_is_another_message_or_a_protocol_error(
    message: Message, data: st.DataObject
) -> None:
    packed = bytearray(payload(encode(message)))
    packed[data.draw(st.integers(0, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(ProtocolError):
        decode(bytes(packed))


@pytest.mark.parametrize(
    "bomb",
    [b"\x81" * 10_000, b"\xd8\x1c\x81\xd8\x1d\x00", b"\x9b" + b"\xff" * 8, b"\xd8\x23\x61a"],
    ids=["deep", "cyclic", "endless", "regexp"],
)
def test_bombs_are_protocol_errors(bomb: bytes) -> None:
    with pytest.raises(ProtocolError):
        cbor.loads(bomb)


@given(st.sampled_from([0, 0x40, 0x60, 0x80]), u64)
def test_heads_are_what_a_general_encoder_writes(major: int, number: int) -> None:
    assert cbor.head(0, number) == cbor2.dumps(number)
    assert cbor.head(major, number)[0] & 0xE0 == major
    assert cbor.head(major, number)[1:] == cbor2.dumps(number)[1:]


def test_a_snapshot_is_offered_in_words_that_every_release_reads() -> None:
    told = replace(START, terms=((Index(1), Term(1)), (Index(6), Term(3))))
    message = InstallSnapshot(term=Term(4), leader=Replica(1), epoch=1, start=told)
    assert payload(encode(message)) == payload(encode(replace(message, start=START)))


def test_a_snapshot_of_nowhere_is_refused() -> None:
    message = InstallSnapshot(term=Term(4), leader=Replica(1), epoch=1, start=START)
    fields = cbor2.loads(payload(encode(message)))
    fields[4] = fields[4][:-1] + bytes([fields[4][-1] ^ 1])
    with pytest.raises(ProtocolError, match="a snapshot of nowhere"):
        decode(cbor2.dumps(fields))
