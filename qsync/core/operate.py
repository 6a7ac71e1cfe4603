"""What an operator may ask of a node: promote, demote, hand over, roll back.

Each operation has a state of its own, which says who asked, what it waits for and which timer ends
it: `promotion`, `handover` and `giveup` tell how each of them ends. A ROLLBACK waits for the log.
"""

from typing import TYPE_CHECKING, assert_never

from election.messages import Index, Replica, Term, TimeoutNow
from election.roles import ElectionMode
from qsync.core import giveup, handover, promotion, replacing
from qsync.core.inputs import (
    DemoteAsked,
    LeaveAsked,
    PromoteAsked,
    ReplaceAsked,
    RollbackAsked,
)
from qsync.core.leader import Leader
from qsync.core.promotion import Promotion
from qsync.core.ready import Ticket, TimerKind
from qsync.core.stopping import GivingUp, LeadershipTransfer

if TYPE_CHECKING:
    from qsync.core.machine import Machine

TIMERS = frozenset({TimerKind.PROMOTION, TimerKind.HAND_OVER, TimerKind.DEMOTION})
"""Each belongs to one operation."""


class Operations:
    """Tickets of operators, and of followers that asked the leader for a read index.

    What a leader does so that it leads no more is kept by its leadership (`Leader.stopping`).
    """

    def __init__(self) -> None:
        self.promotion: Promotion | None = None
        self.replacing = replacing.Replacing()
        self.rolling_back: list[tuple[Index, Term, Ticket]] = []
        """Places of ROLLBACK records, and who waits until they are definite."""
        self._asks: dict[Ticket, tuple[Replica, int]] = {}
        self._next_ask = -1

    def remember_ask(self, follower: Replica, ask: int) -> Ticket:
        """A ticket (negative, so never a client's) for a follower's question."""
        ticket = self._next_ask
        self._next_ask -= 1
        self._asks[ticket] = (follower, ask)
        return ticket

    def take_ask(self, ticket: Ticket) -> tuple[Replica, int] | None:
        """Whose question it was; None for a client's ticket."""
        return self._asks.pop(ticket, None) if ticket < 0 else None


def forget(machine: "Machine", ticket: Ticket) -> None:
    """Its client is gone; what was begun goes on."""
    operations, leader = machine.operations, machine.leader
    waiting = [operations.promotion, leader.stopping if leader is not None else None]
    for operation in waiting:
        if operation is not None and ticket in operation.tickets:
            operation.tickets.remove(ticket)
    operations.replacing.forget(ticket)
    operations.rolling_back = [each for each in operations.rolling_back if each[2] != ticket]


def asked(
    machine: "Machine",
    event: PromoteAsked | DemoteAsked | RollbackAsked | ReplaceAsked | LeaveAsked,
) -> None:
    """An operator asks, or whoever stops the process."""
    match event:
        case PromoteAsked():
            promotion.promote(machine, event.ticket)
        case DemoteAsked():
            demote(machine, event.ticket, event.to)
        case RollbackAsked():
            roll_back(machine, event.ticket)
        case ReplaceAsked():
            replacing.asked(machine, event)
        case LeaveAsked():
            handover.leave(machine, event.why)
        case _:
            assert_never(event)


def demote(machine: "Machine", ticket: Ticket, to: Replica | None) -> None:
    """Stop leading: hand over to `to` or the best successor; without one, give the limbo up."""
    leader = machine.leader
    if leader is None:
        machine.answer(ticket, _nothing_to_demote(machine, to))
        return
    if leader.stopping is not None:
        machine.answer(ticket, "a switchover is under way already")
        return
    if to is None:
        to = successor(machine, leader)
    if to is None:
        giveup.begin(machine, leader, ticket)
    else:
        handover.demote(machine, leader, ticket, to)


def _nothing_to_demote(machine: "Machine", to: Replica | None) -> str | None:
    """A node that does not lead need not be demoted, as in Tarantool; but it cannot hand over."""
    if to is None or to == machine.raft.leader:
        return None
    return f"node {machine.config.me} does not lead, so it cannot hand over: promote node {to}"


def successor(machine: "Machine", leader: Leader) -> Replica | None:
    """Whom a demoted leader hands over to; nobody where nobody is to lead by itself."""
    alone = machine.config.mode is not ElectionMode.CANDIDATE
    return None if alone else handover.successor(machine, leader)


def asked_hand_over(machine: "Machine", candidate: Replica) -> None:
    """A follower was told to lead."""
    if machine.leader is not None:
        handover.asked(machine, machine.leader, candidate)
    elif machine.raft.transfer.resigned == machine.term:
        # It does not know yet that nobody leads; need not wait until it misses us, either.
        machine.out.send(candidate, TimeoutNow(term=machine.term, leader=machine.config.me))


def advance(machine: "Machine") -> None:
    """Called for every batch: do what the asked operations can do now."""
    if machine.operations.rolling_back:
        _settle_rollbacks(machine)
    leader = machine.leader
    if leader is not None and leader.stopping is not None:
        if isinstance(leader.stopping, LeadershipTransfer):
            handover.advance(machine, leader, leader.stopping)
        else:
            giveup.advance(machine, leader, leader.stopping)
    if machine.operations.promotion is not None:
        promotion.advance(machine)


def timer(machine: "Machine", kind: str) -> None:
    """The time of an operation is over. One that has ended meanwhile is none the wiser."""
    leader = machine.leader
    going = leader.stopping if leader is not None else None
    match kind:
        case TimerKind.PROMOTION:
            promotion.timer(machine)
        case TimerKind.HAND_OVER if leader is not None and isinstance(going, LeadershipTransfer):
            handover.timer(machine, leader, going)
        case TimerKind.DEMOTION if leader is not None and isinstance(going, GivingUp):
            giveup.timer(machine, leader, going)
        case _:
            pass


def out_of_reach(machine: "Machine", peer: Replica) -> None:
    """Our connection to a peer is gone."""
    promotion.out_of_reach(machine, peer)
    handover.out_of_reach(machine, peer)


def deposed(machine: "Machine", leader: Leader) -> None:
    """The leadership ended: whoever wanted that is told so, and a promotion of ours has failed."""
    machine.out.disarm(TimerKind.HAND_OVER)
    machine.out.disarm(TimerKind.DEMOTION)
    going = leader.stopping
    for ticket in going.tickets if going is not None else ():
        machine.answer(ticket)
    promotion.deposed(machine, leader)


def roll_back(machine: "Machine", ticket: Ticket) -> None:
    """`box.ctl.rollback_synchro_queue()`: answered when the ROLLBACK can never be undone."""
    reasons = machine.reasons()
    if reasons:
        machine.answer(ticket, "; ".join(reason.text for reason in reasons))
        return
    if machine.roll_back("operator") == 0:
        machine.answer(ticket)
        return
    record = machine.ledger.log.last
    machine.operations.rolling_back.append((record, machine.term, ticket))


def _settle_rollbacks(machine: "Machine") -> None:
    ledger, operations = machine.ledger, machine.operations
    waiting, operations.rolling_back = operations.rolling_back, []
    for record, term, ticket in waiting:
        if record > ledger.log.last or ledger.log.term_at(record) != term:
            machine.answer(ticket, f"the ROLLBACK at {record} was cut: another leader took over")
        elif ledger.confirmed >= record:
            machine.answer(ticket)
        else:
            operations.rolling_back.append((record, term, ticket))


def dry_run(machine: "Machine", what: str) -> dict[str, object]:
    """What `promote`, `demote` or `clear_synchro_queue` would do on this node now, in numbers."""
    leader, term = machine.leader, int(machine.term)
    pending = len(machine.ledger.limbo.queue)
    plan: dict[str, object] = {
        "node": int(machine.config.me),
        "what": what,
        "term": term,
        "term_after": term,
        "pending": pending,
        "confirms": 0,
        "rolls_back": 0,
        "refused": None,
    }
    if what == "demote":
        plan["leads"] = leader is not None
        if leader is not None:
            to = successor(machine, leader)
            after = term + (1 if to else 0)
            plan |= {"hands_over_to": to, "term_after": after, "confirms": pending}
    elif leader is None or machine.reasons():
        plan |= {
            "refused": promotion.may_lead(machine),
            "term_after": term + (0 if leader else 1),
            "confirms": pending,
            "asks_leader": machine.raft.leader if leader is None else None,
        }
    return plan
