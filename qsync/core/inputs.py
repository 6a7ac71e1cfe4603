"""All inputs of a node, except a client's write (see `Machine.propose`)."""

from dataclasses import dataclass
from typing import Final

from election.messages import Index, Replica, Term
from qsync.core.consistency import Consistency
from qsync.core.member_change import MemberChange
from qsync.core.messages import InstallSnapshot, Message
from qsync.core.ready import Ticket
from qsync.features import KNOWN
from qsync.record import ONE_INSTANCE, Instance


@dataclass(slots=True, init=False, unsafe_hash=True)
class Received:
    """A message from a peer that its handshake has identified, with the directory it runs on."""

    peer: Final[Replica]
    message: Final[Message]
    instance: Final[Instance]

    def __init__(
        self,
        *,
        peer: Replica,
        message: Message,
        instance: Instance = ONE_INSTANCE,
    ) -> None:
        self.peer = peer
        self.message = message
        self.instance = instance


@dataclass(slots=True, init=False, unsafe_hash=True)
class TimerFired:
    """A timer asked for in a Ready."""

    kind: Final[str]

    def __init__(self, *, kind: str) -> None:
        self.kind = kind


@dataclass(slots=True, init=False, unsafe_hash=True)
class Written:
    """The Write of that id is durable."""

    id: Final[int]

    def __init__(self, *, id: int) -> None:
        self.id = id


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFailed:
    """The Write of that id failed; nothing of it may be relied on. It is tried again later."""

    id: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogUnreadable:
    """Entries that are durable cannot be read back, so a follower did not get them."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Connected:
    """Our connection to a peer is up. `epoch` grows with each one.

    The peer said in the handshake on which directory it runs, and which features of the log its
    release knows. `anonymous`: it follows without being a member, and was admitted for that.
    """

    peer: Replica
    epoch: int
    instance: Instance = ONE_INSTANCE
    features: frozenset[str] = KNOWN
    anonymous: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnected:
    """Our connection to a peer is gone. `refused`: its address refuses connections."""

    peer: Replica
    epoch: int
    refused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotReceived:
    """All rows of a snapshot are here and whole, as a Ready has asked for them."""

    offer: InstallSnapshot


@dataclass(slots=True, init=False, unsafe_hash=True)
class ReadAsked:
    """A client wants to read. Answered by ReadSettled with the same ticket."""

    ticket: Final[Ticket]
    consistency: Final[Consistency]
    term: Final[Term]
    index: Final[Index]

    def __init__(
        self,
        ticket: Ticket,
        consistency: Consistency,
        term: Term = Term(0),
        index: Index = Index(0),
    ) -> None:
        self.ticket = ticket
        self.consistency = consistency
        self.term = term
        self.index = index


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteAsked:
    """`box.ctl.promote()` on this node. Settled when its PROMOTE is confirmed."""

    ticket: Ticket


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoteAsked:
    """`box.ctl.demote()` on this node; `to` names the wanted successor."""

    ticket: Ticket
    to: Replica | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackAsked:
    """`box.ctl.rollback_synchro_queue()` on this node."""

    ticket: Ticket


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeAsked:
    """Change who belongs to the cluster. `force`: also where that may cost it its quorum."""

    ticket: Ticket
    change: MemberChange
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveAsked:
    """The node must stop leading, because it stops: another voter takes over."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SupersededBy:
    """The node is superseded by that cluster, and its directory records that permanently."""

    cluster: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """The client of this ticket has gone or got the outcome "unknown". Rolls nothing back."""

    ticket: Ticket


Input = (
    Received
    | TimerFired
    | Written
    | WriteFailed
    | LogUnreadable
    | Connected
    | Disconnected
    | SnapshotReceived
    | ReadAsked
    | PromoteAsked
    | DemoteAsked
    | RollbackAsked
    | ChangeAsked
    | LeaveAsked
    | SupersededBy
    | Forgotten
)
