"""What a peer may say: checked before anything of the node is touched, so that no rule can fail.

Whatever stands here would otherwise be an assertion somewhere inside. A message that does not pass
ends the connection that it came over and changes nothing.
"""

from collections.abc import Iterable
from typing import Final, assert_never

from election.messages import (
    TERM_JUMP_MAX,
    TERM_MAX,
    Replica,
    RequestVote,
    RequestVoteResponse,
    Resigned,
    Term,
    TimeoutNow,
)
from qsync.core.logindex import LogIndex
from qsync.core.messages import (
    Append,
    AppendResponse,
    Heartbeat,
    HeartbeatResponse,
    Message,
    ReadIndex,
    ReadIndexResponse,
    TransferLeadership,
)
from qsync.core.replica_state import ReplicaState
from qsync.errors import Damaged, ProtocolError
from qsync.record import CONFIG, Entry, EntryKind, RecordDamage, read_ref

ORIGIN_MAX: Final = 31
"""Highest replica id."""

_TXN: Final = int(EntryKind.TXN)
_KINDS: Final = frozenset(map(int, EntryKind))
_REFERRING: Final = frozenset(
    map(int, (EntryKind.CONFIRM, EntryKind.ROLLBACK, EntryKind.PROMOTE, EntryKind.DEMOTE))
)


def check(state: ReplicaState, peer: Replica, message: Message) -> None:
    """May `peer` say that to us, as we are now? Raises ProtocolError."""
    said_by = sender(message)
    if said_by is not None and said_by != peer:
        raise ProtocolError(f"a message of node {said_by} over the connection of node {peer}")
    check_term(state.term, message.term)
    if type(message) is Append:
        check_entries(state.replicated_log.log, message)
        _check_configurations(state, message.entries)


def sender(message: Message) -> Replica | None:
    """Who says it, by the message itself; None if it does not tell."""
    match message:
        case (
            Append(leader=who)
            | Heartbeat(leader=who)
            | TimeoutNow(leader=who)
            | Resigned(leader=who)
        ):
            return who
        case (
            AppendResponse(follower=who) | HeartbeatResponse(follower=who) | ReadIndex(follower=who)
        ):
            return who
        case RequestVote(candidate=who) | TransferLeadership(candidate=who):
            return who
        case RequestVoteResponse(voter=who):
            return who
        case ReadIndexResponse():
            return None
        case _:
            assert_never(message)


def check_term(ours: Term, told: Term) -> None:
    """Terms grow by one for each campaign and are for ever: one that jumps is no term.

    Whoever adopts it can never go back, and at the end of the numbers nobody can campaign.
    """
    if told > TERM_MAX:
        raise ProtocolError(f"term {told} is beyond the last one, TERM_MAX {TERM_MAX}")
    if told > ours + TERM_JUMP_MAX:
        raise ProtocolError(
            f"term {told} is more than TERM_JUMP_MAX ({TERM_JUMP_MAX}) above our term {ours}"
        )


def check_entries(log: LogIndex, message: Append) -> None:
    """Entries that continue our log must be such as a leader can have written there."""
    prev, entries = message.prev_index, message.entries
    if not entries:
        return
    if not log.agrees(prev, message.prev_term, message.prev_crc):
        return  # They are refused with a hint and never looked at.
    term, lsn, origin = message.prev_term, 0, 0
    if prev:
        lsn, origin = log.lsn_at(prev), log.run_at(prev).origin
    for entry in entries:
        if entry.term == term:
            fits = entry.lsn == lsn + 1 and entry.origin == origin
        else:
            fits = entry.term > term and 1 <= entry.origin <= ORIGIN_MAX and entry.lsn >= 1
        if not fits or entry.kind not in _KINDS:
            raise ProtocolError(f"entry {entry.index} does not continue the log: {entry}")
        term, lsn, origin = entry.term, entry.lsn, entry.origin
    if term > message.term:
        raise ProtocolError(f"an entry of term {term} from the leader of term {message.term}")
    _check_references(log, message)


def _check_configurations(state: ReplicaState, entries: Iterable[Entry]) -> None:
    """Voters count from where they are appended, so they must be such as this node can know."""
    known = {state.config.me, *state.peers}
    for entry in entries:
        if not entry.flags & CONFIG:
            continue
        try:
            voters = state.replicated_log.configurations.codec.decode(entry.body)
        except Damaged as damage:
            raise ProtocolError(f"entry {entry.index}: {damage.message}") from damage
        strange = [replica for replica, _ in voters if replica not in known]
        if strange or entry.kind != _TXN:
            raise ProtocolError(f"entry {entry.index} names voters that are no members: {strange}")


def _check_references(log: LogIndex, message: Append) -> None:
    controls = [each for each in message.entries if each.kind in _REFERRING]
    for entry in controls:
        try:
            owner, lsn = read_ref(entry)
        except RecordDamage as damage:
            raise ProtocolError(str(damage)) from damage
        if entry.kind == EntryKind.ROLLBACK:
            named = log.index_of(owner, lsn)
            if not 0 < named <= message.prev_index and not _among(
                message.entries, owner, lsn, below=entry
            ):
                raise ProtocolError(f"entry {entry.index} rolls back what is not in the log")


def _among(entries: Iterable[Entry], owner: int, lsn: int, *, below: Entry) -> bool:
    return any(
        (each.origin, each.lsn) == (owner, lsn) and each.index < below.index for each in entries
    )
