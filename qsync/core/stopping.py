"""How a leader is about to stop: in favour of another node, or by giving the limbo up."""

from dataclasses import dataclass, field

from election.messages import Replica
from qsync.core.ready import Ticket


@dataclass(slots=True, kw_only=True)
class HandOver:
    """It brings `to` up to its own last entry and then tells it to campaign (`told`).

    `tickets`: who asked for it by `demote`; nobody, if the successor itself did. `leaving`: this
    node must not lead any more, so when `to` does not take over it stops leading all the same;
    `tried`: those who did not take over.
    """

    to: Replica
    why: str
    patience: float
    tickets: list[Ticket] = field(default_factory=list)
    told: bool = False
    leaving: bool = False
    tried: set[Replica] = field(default_factory=set)


@dataclass(slots=True, kw_only=True)
class GivingUp:
    """Nobody is to lead after it: the limbo is emptied, then a DEMOTE ends its ownership."""

    tickets: list[Ticket] = field(default_factory=list)
    recorded: bool = False
    """The DEMOTE is in the log: no way back."""


Stopping = HandOver | GivingUp
