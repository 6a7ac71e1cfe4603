"""What replicas say to each other about the log."""

from dataclasses import dataclass
from enum import IntEnum

from election.messages import ElectionMessage, Index, Position, Replica, Term
from qsync.record import Crc, Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """Entries, and the entry they follow. Leader to follower.

    `confirmed` was computed by the sender for this batch's end (protocol.md section 3.8): the
    receiver takes it as it is. The machine emits `entries` empty and names `last`; whoever sends
    fills in the entries `prev_index + 1 .. last` from the log. `epoch` counts the leader's
    connections to this follower and comes back in the answer.
    """

    term: Term
    leader: Replica
    epoch: int
    prev_index: Index
    prev_term: Term
    prev_crc: Crc
    last: Index
    confirmed: Index
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendResponse:
    """Follower to leader: what is durable here, or where our logs may still agree.

    `ok`: everything up to `index` is durable here and equal to the leader's log.
    Otherwise `index` is a hint: the leader should try from there (its term is `index_term`).
    `recruit`: this node may have forgotten acks, so it counts in no quorum yet.
    """

    term: Term
    follower: Replica
    epoch: int
    ok: bool
    index: Index
    index_term: Term
    recruit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """Leader to follower: I still lead.

    `confirmed` was computed for `matched`, which the follower has acked.

    `round` numbers the leader's questions "do you still follow me?"; never reused in a term.
    """

    term: Term
    leader: Replica
    epoch: int
    round: int
    matched: Index
    confirmed: Index
    promise: bool = False
    """Asks for a promise: reads are wanted that rest on one (membership.md M11)."""
    admit: bool = False
    """Tells a recruit that it has caught up and is a member from now on."""
    last: Index = Index(0)
    """How long the leader's log is, for people who ask the follower; whoever sends fills it in."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatResponse:
    """Follower to leader: in your term I still follow you (answer to `round`).

    `promised_us`: for so many microseconds from now on I vote for nobody else; 0 when nobody asked.
    """

    term: Term
    follower: Replica
    epoch: int
    round: int
    recruit: bool
    promised_us: int
    standing: MemberState = MemberState.CANDIDATE


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


LogMessage = (
    Append
    | AppendResponse
    | Heartbeat
    | HeartbeatResponse
    | ReadIndex
    | ReadIndexResponse
    | TransferLeadership
)
Message = ElectionMessage | LogMessage
