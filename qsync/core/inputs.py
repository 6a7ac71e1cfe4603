"""Everything that can happen to a node, except a client's write (see `Machine.propose`)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from election.messages import Index, Replica, Term
from qsync.core.messages import Message
from qsync.core.ready import Ticket
from qsync.record import ONE_INSTANCE, Instance


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A message from a peer that was identified by its handshake, with the directory it runs on."""

    peer: Replica
    message: Message
    instance: Instance = ONE_INSTANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerFired:
    """A timer asked for in a Ready."""

    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The Write of that id is durable."""

    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFailed:
    """The Write of that id failed; nothing of it may be relied on. It is tried again later."""

    id: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogUnreadable:
    """What is durable cannot be read back, so a follower did not get what it lacks."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Connected:
    """Our connection to a peer stands. `epoch` grows with each one.

    The peer said in the handshake on which directory it runs.
    """

    peer: Replica
    epoch: int
    instance: Instance = ONE_INSTANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnected:
    """Our connection to a peer is gone. `refused`: and nobody listens at its address any more."""

    peer: Replica
    epoch: int
    refused: bool


class Consistency(StrEnum):
    """What a read must wait for (protocol.md section 7, Reads)."""

    LINEARIZABLE = "linearizable"
    LEASE = "lease"
    AT_LEAST = "at_least"
    LOCAL = "local"


class ReadAsked(NamedTuple):
    """A client wants to read. Answered by ReadSettled with the same ticket."""

    ticket: Ticket
    consistency: Consistency
    term: Term = Term(0)
    index: Index = Index(0)  # type: ignore[assignment]  # hides tuple.index, which nobody needs


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
class ReplaceAsked:
    """Give the place of a voter to the directory that runs under its id now (membership.md M5)."""

    ticket: Ticket
    replica: Replica


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveAsked:
    """The node must not lead any more: one that may lead takes over."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """The client of this ticket is gone or has been told "unknown". Rolls nothing back."""

    ticket: Ticket


Input = (
    Received
    | TimerFired
    | Written
    | WriteFailed
    | LogUnreadable
    | Connected
    | Disconnected
    | ReadAsked
    | PromoteAsked
    | DemoteAsked
    | RollbackAsked
    | ReplaceAsked
    | LeaveAsked
    | Forgotten
)
