"""Validation of peer messages, before any state changes, so that no assertion can fail.

Without these checks an invalid message would fail an assertion inside the node. An invalid message
closes its connection and changes nothing.
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
from qsync.core.configuration import configuration_of
from qsync.core.logindex import LogIndex
from qsync.core.logstart import contradiction
from qsync.core.messages import (
    Append,
    AppendResponse,
    Heartbeat,
    HeartbeatResponse,
    InstallSnapshot,
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
    """Check that `peer` may send this message to us now. Raises ProtocolError."""
    said_by = sender(message)
    if said_by is not None and said_by != peer:
        raise ProtocolError(f"a message of node {said_by} over the connection of node {peer}")
    check_term(state.term, message.term)
    if type(message) is Append and message.term >= state.term:
        check_entries(state.replicated_log.log, message)
        _check_configurations(state, message.entries)
    elif type(message) is InstallSnapshot:
        check_snapshot(state, message)


def check_snapshot(state: ReplicaState, message: InstallSnapshot) -> None:
    """Check that a leader can have this snapshot: of an entry, with the voters in force there."""
    start, codec = message.start, state.replicated_log.configurations.codec
    why = contradiction(start)
    if why is not None:
        raise ProtocolError(f"no snapshot begins like that: {why}")
    if not 0 < start.term <= message.term:
        raise ProtocolError(f"a snapshot of term {start.term} from a leader of {message.term}")
    try:
        known = configuration_of(start.configuration, codec)
    except Damaged as damage:
        raise ProtocolError(f"a snapshot at {start.index}: {damage.message}") from damage
    if known is None:
        raise ProtocolError(f"a snapshot at {start.index} says nothing of who votes")


def sender(message: Message) -> Replica | None:
    """Return the sender that the message names; None if it names none."""
    match message:
        case (
            Append(leader=who)
            | InstallSnapshot(leader=who)
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


def check_term(ours: Term, theirs: Term) -> None:
    """Terms grow by one for each campaign and are for ever: one that jumps is no term.

    A node that adopts it can never go back, and after the last term no node can campaign.
    """
    if theirs > TERM_MAX:
        raise ProtocolError(f"term {theirs} is beyond the last one, TERM_MAX {TERM_MAX}")
    if theirs > ours + TERM_JUMP_MAX:
        raise ProtocolError(
            f"term {theirs} is more than TERM_JUMP_MAX ({TERM_JUMP_MAX}) above our term {ours}"
        )


def check_entries(log: LogIndex, message: Append) -> None:
    """Check that a leader can have written these entries behind our log."""
    prev, entries = message.prev_index, message.entries
    if not log.agrees(prev, message.prev_term, message.prev_crc):
        return  # They are refused with a hint and never looked at.
    term, lsn, origin = message.prev_term, 0, 0
    if prev < log.start.index:
        # Entries before our log are confirmed here, and every leader has the same ones.
        begins = log.start
        if not all(_is_before(log, each) for each in entries if each.index <= begins.index):
            return  # It is a split brain, and the follower says so.
        entries = tuple(each for each in entries if each.index > begins.index)
        term, lsn, origin = begins.term, begins.lsn, begins.origin
    elif prev:
        lsn, origin = log.lsn_at(prev), log.run_at(prev).origin
    for entry in entries:
        if entry.term == term:
            fits = entry.lsn == lsn + 1 and entry.origin == origin
        else:
            fits = entry.term > term and 1 <= entry.origin <= ORIGIN_MAX and entry.lsn >= 1
        if not fits or entry.kind not in _KINDS:
            raise ProtocolError(f"entry {entry.index} does not continue the log: {entry}")
        term, lsn, origin = entry.term, entry.lsn, entry.origin
    if entries and term > message.term:
        raise ProtocolError(f"an entry of term {term} from the leader of term {message.term}")
    _check_references(log, message, entries)


def _is_before(log: LogIndex, entry: Entry) -> bool:
    return log.agrees(entry.index, entry.term, entry.crc)


def _check_configurations(state: ReplicaState, entries: Iterable[Entry]) -> None:
    """Check the bodies of configurations: members count from where they are appended."""
    for entry in entries:
        if not entry.flags & CONFIG:
            continue
        try:
            state.replicated_log.configurations.codec.decode(entry.body)
        except Damaged as damage:
            raise ProtocolError(f"entry {entry.index}: {damage.message}") from damage
        if entry.kind != _TXN:
            raise ProtocolError(f"entry {entry.index} names members, and is no transaction")


def _check_references(log: LogIndex, message: Append, entries: Iterable[Entry]) -> None:
    controls = [each for each in entries if each.kind in _REFERRING]
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
