"""Messages between replicas about the log."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from election.messages import ElectionMessage, Index, Position, Replica, Term
from qsync.core.logstart import LogStart
from qsync.record import Crc, Entry


@dataclass(slots=True, init=False, unsafe_hash=True)
class Append:
    """Entries, and the entry they follow. Leader to follower.

    `confirmed` was computed by the sender for this batch's end (protocol.md section 3.8): the
    receiver takes it as it is. The machine emits `entries` empty and names `last`; the sender
    fills in the entries `prev_index + 1 .. last` from the log. `epoch` counts the leader's
    connections to this follower and comes back in the answer.
    """

    term: Final[Term]
    leader: Final[Replica]
    epoch: Final[int]
    prev_index: Final[Index]
    prev_term: Final[Term]
    prev_crc: Final[Crc]
    last: Final[Index]
    confirmed: Final[Index]
    entries: Final[tuple[Entry, ...]]

    def __init__(
        self,
        *,
        term: Term,
        leader: Replica,
        epoch: int,
        prev_index: Index,
        prev_term: Term,
        prev_crc: Crc,
        last: Index,
        confirmed: Index,
        entries: tuple[Entry, ...] = (),
    ) -> None:
        self.term = term
        self.leader = leader
        self.epoch = epoch
        self.prev_index = prev_index
        self.prev_term = prev_term
        self.prev_crc = prev_crc
        self.last = last
        self.confirmed = confirmed
        self.entries = entries


@dataclass(slots=True, init=False, unsafe_hash=True)
class AppendResponse:
    """Follower to leader: what is durable here, or where our logs may still agree.

    `ok`: everything up to `index` is durable here and equal to the leader's log.
    Otherwise `index` is a hint: the leader should try from there (its term is `index_term`).
    `recruit`: this node may have forgotten acks, so it counts in no quorum yet.
    """

    term: Final[Term]
    follower: Final[Replica]
    epoch: Final[int]
    ok: Final[bool]
    index: Final[Index]
    index_term: Final[Term]
    recruit: Final[bool]

    def __init__(
        self,
        *,
        term: Term,
        follower: Replica,
        epoch: int,
        ok: bool,
        index: Index,
        index_term: Term,
        recruit: bool,
    ) -> None:
        self.term = term
        self.follower = follower
        self.epoch = epoch
        self.ok = ok
        self.index = index
        self.index_term = index_term
        self.recruit = recruit


@dataclass(slots=True, init=False, unsafe_hash=True)
class Heartbeat:
    """Leader to follower: I still lead.

    `confirmed` was computed for `matched`, which the follower has acked.

    `round` numbers the leader's questions "do you still follow me?"; never reused in a term.
    """

    term: Final[Term]
    leader: Final[Replica]
    epoch: Final[int]
    round: Final[int]
    matched: Final[Index]
    confirmed: Final[Index]
    promise: Final[bool]
    """Asks for a promise: reads are wanted that rest on one (membership.md M11)."""
    admit: Final[bool]
    """Tells a recruit that it has caught up and is a member from now on."""
    last: Final[Index]
    """The length of the leader's log, for the follower's status; the sender fills it in."""

    def __init__(
        self,
        *,
        term: Term,
        leader: Replica,
        epoch: int,
        round: int,  # noqa: A002 - the field's name
        matched: Index,
        confirmed: Index,
        promise: bool = False,
        admit: bool = False,
        last: Index = Index(0),
    ) -> None:
        self.term = term
        self.leader = leader
        self.epoch = epoch
        self.round = round
        self.matched = matched
        self.confirmed = confirmed
        self.promise = promise
        self.admit = admit
        self.last = last


class MemberState(IntEnum):
    """Whether leadership may be handed to a follower."""

    CANDIDATE = 0
    """Its election mode is candidate."""
    WHEN_TOLD = 1
    """Off or manual: only in favour of it by name."""
    VOTER = 2
    """It never leads."""
    UNWELL = 3
    """Its log cannot be written now."""


@dataclass(slots=True, init=False, unsafe_hash=True)
class HeartbeatResponse:
    """Follower to leader: in your term I still follow you (answer to `round`).

    `promised_us`: for so many microseconds it votes for no other node; 0 if it was not asked to.
    """

    term: Final[Term]
    follower: Final[Replica]
    epoch: Final[int]
    round: Final[int]
    recruit: Final[bool]
    promised_us: Final[int]
    standing: Final[MemberState]

    def __init__(
        self,
        *,
        term: Term,
        follower: Replica,
        epoch: int,
        round: int,  # noqa: A002 - the field's name
        recruit: bool,
        promised_us: int,
        standing: MemberState = MemberState.CANDIDATE,
    ) -> None:
        self.term = term
        self.follower = follower
        self.epoch = epoch
        self.round = round
        self.recruit = recruit
        self.promised_us = promised_us
        self.standing = standing


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadIndex:
    """Follower to leader: which entry must I show to be linearizable?"""

    term: Term
    follower: Replica
    ask: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadIndexResponse:
    """The leader's answer to ReadIndex: a place. None when it could not make sure that it leads.

    A bare index would do for a log that is the leader's. A follower's may be as long and have
    other entries there: a visible asynchronous tail of an older term (protocol.md section 7).
    """

    term: Term
    ask: int
    place: Position | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferLeadership:
    """To the leader: bring me to your last entry, then let me lead (a planned switchover)."""

    term: Term
    candidate: Replica


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallSnapshot:
    """What you lack is not in my log any more; I have the state at `start`. Leader to follower.

    Raft §7. The rows do not come with it: the follower's node fetches them.
    A follower whose log has that entry wants none (membership.md M6 c). The answer, now or when
    the rows are durable, is an AppendResponse.
    """

    term: Term
    leader: Replica
    epoch: int
    start: LogStart


LogMessage = (
    Append
    | InstallSnapshot
    | AppendResponse
    | Heartbeat
    | HeartbeatResponse
    | ReadIndex
    | ReadIndexResponse
    | TransferLeadership
)
Message = ElectionMessage | LogMessage
