"""The ways a leader stops: in favour of another node, or by ending its ownership."""

from dataclasses import dataclass, field

from election.messages import Replica
from qsync.core.ready import Ticket


@dataclass(slots=True, kw_only=True)
class LeadershipTransfer:
    """Brings `to` up to our last entry and then sends it TimeoutNow.

    `tickets`: of the clients that asked by `demote`; empty if the successor asked. `leaving`: why
    this node must not lead any more, if so; then it stops leading also when `to` does not take
    over. `tried`: those who did not.
    """

    to: Replica
    timeout: float
    tickets: list[Ticket] = field(default_factory=list)
    timeout_now_sent: bool = False
    leaving: str = ""
    tried: frozenset[Replica] = frozenset()


@dataclass(slots=True, kw_only=True)
class Demotion:
    """Ends without a successor: the limbo is emptied, then a DEMOTE ends its ownership."""

    tickets: list[Ticket] = field(default_factory=list)
    recorded: bool = False
    """The DEMOTE is in the log: no way back."""


Stopping = LeadershipTransfer | Demotion
