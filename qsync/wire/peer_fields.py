"""Peer messages as arrays of fields: the rare ones, and the way to read any of them unpacked."""

from collections.abc import Callable
from typing import Final, assert_never

from election.messages import (
    Index,
    Position,
    RejectReason,
    RequestVote,
    RequestVoteResponse,
    Resigned,
    TimeoutNow,
)
from qsync import record
from qsync.core import logstart
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
from qsync.errors import Damaged, ProtocolError
from qsync.record import Crc, Entry
from qsync.wire import cbor, limits

ASK_VOTE: Final = 1
VOTE: Final = 2
CAMPAIGN_NOW: Final = 3
APPEND: Final = 4
APPENDED: Final = 5
HEARTBEAT: Final = 6
HEARD: Final = 7
ASK_INDEX: Final = 8
READ_INDEX: Final = 9
ASK_HAND_OVER: Final = 10
RESIGNED: Final = 11
SNAPSHOT: Final = 13
"""12 is the answer to the question that shares its number with RESIGNED; see keepalive."""

RareMessage = (
    RequestVote
    | RequestVoteResponse
    | TimeoutNow
    | Resigned
    | ReadIndex
    | ReadIndexResponse
    | TransferLeadership
    | InstallSnapshot
)


def fields_of(message: RareMessage) -> list[object]:
    """Return the fields of a rare message, which is an array."""
    match message:
        case RequestVote(term=term, candidate=who, position=place, pre=pre, transfer=transfer):
            return [ASK_VOTE, term, who, place.term, place.index, pre, transfer]
        case RequestVoteResponse(
            term=term, asked_term=asked, voter=who, pre=pre, granted=granted, reason=nay
        ):
            return [VOTE, term, asked, who, pre, granted, nay.value if nay else None]
        case TimeoutNow(term=term, leader=leader):
            return [CAMPAIGN_NOW, term, leader]
        case Resigned(term=term, leader=leader):
            return [RESIGNED, term, leader]
        case ReadIndex(term=term, follower=who, ask=ask):
            return [ASK_INDEX, term, who, ask]
        case ReadIndexResponse(term=term, ask=ask, place=at):
            return [READ_INDEX, term, ask, at.index if at else None, at.term if at else 0]
        case TransferLeadership(term=term, candidate=who):
            return [ASK_HAND_OVER, term, who]
        case InstallSnapshot(term=term, leader=leader, epoch=epoch, start=start):
            # What is known of older entries comes with the rows, for who can read it.
            return [SNAPSHOT, term, leader, epoch, start.alone().encode()]
        case _:
            assert_never(message)


def decode_slowly(payload: bytes) -> Message:
    """Any message in any valid CBOR. Raises ProtocolError."""
    fields = cbor.Fields(cbor.loads_array(payload), "message of a peer")
    kind = fields.uint()
    read = _READERS.get(kind)
    if read is None:
        raise ProtocolError(f"{kind} is no message between replicas")
    return read(fields)


def open_batch(batch: bytes, *, after: int, previous: int, last: int) -> tuple[Entry, ...]:
    """The entries of an Append: dense from `after`, chained on `previous`, reaching `last`."""
    try:
        entries = record.decode(batch, previous=previous)
    except record.RecordDamage as damage:
        raise ProtocolError(f"the entries after {after} do not hold: {damage}") from damage
    if after + len(entries) != last:
        raise ProtocolError(f"{len(entries)} entries after {after} do not reach {last}")
    if entries and entries[0].index != after + 1:
        raise ProtocolError(f"entry {entries[0].index} does not follow {after}")
    return tuple(entries)


def _ask_vote(fields: cbor.Fields) -> RequestVote:
    return RequestVote(
        term=fields.led_term(),
        candidate=fields.replica(),
        position=Position(fields.term(), fields.index()),
        pre=fields.flag(),
        transfer=fields.flag(),
    )


def _vote(fields: cbor.Fields) -> RequestVoteResponse:
    return RequestVoteResponse(
        term=fields.term(),
        asked_term=fields.term(),
        voter=fields.replica(),
        pre=fields.flag(),
        granted=fields.flag(),
        reason=_nay(fields),
    )


def _campaign_now(fields: cbor.Fields) -> TimeoutNow:
    return TimeoutNow(term=fields.led_term(), leader=fields.replica())


def _resigned(fields: cbor.Fields) -> Resigned:
    return Resigned(term=fields.led_term(), leader=fields.replica())


def _append(fields: cbor.Fields) -> Append:
    term, leader, epoch = fields.led_term(), fields.replica(), fields.uint()
    index, prev_term, crc = fields.index(), fields.term(), Crc(fields.uint(limits.U32_MAX))
    last, confirmed = fields.index(), fields.index()
    return Append(
        term=term,
        leader=leader,
        epoch=epoch,
        prev_index=index,
        prev_term=prev_term,
        prev_crc=crc,
        last=last,
        confirmed=confirmed,
        entries=open_batch(fields.raw(), after=index, previous=crc, last=last),
    )


def _appended(fields: cbor.Fields) -> AppendResponse:
    return AppendResponse(
        term=fields.term(),
        follower=fields.replica(),
        epoch=fields.uint(),
        ok=fields.flag(),
        index=fields.index(),
        index_term=fields.term(),
        recruit=fields.flag(),
    )


def _heartbeat(fields: cbor.Fields) -> Heartbeat:
    return Heartbeat(
        term=fields.led_term(),
        leader=fields.replica(),
        epoch=fields.uint(),
        round=fields.uint(),
        matched=fields.index(),
        confirmed=fields.index(),
        last=fields.index(),
        promise=fields.flag(),
        admit=fields.flag(),
    )


def _heard(fields: cbor.Fields) -> HeartbeatResponse:
    return HeartbeatResponse(
        term=fields.term(),
        follower=fields.replica(),
        epoch=fields.uint(),
        round=fields.uint(),
        promised_us=fields.uint(),
        recruit=fields.flag(),
        standing=MemberState(fields.uint(max(MemberState))),
    )


def _ask_index(fields: cbor.Fields) -> ReadIndex:
    return ReadIndex(term=fields.term(), follower=fields.replica(), ask=fields.uint())


def _read_index(fields: cbor.Fields) -> ReadIndexResponse:
    term, ask = fields.term(), fields.uint()
    index, of = fields.uint_or_none(), fields.term()
    place = None if index is None else Position(of, Index(index))
    return ReadIndexResponse(term=term, ask=ask, place=place)


def _ask_hand_over(fields: cbor.Fields) -> TransferLeadership:
    return TransferLeadership(term=fields.term(), candidate=fields.replica())


def _snapshot(fields: cbor.Fields) -> InstallSnapshot:
    term, leader, epoch = fields.led_term(), fields.replica(), fields.uint()
    try:
        start = logstart.decode(fields.raw())
    except Damaged as damage:
        raise ProtocolError(f"a snapshot of nowhere: {damage.message}") from damage
    return InstallSnapshot(term=term, leader=leader, epoch=epoch, start=start)


def _nay(fields: cbor.Fields) -> RejectReason | None:
    name = fields.text_or_none(limits.NAME_CHARS_MAX)
    if name is None:
        return None
    try:
        return RejectReason(name)
    except ValueError:
        raise ProtocolError(f"{name!r} is no reason to refuse a vote") from None


_READERS: Final[dict[int, Callable[[cbor.Fields], Message]]] = {
    ASK_VOTE: _ask_vote,
    VOTE: _vote,
    CAMPAIGN_NOW: _campaign_now,
    RESIGNED: _resigned,
    APPEND: _append,
    APPENDED: _appended,
    HEARTBEAT: _heartbeat,
    HEARD: _heard,
    ASK_INDEX: _ask_index,
    READ_INDEX: _read_index,
    ASK_HAND_OVER: _ask_hand_over,
    SNAPSHOT: _snapshot,
}
