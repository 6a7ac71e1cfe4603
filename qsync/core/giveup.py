"""A demote with nobody to hand over to: the limbo is emptied, then it has no owner any more.

    phase      it waits for             and ends with
    emptying   what is pending          all confirmed: recorded; timer: refused, this node leads on
    recorded   the DEMOTE on a quorum   confirmed, or timer: this node stops leading, done

Either ends, as done, when this node is deposed. Each phase has one synchro timeout, on the timer
`demotion`.
"""

from typing import TYPE_CHECKING

from qsync.core.leader import Leader
from qsync.core.ready import Ticket, TimerKind
from qsync.core.stopping import GivingUp

if TYPE_CHECKING:
    from qsync.core.machine import Machine


def begin(machine: "Machine", leader: Leader, ticket: Ticket) -> None:
    """Take nothing new, and wait for what is pending."""
    assert leader.stopping is None
    leader.stopping = GivingUp(tickets=[ticket])
    machine.out.arm(TimerKind.DEMOTION, machine.config.synchro_timeout)


def advance(machine: "Machine", leader: Leader, going: GivingUp) -> None:
    """Called for every batch."""
    ledger = machine.ledger
    if not going.recorded:
        if leader.established and not ledger.limbo.queue:
            leader.demote(machine.pace.wall)
            going.recorded = True
            machine.out.arm(TimerKind.DEMOTION, machine.config.synchro_timeout)
    elif ledger.confirmed >= ledger.limbo.owner.index:
        machine.raft.transfer.resign("demote")
        machine.follow_raft()


def timer(machine: "Machine", leader: Leader, going: GivingUp) -> None:
    """A synchro timeout is over."""
    if going.recorded:
        # No way back: nothing may be written behind a DEMOTE. What it lacks a successor decides.
        machine.raft.transfer.resign("demote")
        machine.follow_raft()
        return
    pending = len(machine.ledger.limbo.queue)
    leader.stopping = None
    machine.out.note("demote_failed", pending=pending)
    for ticket in going.tickets:
        machine.answer(ticket, f"{pending} pending transactions were not confirmed in time")
