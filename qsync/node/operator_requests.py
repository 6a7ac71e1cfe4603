"""What operators ask of a node, as inputs of the machine; each waits under a ticket."""

from collections.abc import Callable

from election.messages import Replica as Peer
from qsync.core.inputs import DemoteAsked, Input, PromoteAsked, ReplaceAsked, RollbackAsked
from qsync.core.ready import Ticket
from qsync.wire import verbs


def promote(ticket: Ticket) -> Input:
    """Lead; also `clear_synchro_queue`, which is the same act."""
    return PromoteAsked(ticket=ticket)


def roll_back(ticket: Ticket) -> Input:
    """Roll back everything pending."""
    return RollbackAsked(ticket=ticket)


def demote(request: verbs.DemoteRequest) -> Callable[[Ticket], Input]:
    """Stop leading, in favour of somebody."""
    to = Peer(request.to) if request.to else None
    return lambda ticket: DemoteAsked(ticket=ticket, to=to)


def replace(request: verbs.ReplaceMemberRequest) -> Callable[[Ticket], Input]:
    """The old pair out, the new pair in."""
    return lambda ticket: ReplaceAsked(ticket=ticket, replica=Peer(request.replica))
