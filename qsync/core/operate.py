"""What an operator may ask of a node: promote, demote, hand over, roll back. One at a time."""

from typing import TYPE_CHECKING, assert_never

from election.messages import CampaignNow, Index, Replica, Term
from election.raft import Raft
from election.roles import Mode
from qsync.core.inputs import DemoteAsked, PromoteAsked, RollbackAsked
from qsync.core.leader import Leader
from qsync.core.messages import AskHandOver
from qsync.core.ready import Ticket, TimerKind

if TYPE_CHECKING:
    from qsync.core.machine import Machine


class Operations:
    """Tickets of operators, and of followers that asked the leader for a read index."""

    def __init__(self) -> None:
        self.promoting: list[Ticket] = []
        self.demoting: list[Ticket] = []
        self.rolling_back: list[tuple[Index, Term, Ticket]] = []
        """Places of ROLLBACK records, and who waits until they are definite."""
        self.asked_leader = False
        self.given_up: Term | None = None
        """The term in which this node led and was demoted; it never leads in that term again."""
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

    def forget(self, ticket: Ticket) -> None:
        """Its client is gone; what was begun goes on."""
        self.promoting = [each for each in self.promoting if each != ticket]
        self.demoting = [each for each in self.demoting if each != ticket]
        self.rolling_back = [each for each in self.rolling_back if each[2] != ticket]


def asked(machine: "Machine", event: PromoteAsked | DemoteAsked | RollbackAsked) -> None:
    """An operator asks."""
    match event:
        case PromoteAsked():
            promote(machine, event.ticket)
        case DemoteAsked():
            demote(machine, event.ticket, event.to)
        case RollbackAsked():
            roll_back(machine, event.ticket)
        case _:
            assert_never(event)


def promote(machine: "Machine", ticket: Ticket) -> None:
    """Lead: a planned switchover when somebody leads, an election otherwise."""
    operations = machine.operations
    if machine.leader is not None and machine.leader.open:
        machine.answer(ticket)
        return
    if machine.leader is not None and machine.leader.demoted:
        machine.answer(ticket, "this node has just been demoted; promote it when that is over")
        return
    refused = _may_lead(machine)
    if refused is not None:
        machine.answer(ticket, refused)
        return
    operations.promoting.append(ticket)
    if machine.leader is not None or machine.raft.promoting:
        return
    leader = machine.raft.leader
    if leader is not None and leader != machine.config.me:
        if not operations.asked_leader:
            operations.asked_leader = True
            machine.out.send(leader, AskHandOver(term=machine.term, candidate=machine.config.me))
            machine.out.arm(TimerKind.TRANSFER, machine.config.election_timeout)
        return
    _campaign(machine)


def _may_lead(machine: "Machine") -> str | None:
    if machine.config.mode is Mode.VOTER:
        return "election mode is voter: this node never leads"
    if not machine.raft.ballot.member:
        return "this node has not caught up since its directory was empty"
    if machine.follower.split is not None:
        return f"split brain: {machine.follower.split}"
    return None


def _campaign(machine: "Machine") -> None:
    machine.raft.grew(machine.ledger.log.position)
    refused = machine.raft.promote()
    if refused is not None:
        tickets, machine.operations.promoting = machine.operations.promoting, []
        for ticket in tickets:
            machine.answer(ticket, refused)


def demote(machine: "Machine", ticket: Ticket, to: Replica | None) -> None:
    """Stop leading: hand over to `to` or the best successor; without one, give the limbo up."""
    leader = machine.leader
    if leader is None:
        machine.answer(ticket, f"node {machine.config.me} does not lead")
        return
    if to is not None and to not in leader.followers:
        machine.answer(ticket, f"node {to} is not another voter of this cluster")
        return
    if leader.handing_to is not None or leader.demoted:
        machine.answer(ticket, "a switchover is under way already")
        return
    machine.operations.demoting.append(ticket)
    successor = to if to is not None else _successor(machine, leader)
    if successor is not None:
        _hand_over(machine, successor)
    else:
        leader.demoted = True
        machine.out.arm(TimerKind.TRANSFER, machine.config.synchro_timeout)


def _successor(machine: "Machine", leader: Leader) -> Replica | None:
    """Whom a demoted leader hands over to; nobody where nobody is to lead by itself."""
    return leader.most_advanced() if machine.config.mode is Mode.CANDIDATE else None


def asked_hand_over(machine: "Machine", candidate: Replica) -> None:
    """A follower was told to lead; we stop writing and bring it to our last entry."""
    leader = machine.leader
    if leader is not None and leader.handing_to is None and not leader.demoted:
        _hand_over(machine, candidate)
    elif machine.operations.given_up == machine.term:
        # It does not know yet that nobody leads; need not wait until it misses us, either.
        machine.out.send(candidate, CampaignNow(term=machine.term, leader=machine.config.me))


def _hand_over(machine: "Machine", to: Replica) -> None:
    assert machine.leader is not None
    machine.leader.handing_to = to
    machine.out.note("handing_over", to=to)
    machine.out.arm(TimerKind.TRANSFER, machine.config.election_timeout)


def advance(machine: "Machine") -> None:
    """Called for every batch: do what the asked operation can do now."""
    leader, operations = machine.leader, machine.operations
    if operations.rolling_back:
        _settle_rollbacks(machine)
    if leader is not None:
        _lead_on(machine, leader)
    if machine.leader is None:
        if operations.demoting:
            _answer_all(machine, operations.demoting)
            operations.demoting = []
        if operations.promoting and not (operations.asked_leader or machine.raft.promoting):
            _promotion_over(machine)


def _lead_on(machine: "Machine", leader: Leader) -> None:
    operations = machine.operations
    # What the former leader was asked is answered. The timer of the question is also that of a
    # hand-over, so a question that nobody waits for any more would swallow the end of the next one.
    operations.asked_leader = False
    if operations.promoting and leader.open:
        _answer_all(machine, operations.promoting)
        operations.promoting = []
    if leader.handing_to is not None:
        progress = leader.followers[leader.handing_to]
        last = machine.ledger.log.last
        if progress.match == last and leader.established and not machine.raft.transferring:
            machine.raft.hand_over(leader.handing_to)
    elif leader.demoted and leader.established and not machine.ledger.limbo.queue:
        _give_up(machine)


def _promotion_over(machine: "Machine") -> None:
    """It was asked for long enough, or somebody else leads: whoever promoted us is told why."""
    tickets, machine.operations.promoting = machine.operations.promoting, []
    why = _may_lead(machine) or _lost(machine.raft)
    for ticket in tickets:
        machine.answer(ticket, why)


def _lost(raft: Raft) -> str:
    if raft.leader is not None:
        return f"node {raft.leader} leads in term {raft.term}"
    asked = [each for each in raft.tallies if each.candidate == raft.me and not each.pre]
    if not asked:
        return f"the term is {raft.term} now"
    tally, said = asked[-1], []
    for voter in raft.voters:
        nay = tally.answers.get(voter, "no answer")
        if nay is not None:
            said.append(f"node {voter}: {nay}")
    return (
        f"{tally.ayes()} of {len(raft.voters)} voters said AYE in term {tally.term}, "
        f"{raft.quorum} are needed ({', '.join(said)})"
    )


def _give_up(machine: "Machine") -> None:
    leader = machine.leader
    assert leader is not None
    owner = machine.ledger.limbo.owner
    if owner.owner == machine.config.me:
        leader.demote(machine.pace.wall)
    elif machine.ledger.confirmed >= owner.index:
        machine.operations.given_up = machine.term
        machine.raft.resign("demote")
        machine.follow_raft()


def transfer_timer(machine: "Machine") -> bool:
    """The other side did not do its part in time. True if that was ours to handle."""
    operations, leader = machine.operations, machine.leader
    if operations.asked_leader:
        operations.asked_leader = False
        if leader is None and operations.promoting:
            machine.out.note("hand_over_refused", leader=machine.raft.leader)
            _campaign(machine)
        return True
    if leader is not None and leader.handing_to is not None:
        to, leader.handing_to = leader.handing_to, None
        machine.out.note("hand_over_failed", to=to)
        tickets, operations.demoting = operations.demoting, []
        for ticket in tickets:
            machine.answer(ticket, f"node {to} did not take over in time")
        machine.raft.timer(TimerKind.TRANSFER)
        return True
    if leader is not None and leader.demoted:
        _keep_on(machine, leader)
        return True
    return False


def _keep_on(machine: "Machine", leader: Leader) -> None:
    """What is pending was not confirmed in time, so the limbo cannot be given up: lead on."""
    pending = len(machine.ledger.limbo.queue)
    if pending == 0:
        return  # The DEMOTE is in the log: no way back.
    leader.demoted = False
    tickets, machine.operations.demoting = machine.operations.demoting, []
    machine.out.note("demote_failed", pending=pending)
    for ticket in tickets:
        machine.answer(ticket, f"{pending} pending transactions were not confirmed in time")


def stepped_down(machine: "Machine") -> None:
    """The leadership ended: a demotion is done; a promotion of ours has failed."""
    operations = machine.operations
    operations.asked_leader = False
    tickets, operations.promoting = operations.promoting, []
    why = _may_lead(machine) or "this node won and stopped leading before its PROMOTE was confirmed"
    for ticket in tickets:
        machine.answer(ticket, why)


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


def _answer_all(machine: "Machine", tickets: list[Ticket]) -> None:
    for ticket in tickets:
        machine.answer(ticket)


def dry_run(machine: "Machine", what: str) -> dict[str, object]:
    """What `promote`, `demote` or `clear_synchro_queue` would do on this node now, in numbers."""
    limbo, leader = machine.ledger.limbo, machine.leader
    pending = len(limbo.queue)
    plan: dict[str, object] = {
        "node": int(machine.config.me),
        "what": what,
        "term": int(machine.term),
        "term_after": int(machine.term),
        "pending": pending,
        "confirms": 0,
        "rolls_back": 0,
        "refused": None,
    }
    if what == "demote":
        if leader is None:
            plan["refused"] = f"node {machine.config.me} does not lead"
        else:
            successor = _successor(machine, leader)
            plan |= {
                "hands_over_to": successor,
                "term_after": int(machine.term) + (1 if successor else 0),
                "confirms": pending,
            }
    elif leader is not None and not machine.reasons():
        plan["confirms"] = 0
    else:
        plan |= {
            "refused": _may_lead(machine),
            "term_after": int(machine.term) + (0 if leader else 1),
            "confirms": pending,
            "asks_leader": machine.raft.leader if leader is None else None,
        }
    return plan
