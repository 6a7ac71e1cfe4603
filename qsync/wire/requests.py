"""Requests of clients, as bytes and back: `[id, verb, ...]`.

`encode` and `encode_put` give whole frames, `decode` takes a payload. What is inside of operations
and keys is looked at by `qsync.data`, not here.
"""

import struct
from collections.abc import Callable
from typing import Final

from election.messages import Term
from qsync.data import tags
from qsync.errors import ProtocolError, TooLarge, WrongTuple
from qsync.wire import cbor, limits, packed, sendable
from qsync.wire.common_requests import CONSISTENCIES, FLAGS_MAX, decode_common
from qsync.wire.frames import LENGTH_SIZE, frame
from qsync.wire.verbs import (
    VERB_OF,
    ChangeMemberRequest,
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
    Name,
    Operations,
    OptionsRequest,
    PackedRequest,
    PlainRequest,
    PromoteRequest,
    ReadLevel,
    Request,
    RightsRequest,
    SelectRequest,
    SnapshotReadRequest,
    TraceRequest,
    TxGetRequest,
    Verb,
    WatchRequest,
    WriteFlags,
    WriteRequest,
)

__all__ = [
    "ChangeMemberRequest",
    "ChangesRequest",
    "ClearRequest",
    "CountRequest",
    "DemoteRequest",
    "DigestRequest",
    "DryRunRequest",
    "FaultRequest",
    "GetRequest",
    "InfoRequest",
    "LogRequest",
    "Name",
    "Operations",
    "OptionsRequest",
    "PackedRequest",
    "PlainRequest",
    "PromoteRequest",
    "ReadLevel",
    "Request",
    "RightsRequest",
    "SelectRequest",
    "SnapshotReadRequest",
    "TraceRequest",
    "TxGetRequest",
    "Verb",
    "WatchRequest",
    "WriteFlags",
    "WriteRequest",
    "decode",
    "decode_any",
    "encode",
    "encode_put",
]


def encode(request: Request, *, bytes_max: int = limits.CLIENT_FRAME_BYTES_MAX) -> bytes:
    """Any request, framed. Raises TooLarge, or WrongTuple for a value that CBOR has no word for."""
    if isinstance(request, WriteRequest):
        _check_count(len(request.ops), *_OPS_LIMIT)
    payload = sendable.encode(_fields_of(request), WrongTuple)
    if len(payload) > bytes_max:
        details = {"limit": "CLIENT_FRAME_BYTES_MAX", "most": bytes_max}
        raise TooLarge(
            f"a request of {len(payload)} bytes; the limit is {bytes_max}", details=details
        )
    if len(payload) > tags.BIGNUM_BYTES_MAX and any(each in payload for each in tags.LONG_BIGNUMS):
        sendable.check_payload(payload, WrongTuple)
    return frame(payload)


# Length, array of 10, id, verb, head of a short session | seq, low, flags, array of one operation,
# array of three, code | nil, 0, []: the frame of the put that `encode_put` makes.
_PUT_HEAD = struct.Struct(">IB BQ BB")
_PUT_BODY = struct.Struct(">BQ BQ BBBB")
_PUT_TAIL: Final = b"\xf6\x00\x80"
_PUT_FIXED: Final = _PUT_HEAD.size - LENGTH_SIZE + _PUT_BODY.size + len(_PUT_TAIL)
PUT_SESSION_BYTES_MAX: Final = 23
"""Longest session that `encode_put` can pack."""
PUT_FLAGS_MAX: Final = int(WriteFlags.DOUBTED) - 1
"""Flags that it can pack: all that the first attempt of a request may have."""


def encode_put(
    id: int,
    *,
    session: bytes,
    seq: int,
    low: int,
    flags: int,
    code: int,
    space: bytes,
    row: bytes,
) -> bytes:
    """A Write of one insert (`code` 1) or replace (2), framed, without a general encoder.

    `space` is encoded CBOR already (`cbor.text(name)`), `row` the CBOR of the tuple.
    """
    assert len(session) <= PUT_SESSION_BYTES_MAX
    assert flags <= PUT_FLAGS_MAX
    size = len(row)
    opening = cbor.head(cbor.MAJOR_BYTES, size)
    label = cbor.MAJOR_BYTES | len(session)
    length = _PUT_FIXED + len(session) + len(space) + len(opening) + size
    return b"".join(
        (
            _PUT_HEAD.pack(length, cbor.ARRAY | 10, cbor.U64, id, _WRITE, label),
            session,
            _PUT_BODY.pack(cbor.U64, seq, cbor.U64, low, flags, 0x81, 0x83, code),
            space,
            opening,
            row,
            _PUT_TAIL,
        )
    )


def decode(payload: bytes) -> Request:
    """The request in a payload.

    Raises ProtocolError, or TooLarge where only a limit is not kept; its `details` hold the
    request's `id` when that could be read, so that it can be answered.
    """
    common = decode_common(payload)
    if common is not None:
        return common
    return decode_any(payload)


def decode_any(payload: bytes) -> Request:
    """Decode it by the general decoder, which says what is wrong with a request."""
    try:
        values = cbor.loads_array(payload)
    except ProtocolError as error:
        number = cbor.first_number(payload)
        if number is not None:
            error.details["id"] = number
        raise
    id, verb = values[:2] if len(values) > 1 else (None, None)
    if type(id) is not int or not 0 <= id <= limits.U64_MAX:
        raise ProtocolError("a request without an id")
    try:
        if verb == _WRITE:
            return _read_write(id, values)
        return _read(id, verb, values)
    except (ProtocolError, TooLarge) as error:
        error.details["id"] = id
        raise


def number_of(begun: bytes) -> int | None:
    """The id of a request of which only the beginning is there; None if that is too little."""
    return cbor.first_number(begun)


def _fields_of(request: Request) -> list[object]:
    match request:
        case PlainRequest(id, verb):
            return [id, int(verb)]
        case GetRequest(id, space, by, key, level):
            return [id, 4, space, by, key, *_level(level)]
        case SelectRequest(id, space, by, iterator, key, limit, offset, after, level, ops):
            return [
                *(id, 5, space, by, iterator, key, limit, offset, after),
                *_level(level),
                *([ops] if ops else []),
            ]
        case CountRequest(id, space, by, iterator, key, level, ops):
            return [id, 6, space, by, iterator, key, *_level(level), *([ops] if ops else [])]
        case TxGetRequest(id, ops, space, by, key, level):
            return [id, 17, ops, space, by, key, *_level(level)]
        case FaultRequest(id, point, arm, seconds, times, lasts):
            return [id, int(Verb.FAULT), point, arm, seconds < 0, abs(seconds), times, lasts]
        case _:
            return [request[0], int(VERB_OF[type(request)]), *request[1:]]


def _level(level: ReadLevel) -> tuple[int, int, int]:
    return (_CODES[level.consistency], level.term, level.at)


def _read(id: int, verb: object, values: list[object]) -> Request:
    if type(verb) is int and verb in _READERS:
        return _READERS[verb](id, cbor.Fields(values[2:], Verb(verb).name.lower()))
    raise ProtocolError("a request with a verb that is not known here")


def _read_write(id: int, values: list[object]) -> WriteRequest:
    if len(values) != _WRITE_SIZE:
        raise ProtocolError(f"a write of {len(values)} fields, not {_WRITE_SIZE}")
    _, _, session, seq, low, flags, ops, timeout, snapshot, reads = values
    if (
        type(session) is bytes
        and len(session) <= limits.SESSION_BYTES_MAX
        and type(seq) is type(low) is type(flags) is type(snapshot) is int
        and 0 <= seq <= limits.U64_MAX
        and 0 <= low <= limits.U64_MAX
        and 0 <= flags <= FLAGS_MAX
        and 0 <= snapshot <= limits.U64_MAX
    ):
        ops, reads = _operations(ops), _reads(reads)
        return WriteRequest(id, session, seq, low, flags, ops, _timeout(timeout), snapshot, reads)
    raise ProtocolError("a write with a field of the wrong kind")


def _operations(value: object) -> list[list[object]]:
    return _arrays(value, *_OPS_LIMIT)


def _reads(value: object) -> list[list[object]]:
    return _arrays(value, limits.READS_MAX, "READS_MAX", "reads to be validated")


def _arrays(value: object, most: int, limit: str, what: str) -> list[list[object]]:
    if type(value) is list:
        _check_count(len(value), most, limit, what)
        for item in value:
            if type(item) is not list:
                break
        else:
            return value
    raise ProtocolError("not an array of arrays")


_OPS_LIMIT: Final = (limits.OPS_MAX, "OPS_MAX", "operations")


def _check_count(found: int, most: int, limit: str, what: str) -> None:
    if found > most:
        why = f"{found} {what} in one transaction; the limit {limit} is {most}"
        raise TooLarge(why, details={"limit": limit, "most": most})


def _timeout(value: object) -> float | None:
    return None if value is None else cbor.Fields([value], "timeout of a write").seconds()


def _name(fields: cbor.Fields) -> Name:
    value = fields.any()
    if isinstance(value, str) and 0 < len(value) <= limits.SPACE_CHARS_MAX:
        return value
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= limits.U32_MAX:
        return value
    raise fields.refused("a name or number")


def _name_or_none(fields: cbor.Fields) -> Name | None:
    return _name(fields) if fields.present() else None


def _key(fields: cbor.Fields) -> list[object]:
    return fields.array(limits.KEY_PARTS_MAX)


def _read_level(fields: cbor.Fields) -> ReadLevel:
    code = fields.uint(len(CONSISTENCIES) - 1)
    return ReadLevel(CONSISTENCIES[code], fields.term(), fields.index())


def _ops(fields: cbor.Fields) -> list[list[object]]:
    return _operations(fields.any()) if fields.more() else []


def _get(id: int, fields: cbor.Fields) -> GetRequest:
    return GetRequest(id, _name(fields), _name(fields), _key(fields), _read_level(fields))


def _select(id: int, fields: cbor.Fields) -> SelectRequest:
    space, by, iterator, key = _name(fields), _name(fields), fields.text(8), _key(fields)
    limit, offset, after = fields.uint(), fields.uint(), fields.any()
    level = _read_level(fields)
    return SelectRequest(id, space, by, iterator, key, limit, offset, after, level, _ops(fields))


def _count(id: int, fields: cbor.Fields) -> CountRequest:
    space, by, iterator, key = _name(fields), _name(fields), fields.text(8), _key(fields)
    return CountRequest(id, space, by, iterator, key, _read_level(fields), _ops(fields))


def _tx_get(id: int, fields: cbor.Fields) -> TxGetRequest:
    ops = _operations(fields.any())
    return TxGetRequest(id, ops, _name(fields), _name(fields), _key(fields), _read_level(fields))


def _demote(id: int, fields: cbor.Fields) -> DemoteRequest:
    return DemoteRequest(id, fields.uint(limits.REPLICA_MAX), fields.seconds())


def _change_member(id: int, fields: cbor.Fields) -> ChangeMemberRequest:
    action, replica = fields.text(limits.NAME_CHARS_MAX), fields.uint(limits.REPLICA_MAX)
    instance, name, address, role = (fields.text(limits.NAME_CHARS_MAX) for _ in range(4))
    force, dry_run, timeout = fields.flag(), fields.flag(), fields.seconds()
    return ChangeMemberRequest(
        id, action, replica, instance, name, address, role, force, dry_run, timeout
    )


def _watch(id: int, fields: cbor.Fields) -> WatchRequest:
    return WatchRequest(id, fields.text(limits.NAME_CHARS_MAX), fields.any(), fields.seconds())


def _changes(id: int, fields: cbor.Fields) -> ChangesRequest:
    after, space = fields.uint_or_none(), _name_or_none(fields)
    return ChangesRequest(id, after, space, _key(fields), fields.seconds(), Term(fields.uint()))


def _fault(id: int, fields: cbor.Fields) -> FaultRequest:
    point, arm = fields.text(limits.NAME_CHARS_MAX), fields.flag()
    back = fields.flag()
    seconds, times = fields.seconds(), fields.uint(limits.U32_MAX)
    return FaultRequest(id, point, arm, -seconds if back else seconds, times, fields.seconds())


def _log(id: int, fields: cbor.Fields) -> LogRequest:
    return LogRequest(id, fields.index(), fields.uint(), fields.uint())


def _snapshot_read(id: int, fields: cbor.Fields) -> SnapshotReadRequest:
    return SnapshotReadRequest(id, fields.index(), fields.uint(), fields.uint())


def _packed(id: int, fields: cbor.Fields) -> PackedRequest:
    return PackedRequest(id, fields.index(), fields.uint(), fields.uint(packed.OPENING_BYTES_MAX))


_WRITE: Final = int(Verb.WRITE)
_WRITE_SIZE: Final = 10
_CODES: Final = {consistency: code for code, consistency in enumerate(CONSISTENCIES)}
_READERS: Final[dict[int, Callable[[int, cbor.Fields], Request]]] = {
    Verb.PING: lambda id, _: PlainRequest(id, Verb.PING),
    Verb.SCHEMA: lambda id, _: PlainRequest(id, Verb.SCHEMA),
    Verb.GET: _get,
    Verb.SELECT: _select,
    Verb.COUNT: _count,
    Verb.STATUS: lambda id, _: PlainRequest(id, Verb.STATUS),
    Verb.INFO: lambda id, fields: InfoRequest(id, fields.text_or_none()),
    Verb.PROMOTE: lambda id, fields: PromoteRequest(id, fields.seconds()),
    Verb.DEMOTE: _demote,
    Verb.CLEAR: lambda id, fields: ClearRequest(id, fields.seconds()),
    Verb.CHANGE_MEMBER: _change_member,
    Verb.ROLLBACK_QUEUE: lambda id, _: PlainRequest(id, Verb.ROLLBACK_QUEUE),
    Verb.LOG: _log,
    Verb.PACKED: _packed,
    Verb.SNAPSHOT_READ: _snapshot_read,
    Verb.DIGEST: lambda id, fields: DigestRequest(id, _name_or_none(fields)),
    Verb.LOST: lambda id, _: PlainRequest(id, Verb.LOST),
    Verb.DRY_RUN: lambda id, fields: DryRunRequest(id, fields.text(limits.NAME_CHARS_MAX)),
    Verb.TX_GET: _tx_get,
    Verb.WATCH: _watch,
    Verb.CHANGES: _changes,
    Verb.OPTIONS: lambda id, fields: OptionsRequest(id, fields.table()),
    Verb.SNAPSHOT: lambda id, _: PlainRequest(id, Verb.SNAPSHOT),
    Verb.TRACE: lambda id, fields: TraceRequest(id, fields.uint(), fields.seconds()),
    Verb.FAULT: _fault,
    Verb.RIGHTS: lambda id, fields: RightsRequest(id, fields.text_or_none(limits.NAME_CHARS_MAX)),
    Verb.RELOAD: lambda id, _: PlainRequest(id, Verb.RELOAD),
}
