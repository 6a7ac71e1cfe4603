"""Requests and replies come back as they were, packed ones too, and errors keep their class."""

import contextlib
from collections.abc import Callable

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from election.messages import Index, Position, Term
from qsync import errors
from qsync.core.consistency import Consistency
from qsync.errors import Outcome, ProtocolError, QsyncError, TooLarge, WrongTuple
from qsync.record import Lsn
from qsync.wire import cbor, replies, requests
from qsync.wire.common_requests import decode_common
from qsync.wire.frames import Frames
from qsync.wire.verbs import (
    ChangesRequest,
    ClearRequest,
    CountRequest,
    DemoteRequest,
    DigestRequest,
    DryRunRequest,
    FaultRequest,
    GetRequest,
    InfoRequest,
    LogRequest,
    OptionsRequest,
    PackedRequest,
    PlainRequest,
    PromoteRequest,
    ReadLevel,
    Request,
    SelectRequest,
    TraceRequest,
    TxGetRequest,
    Verb,
    WatchRequest,
    WriteFlags,
    WriteRequest,
)

u64 = st.integers(0, 2**64 - 1)
names = st.text(min_size=1, max_size=10) | st.integers(0, 2**32 - 1)
values = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=5)
keys = st.lists(values, max_size=4)
operations = st.lists(st.lists(values | st.binary(max_size=9), max_size=4), max_size=4)
seconds = st.floats(0, 1e6)
signed_seconds = st.floats(-1e6, 1e6)
u32 = st.integers(0, 2**32 - 1)
levels = st.builds(ReadLevel, st.sampled_from(Consistency), u64.map(Term), u64.map(Index))
iterators = st.sampled_from(["eq", "ge", "gt", "le", "lt", "all", "req"])

asked: st.SearchStrategy[Request] = st.one_of(
    st.builds(
        WriteRequest,
        u64,
        st.binary(max_size=16),
        u64,
        u64,
        st.integers(0, 15),
        operations,
        st.none() | seconds,
        u64,
        operations,
    ),
    st.builds(GetRequest, u64, names, names, keys, levels),
    st.builds(
        SelectRequest,
        *(u64, names, names, iterators, keys, u64, u64),
        st.none() | keys | st.binary(max_size=9),
        levels,
        operations,
    ),
    st.builds(CountRequest, u64, names, names, iterators, keys, levels, operations),
    st.builds(TxGetRequest, u64, operations, names, names, keys, levels),
    st.builds(
        PlainRequest,
        u64,
        st.sampled_from(
            [
                Verb.PING,
                Verb.SCHEMA,
                Verb.STATUS,
                Verb.ROLLBACK_QUEUE,
                Verb.LOST,
                Verb.SNAPSHOT,
                Verb.RELOAD,
            ]
        ),
    ),
    st.builds(InfoRequest, u64, st.none() | st.text(max_size=20)),
    st.builds(PromoteRequest, u64, seconds),
    st.builds(DemoteRequest, u64, st.integers(0, 31), seconds),
    st.builds(ClearRequest, u64, seconds),
    st.builds(LogRequest, u64, u64.map(Index), u64, u64),
    st.builds(DigestRequest, u64, st.none() | names),
    st.builds(DryRunRequest, u64, st.text(max_size=10)),
    st.builds(WatchRequest, u64, st.text(max_size=10), values, seconds),
    st.builds(
        ChangesRequest, u64, st.none() | u64, st.none() | names, keys, seconds, u64.map(Term)
    ),
    st.builds(OptionsRequest, u64, st.dictionaries(st.text(max_size=5), values)),
    st.builds(TraceRequest, u64, u64, seconds),
    st.builds(PackedRequest, u64, u64.map(Index), u64, st.integers(0, 4096)),
    st.builds(FaultRequest, u64, st.text(max_size=10), st.booleans(), signed_seconds, u32, seconds),
)


def payload(framed: bytes) -> bytes:
    (only,) = Frames().feed(framed)
    return only


def plain(request: Request) -> tuple[object, ...]:
    """Empty tuples and empty lists are the same array."""
    return tuple(list(part) if part == () else part for part in request)


@given(asked)
def test_requests_come_back_as_they_were(request: Request) -> None:
    back = requests.decode(payload(requests.encode(request)))
    assert type(back) is type(request)
    assert plain(back) == plain(request)


@given(u64, st.binary(max_size=23), u64, u64, st.binary(max_size=300))
def test_a_packed_put_is_the_write_that_a_general_encoder_makes(
    id: int, session: bytes, seq: int, low: int, row: bytes
) -> None:
    packed = requests.encode_put(
        id,
        session=session,
        seq=seq,
        low=low,
        flags=WriteFlags.SYNC,
        code=2,
        space=cbor.text("accounts"),
        row=row,
    )
    write = WriteRequest(id, session, seq, low, 1, [[2, "accounts", row]], None, 0, [])
    assert requests.decode(payload(packed)) == write


# Half of them usual, and damaged in one place or not at all: both decoders must say the same.
usual = st.one_of(
    st.builds(GetRequest, u64, names, names, keys | st.lists(st.binary(max_size=300)), levels),
    st.builds(
        WriteRequest,
        *(u64, st.binary(max_size=70), u64, u64, st.integers(0, 40), operations),
        st.none(),
        u64,
        st.just([]) | operations,
    ),
)


def said_by(decode: Callable[[bytes], Request], packed: bytes) -> object:
    try:
        found = decode(packed)
    except (ProtocolError, TooLarge) as error:
        return type(error), str(error), error.details
    return type(found), [(type(part), part) for part in plain(found)]


@given(usual | asked, st.data())
def test_the_quick_decoder_says_what_the_general_one_says(
    request: Request, data: st.DataObject
) -> None:
    packed = bytearray(payload(requests.encode(request)))
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(packed) - 1))
        match data.draw(st.sampled_from(["flip", "cut", "more", "without"])):
            case "flip":
                packed[at] = data.draw(st.integers(0, 255))
            case "cut":
                del packed[max(1, at) :]
            case "more":
                packed[at:at] = data.draw(st.binary(min_size=1, max_size=9))
            case _ if len(packed) > 1:
                del packed[at]
    whole = bytes(packed)
    assert said_by(requests.decode, whole) == said_by(requests.decode_any, whole)


def test_what_is_usual_is_decoded_quickly() -> None:
    put = requests.encode_put(
        1, session=b"s", seq=2, low=1, flags=0, code=2, space=cbor.text("a"), row=b"r"
    )
    get = requests.encode(GetRequest(300, "a", 0, [b"k", "k", -5, None, True]))
    for framed in (put, get):
        found = decode_common(payload(framed))
        assert found is not None
        assert found == requests.decode_any(payload(framed))
    assert decode_common(payload(requests.encode(PlainRequest(1, Verb.PING)))) is None


@given(asked, st.data())
def test_a_truncated_request_is_a_protocol_error(request: Request, data: st.DataObject) -> None:
    packed = payload(requests.encode(request))
    cut = data.draw(st.integers(0, len(packed) - 1))
    with pytest.raises(ProtocolError):
        requests.decode(packed[:cut])


@given(st.binary(max_size=80))
def test_garbage_raises_only_protocol_errors(said: bytes) -> None:
    for decode in (requests.decode, replies.decode):
        with contextlib.suppress(ProtocolError):
            decode(said)


anything = st.recursive(
    values | st.binary(max_size=5) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=5,
)


@given(st.integers(0, 20), st.lists(anything, max_size=12))
def test_verbs_with_the_wrong_fields_are_protocol_errors_that_can_be_answered(
    verb: int, fields: list[object]
) -> None:
    said = cbor2.dumps([7, verb, *fields])
    try:
        requests.decode(said)
    except ProtocolError:
        with pytest.raises(ProtocolError) as caught:
            requests.decode(said)
        assert caught.value.details["id"] == 7


@given(st.integers(0, 70), st.lists(anything, max_size=9))
def test_replies_with_the_wrong_fields_raise_only_protocol_errors(
    number: int, fields: list[object]
) -> None:
    try:
        _, got = replies.decode(cbor2.dumps([7, number, *fields]))
    except ProtocolError:
        return
    if isinstance(got, QsyncError):
        return
    for read in (
        replies.read_committed,
        replies.read_row,
        replies.read_rows,
        replies.read_count,
        replies.read_map,
    ):
        with contextlib.suppress(ProtocolError):
            read(got)


def test_too_many_operations_are_too_large_and_the_limit_is_named() -> None:
    write = [1, int(Verb.WRITE), b"", 0, 0, 0, [[1]] * 65_537, None, 0, []]
    with pytest.raises(TooLarge, match=r"65537 operations.*OPS_MAX is 65536") as caught:
        requests.decode(cbor2.dumps(write))
    assert caught.value.details == {"id": 1, "limit": "OPS_MAX", "most": 65_536}


def test_too_many_operations_are_refused_before_they_are_sent() -> None:
    """A node reads all of them before it refuses them, and so would every other one."""
    ops: list[list[object]] = [[5, "t", 0, [1]]] * 65_537
    with pytest.raises(TooLarge, match="the limit OPS_MAX is 65536"):
        requests.encode(WriteRequest(1, b"s", 1, 0, 0, ops, None, 0, []))


def test_a_request_over_the_limit_is_refused_before_it_is_sent() -> None:
    with pytest.raises(TooLarge, match="the limit is 100"):
        requests.encode(GetRequest(1, "s", 0, ["x" * 200]), bytes_max=100)


@pytest.mark.parametrize("value", [10**400, -(10**400), [{"a": 2**1024}]])
def test_an_integer_that_no_node_reads_is_not_sent(value: object) -> None:
    """A node hangs up on what it cannot read, and every other request of the client fails, too."""
    asked: list[Request] = [
        GetRequest(1, "t", 0, [value]),
        WriteRequest(1, b"s", 1, 0, 0, [[3, "t", 0, [1], [["=", 1, value]]]], None, 0, []),
        ChangesRequest(1, 0, "t", [value], 1.0),
    ]
    for request in asked:
        with pytest.raises(WrongTuple, match="an integer has at most 128 bytes"):
            requests.encode(request)


@pytest.mark.parametrize("value", [2**1023, -(2**1023), "c\u0142" * 99, b"\xc2\x58" * 99])
def test_what_only_looks_like_a_long_integer_is_sent(value: object) -> None:
    asked = GetRequest(1, "t", 0, [value])
    (payload,) = Frames().feed(requests.encode(asked))
    assert requests.decode(payload) == asked


@pytest.mark.parametrize("value", [b"\xc2\x58\x81" + b"\1" * 129, b"\x81" * 64 + b"\0"])
def test_a_request_with_a_value_that_is_not_read_is_answered(value: bytes) -> None:
    """Without an answer a client sends it again to every node until its time is over."""
    payload = cbor2.dumps([70_000, 4, "t", 0])[:-1] + b"\0" + value
    with pytest.raises(ProtocolError, match="not a message") as caught:
        requests.decode(b"\x85" + payload[1:])
    assert caught.value.details["id"] == 70_000


def test_a_value_without_a_cbor_word_is_a_wrong_tuple() -> None:
    with pytest.raises(WrongTuple):
        requests.encode(GetRequest(1, "s", 0, [object()]))


rows = st.lists(st.none() | st.binary(max_size=300), max_size=300)


@given(u64, u64, u64, u64, st.integers(0, 40), rows, st.booleans())
def test_packed_commits_are_plain_cbor_and_come_back(
    id: int, term: int, index: int, lsn: int, acks: int, results: list[bytes | None], again: bool
) -> None:
    packed = payload(
        replies.committed(
            id, term=term, index=index, lsn=lsn, acks=acks, results=results, duplicate=again
        )
    )
    assert cbor2.loads(packed) == [id, 0, term, index, lsn, acks, results, again]
    whose, got = replies.decode(packed)
    assert whose == id
    assert isinstance(got, list)
    assert replies.read_committed(got) == (
        Term(term),
        Index(index),
        Lsn(lsn),
        acks,
        results,
        again,
    )


@given(u64, st.none() | st.binary(max_size=70_000), st.lists(st.binary(max_size=99)), u64)
def test_packed_reads_are_plain_cbor_and_come_back(
    id: int, found: bytes | None, many: list[bytes], number: int
) -> None:
    seen = Position(Term(number // 2), Index(number))
    place = [seen.index, seen.term]
    one = payload(replies.row(id, found, read_from=seen))
    assert cbor2.loads(one) == [id, 0, found, *place]
    assert replies.read_row(cbor2.loads(one)[2:]) == (found, seen)
    several = payload(replies.rows(id, many, read_from=seen))
    assert cbor2.loads(several) == [id, 0, many, *place]
    assert replies.read_rows(cbor2.loads(several)[2:]) == (many, seen)
    counted = payload(replies.counted(id, len(many), read_from=seen))
    assert replies.read_count(cbor2.loads(counted)[2:]) == (len(many), seen)


def test_an_answer_that_fits_no_frame_is_too_large_and_says_what_to_do() -> None:
    with pytest.raises(TooLarge, match="limit"):
        replies.rows(
            1, [b"x" * 60, b"y" * 60], read_from=Position(Term(1), Index(1)), bytes_max=100
        )


def test_other_replies_carry_anything() -> None:
    assert replies.decode(payload(replies.reply(5, {"ok": 1}, [2]))) == (5, [{"ok": 1}, [2]])


# Operators' errors (admin, cli) never cross the wire, though another test may have loaded them.
ON_THE_WIRE = [cls for cls in errors.all_errors() if cls.__module__ == errors.__name__]


@pytest.mark.parametrize("cls", ON_THE_WIRE, ids=lambda cls: str(cls.__name__))
def test_every_error_keeps_its_class_outcome_hint_and_leader(cls: type[QsyncError]) -> None:
    error = cls("why", hint="do this", leader="h:1", details={"retry_after": 1.5})
    error.outcome = Outcome.UNKNOWN
    whose, back = replies.decode(payload(replies.failed(9, error)))
    assert whose == 9
    assert type(back) is cls
    assert (back.message, back.hint, back.leader) == ("why", "do this", "h:1")
    assert back.outcome is Outcome.UNKNOWN
    assert back.details == {"retry_after": 1.5}


def test_an_error_of_a_later_release_keeps_its_number() -> None:
    words = ["new", "unknown", True, "hint", None, {}]
    _, back = replies.decode(cbor2.dumps([1, 999, *words]))
    assert isinstance(back, QsyncError)
    assert back.details["number"] == 999
    assert back.outcome is Outcome.UNKNOWN


def test_details_that_cannot_be_sent_are_sent_as_text() -> None:
    _, back = replies.decode(
        payload(replies.failed(1, QsyncError("x", details={"o": {1, object()}})))
    )
    assert isinstance(back, QsyncError)
    assert "object" in str(back.details["o"])
