"""Messages between replicas, as bytes and back.

`encode` and `encode_append` give whole sealed frames, `decode` takes a payload. Append, Heartbeat
and the responses to them are most of the traffic: they are packed by hand with fixed-width CBOR
heads and read back the same way; any other valid CBOR of the same shape is understood too.
"""

import struct
from typing import Final, assert_never

import cbor2

from election.messages import Replica, RequestVote, RequestVoteResponse, Resigned, TimeoutNow
from qsync import record
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
from qsync.wire import cbor, limits
from qsync.wire.frames import seal
from qsync.wire.peer_fields import (
    APPEND,
    APPENDED,
    HEARD,
    HEARTBEAT,
    decode_slowly,
    fields_of,
    open_batch,
)

# Array of n, type, then each field behind its one-byte head (B) in its fixed width.
# Append: term, leader, epoch, prev_index, prev_term, prev_crc, last, confirmed, batch length.
_APPEND = struct.Struct(">BB BQ BI BQ BQ BQ BI BQ BQ BI")
# AppendResponse: term, follower, epoch, ok, index, index_term, recruit.
_APPENDED = struct.Struct(">BB BQ BI BQ B BQ BQ B")
# Heartbeat: term, leader, epoch, round, matched, confirmed, last, promise, admit.
_HEARTBEAT = struct.Struct(">BB BQ BI BQ BQ BQ BQ BQ B B")
# HeartbeatResponse: term, follower, epoch, round, promised_us, recruit, standing (its own head).
_HEARD = struct.Struct(">BB BQ BI BQ BQ BQ B B")

_APPEND_HEAD: Final = cbor.ARRAY | 10
_APPENDED_HEAD: Final = cbor.ARRAY | 8
_HEARTBEAT_HEAD: Final = cbor.ARRAY | 10
_HEARD_HEAD: Final = cbor.ARRAY | 8
_U32, _U64 = cbor.U32, cbor.U64


def encode(message: Message) -> bytes:
    """Any message, framed. An Append carries the entries that it holds."""
    match message:
        case Append():
            return encode_append(message, record.encode(message.entries))
        case AppendResponse() | Heartbeat() | HeartbeatResponse():
            return seal(_encode_answer(message))
        case (
            RequestVote()
            | RequestVoteResponse()
            | TimeoutNow()
            | Resigned()
            | ReadIndex()
            | ReadIndexResponse()
            | TransferLeadership()
            | InstallSnapshot()
        ):
            return seal(cbor2.dumps(fields_of(message)))
        case _:
            assert_never(message)


def encode_append(append: Append, batch: bytes) -> bytes:
    """An Append, framed, with its entries given as the bytes they are stored as."""
    size = len(batch)
    head = _APPEND.pack(
        _APPEND_HEAD,
        APPEND,
        _U64,
        append.term,
        _U32,
        append.leader,
        _U64,
        append.epoch,
        _U64,
        append.prev_index,
        _U64,
        append.prev_term,
        _U32,
        append.prev_crc,
        _U64,
        append.last,
        _U64,
        append.confirmed,
        cbor.BYTES32,
        size,
    )
    return seal(head, batch)


def encode_heartbeat(heartbeat: Heartbeat, last: int) -> bytes:
    """A Heartbeat, framed, with the last index of the log filled in."""
    return seal(_heartbeat(heartbeat, last))


def _heartbeat(message: Heartbeat, last: int) -> bytes:
    return _HEARTBEAT.pack(
        _HEARTBEAT_HEAD,
        HEARTBEAT,
        _U64,
        message.term,
        _U32,
        message.leader,
        _U64,
        message.epoch,
        _U64,
        message.round,
        _U64,
        message.matched,
        _U64,
        message.confirmed,
        _U64,
        last,
        cbor.TRUE if message.promise else cbor.FALSE,
        cbor.TRUE if message.admit else cbor.FALSE,
    )


def decode(payload: bytes) -> Message:
    """The message in a payload; the entries of an Append are verified. Raises ProtocolError."""
    first, kind = payload[:2].ljust(2, b"\0")
    if kind == APPEND and first == _APPEND_HEAD:
        return _decode_append(payload)
    if kind == APPENDED and first == _APPENDED_HEAD:
        return _decode_appended(payload)
    if kind == HEARTBEAT and first == _HEARTBEAT_HEAD:
        return _decode_heartbeat(payload)
    if kind == HEARD and first == _HEARD_HEAD:
        return _decode_heard(payload)
    return decode_slowly(payload)


def _encode_answer(message: AppendResponse | Heartbeat | HeartbeatResponse) -> bytes:
    match message:
        case AppendResponse():
            return _APPENDED.pack(
                _APPENDED_HEAD,
                APPENDED,
                _U64,
                message.term,
                _U32,
                message.follower,
                _U64,
                message.epoch,
                cbor.TRUE if message.ok else cbor.FALSE,
                _U64,
                message.index,
                _U64,
                message.index_term,
                cbor.TRUE if message.recruit else cbor.FALSE,
            )
        case Heartbeat():
            return _heartbeat(message, message.last)
        case HeartbeatResponse():
            return _HEARD.pack(
                _HEARD_HEAD,
                HEARD,
                _U64,
                message.term,
                _U32,
                message.follower,
                _U64,
                message.epoch,
                _U64,
                message.round,
                _U64,
                message.promised_us,
                cbor.TRUE if message.recruit else cbor.FALSE,
                message.standing,
            )
        case _:
            assert_never(message)


# The fast ways in: every head byte is compared, so what is not ours takes the slow way.
_APPEND_HEADS: Final = (_U64, _U32, _U64, _U64, _U64, _U32, _U64, _U64, cbor.BYTES32)
_APPENDED_HEADS: Final = (_U64, _U32, _U64, _U64, _U64)
_HEARTBEAT_HEADS: Final = (_U64, _U32, _U64, _U64, _U64, _U64, _U64)
_HEARD_HEADS: Final = (_U64, _U32, _U64, _U64, _U64)
_BOOLEANS: Final = {cbor.TRUE: True, cbor.FALSE: False}
_STANDINGS: Final = {int(each): each for each in MemberState}


def _decode_append(payload: bytes) -> Message:
    if len(payload) < _APPEND.size:
        return decode_slowly(payload)
    values = _APPEND.unpack_from(payload)
    size = _APPEND.size
    if values[2::2] != _APPEND_HEADS or len(payload) != size + values[19]:
        return decode_slowly(payload)
    term, leader, epoch, index, prev_term, crc, last, confirmed, _ = values[3::2]
    return Append(
        term=cbor.led_term(term),
        leader=_replica(leader),
        epoch=epoch,
        prev_index=index,
        prev_term=prev_term,
        prev_crc=crc,
        last=last,
        confirmed=confirmed,
        entries=open_batch(payload[size:], after=index, previous=crc, last=last),
    )


def _decode_appended(payload: bytes) -> Message:
    if len(payload) != _APPENDED.size:
        return decode_slowly(payload)
    _, _, h1, term, h2, who, h3, epoch, ok, h4, index, h5, index_term, recruit = _APPENDED.unpack(
        payload
    )
    if (h1, h2, h3, h4, h5) != _APPENDED_HEADS or ok not in _BOOLEANS or recruit not in _BOOLEANS:
        return decode_slowly(payload)
    return AppendResponse(
        term=term,
        follower=_replica(who),
        epoch=epoch,
        ok=_BOOLEANS[ok],
        index=index,
        index_term=index_term,
        recruit=_BOOLEANS[recruit],
    )


def _decode_heartbeat(payload: bytes) -> Message:
    if len(payload) != _HEARTBEAT.size:
        return decode_slowly(payload)
    values = _HEARTBEAT.unpack(payload)
    promise, admit = values[16:]
    if values[2:16:2] != _HEARTBEAT_HEADS or promise not in _BOOLEANS or admit not in _BOOLEANS:
        return decode_slowly(payload)
    term, leader, epoch, number, matched, confirmed, last = values[3:16:2]
    return Heartbeat(
        term=cbor.led_term(term),
        leader=_replica(leader),
        epoch=epoch,
        round=number,
        matched=matched,
        confirmed=confirmed,
        last=last,
        promise=_BOOLEANS[promise],
        admit=_BOOLEANS[admit],
    )


def _decode_heard(payload: bytes) -> Message:
    if len(payload) != _HEARD.size:
        return decode_slowly(payload)
    values = _HEARD.unpack(payload)
    recruit, standing = values[12:]
    if values[2:12:2] != _HEARD_HEADS or recruit not in _BOOLEANS or standing not in _STANDINGS:
        return decode_slowly(payload)
    term, who, epoch, number, promised_us = values[3:12:2]
    return HeartbeatResponse(
        term=term,
        follower=_replica(who),
        epoch=epoch,
        round=number,
        promised_us=promised_us,
        recruit=_BOOLEANS[recruit],
        standing=_STANDINGS[standing],
    )


def _replica(number: int) -> Replica:
    if 0 < number <= limits.REPLICA_MAX:
        return Replica(number)
    raise ProtocolError(f"{number} is no replica id")
