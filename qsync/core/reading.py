"""Who may answer a read, and what it waits for: by consistency, on the leader and elsewhere."""

from typing import TYPE_CHECKING

from election.messages import Position
from qsync.core.inputs import Consistency, ReadAsked
from qsync.core.leader import Leader
from qsync.core.messages import ReadIndex, ReadIndexResponse
from qsync.core.ready import Ticket

if TYPE_CHECKING:
    from qsync.core.machine import Machine


def ask(machine: "Machine", event: ReadAsked) -> None:
    """A client wants to read."""
    wanted, leader = event.consistency, machine.leader
    if wanted is Consistency.LOCAL:
        machine.answer(event.ticket)
    elif wanted is Consistency.AT_LEAST:
        machine.reads.at_least(event.ticket, Position(event.term, event.index))
    elif leader is None:
        _forward(machine, event.ticket)
    elif wanted is Consistency.LEASE and _leased(machine, leader):
        machine.answer(event.ticket)
    else:
        leader.rounds.reads.ask(event.ticket)


def _leased(machine: "Machine", leader: Leader) -> bool:
    leader.rounds.lease_wanted()
    return leader.leases(void=machine.raft.transfer.is_lease_void)


def _forward(machine: "Machine", ticket: Ticket) -> None:
    to = machine.raft.leader
    if to is None or to == machine.config.me:
        machine.answer(ticket, f"nobody leads in term {machine.term}")
        return
    number = machine.reads.ask_leader(ticket)
    machine.out.send(to, ReadIndex(term=machine.term, follower=machine.config.me, ask=number))


def asked_index(machine: "Machine", message: ReadIndex) -> None:
    """A follower asks which entry it must show: our own reads' rule, answered to it."""
    leader = machine.leader
    if leader is None or message.term != machine.term:
        no = ReadIndexResponse(term=machine.term, ask=message.ask, place=None)
        machine.out.send(message.follower, no)
        return
    leader.rounds.reads.ask(machine.operations.remember_ask(message.follower, message.ask))
