"""Operations of an operator: promote, demote, hand over, change members, roll back.

Each operation has a state of its own, which says who asked, what it waits for and which timer ends
it: `promotion`, `transfer` and `demotion` tell how each of them ends. A ROLLBACK waits for the log.
"""

from typing import assert_never

from election.messages import Index, Replica, Term, TimeoutNow
from election.roles import ElectionMode
from qsync.core.changes import Changes
from qsync.core.demotion import Demotions
from qsync.core.inputs import (
    ChangeAsked,
    DemoteAsked,
    LeaveAsked,
    PromoteAsked,
    RollbackAsked,
)
from qsync.core.leader import Leader
from qsync.core.preference import Preferences
from qsync.core.promotion import Promotions
from qsync.core.ready import Ticket, TimerKind
from qsync.core.replica_state import ReplicaState
from qsync.core.stopping import Demotion, LeadershipTransfer
from qsync.core.transfer import Transfers
from qsync.core.writable import Writable

TIMERS = frozenset({TimerKind.PROMOTION, TimerKind.HAND_OVER, TimerKind.DEMOTION, TimerKind.CHANGE})
"""Each belongs to one operation."""


class AdminOps:
    """The operations under way, and the tickets that wait for a ROLLBACK to be definite."""

    def __init__(self, state: ReplicaState, writable: Writable) -> None:
        self.promotions = Promotions(state)
        self.transfers = Transfers(state)
        self.demotions = Demotions(state)
        self.changes = Changes(state)
        self.preferences = Preferences(state, self.transfers)
        self.rolling_back: list[tuple[Index, Term, Ticket]] = []
        """Places of ROLLBACK records, and who waits until they are definite."""
        self._state = state
        self._writable = writable

    def handle_request(
        self, event: PromoteAsked | DemoteAsked | RollbackAsked | ChangeAsked | LeaveAsked
    ) -> None:
        """Begin an operation that an operator requests, or that stopping the process requires."""
        match event:
            case PromoteAsked():
                self.promotions.promote(event.ticket)
            case DemoteAsked():
                self.demote(event.ticket, event.to)
            case RollbackAsked():
                self.roll_back(event.ticket)
            case ChangeAsked():
                self.changes.handle_request(event)
            case LeaveAsked():
                self.transfers.leave(event.why)
            case _:
                assert_never(event)

    def demote(self, ticket: Ticket, to: Replica | None) -> None:
        """Stop leading: hand over to `to` or the best successor; without one, end the ownership."""
        leader = self._state.leader
        if leader is None:
            self._state.answer(ticket, self._nothing_to_demote(to))
            return
        if leader.stopping is not None:
            self._state.answer(ticket, "a switchover is under way already")
            return
        if to is None:
            to = self._successor(leader)
        if to is None:
            self.demotions.start(leader, ticket)
        else:
            self.transfers.demote(leader, ticket, to)

    def asked_to_transfer(self, candidate: Replica) -> None:
        """Begin a transfer that a follower asks for, because its operator promoted it."""
        state = self._state
        if state.leader is not None:
            self.transfers.handle_request(state.leader, candidate)
        elif state.raft.transfer.resigned == state.term:
            # It does not know yet that the leader is gone, and need not wait for a timeout.
            state.out.send(candidate, TimeoutNow(term=state.term, leader=state.config.me))

    def forget(self, ticket: Ticket) -> None:
        """Forget a ticket whose client is gone; the started operation continues."""
        leader = self._state.leader
        waiting = [self.promotions.current, leader.stopping if leader is not None else None]
        for operation in waiting:
            if operation is not None and ticket in operation.tickets:
                operation.tickets.remove(ticket)
        self.changes.forget(ticket)
        self.rolling_back = [each for each in self.rolling_back if each[2] != ticket]

    def advance(self) -> None:
        """Do what the operations can do now. Called for every batch."""
        self._leave_if_removed()
        if self.rolling_back:
            self._settle_rollbacks()
        leader = self._state.leader
        if leader is not None and leader.stopping is not None:
            if isinstance(leader.stopping, LeadershipTransfer):
                self.transfers.advance(leader, leader.stopping)
            else:
                self.demotions.advance(leader, leader.stopping)
        if self.promotions.current is not None:
            self.promotions.advance()
        self.changes.advance()

    def timer(self, kind: str) -> None:
        """End an operation whose time is over; does nothing if it has ended already."""
        leader = self._state.leader
        going = leader.stopping if leader is not None else None
        match kind:
            case TimerKind.PROMOTION:
                self.promotions.timer()
            case TimerKind.HAND_OVER if leader is not None and isinstance(
                going, LeadershipTransfer
            ):
                self.transfers.timer(leader, going)
            case TimerKind.DEMOTION if leader is not None and isinstance(going, Demotion):
                self.demotions.timer(leader, going)
            case TimerKind.CHANGE:
                self.changes.timer()
            case _:
                pass

    def out_of_reach(self, peer: Replica) -> None:
        """End what waits for a peer to which our connection is gone."""
        self.promotions.out_of_reach(peer)
        self.transfers.out_of_reach(peer)

    def roll_back(self, ticket: Ticket) -> None:
        """`box.ctl.rollback_synchro_queue()`: answered when the ROLLBACK can never be undone."""
        state = self._state
        reasons = self._writable.reasons()
        if reasons:
            state.answer(ticket, "; ".join(reason.text for reason in reasons))
            return
        if state.roll_back("operator") == 0:
            state.answer(ticket)
            return
        self.rolling_back.append((state.replicated_log.log.last, state.term, ticket))

    def dry_run(self, what: str) -> dict[str, object]:
        """The effect of `promote`, `demote`, `clear_synchro_queue` on this node now, in numbers."""
        state = self._state
        leader, term = state.leader, int(state.term)
        pending = len(state.replicated_log.limbo.queue)
        plan: dict[str, object] = {
            "node": int(state.config.me),
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
                to = self._successor(leader)
                after = term + (1 if to else 0)
                plan |= {"hands_over_to": to, "term_after": after, "confirms": pending}
        elif leader is None or self._writable.reasons():
            plan |= {
                "refused": self.promotions.may_lead(),
                "term_after": term + (0 if leader else 1),
                "confirms": pending,
                "asks_leader": state.raft.leader if leader is None else None,
            }
        return plan

    def _leave_if_removed(self) -> None:
        """A leader that is no voter hands over when that is confirmed (membership.md M4 c)."""
        leader = self._state.leader
        if leader is None or self._state.config.votes or leader.stopping is not None:
            return
        if leader.established and self.changes.is_decided:
            self.transfers.leave("it is no voter any more")

    def _nothing_to_demote(self, to: Replica | None) -> str | None:
        """Demoting a node that does not lead does nothing, as in Tarantool; it cannot hand over."""
        if to is None or to == self._state.raft.leader:
            return None
        me = self._state.config.me
        return f"node {me} does not lead, so it cannot hand over: promote node {to}"

    def _successor(self, leader: Leader) -> Replica | None:
        """Return the successor of a demoted leader; None where no node may lead by itself."""
        alone = self._state.config.mode is not ElectionMode.CANDIDATE
        return None if alone else self.transfers.successor(leader)

    def _settle_rollbacks(self) -> None:
        state, replicated_log = self._state, self._state.replicated_log
        waiting, self.rolling_back = self.rolling_back, []
        for record, term, ticket in waiting:
            if record < replicated_log.log.start.index:
                state.answer(
                    ticket, f"the ROLLBACK at {record} is trimmed: its outcome is not known"
                )
            elif not replicated_log.log.has(record, term):
                state.answer(ticket, f"the ROLLBACK at {record} was cut: another leader took over")
            elif replicated_log.confirmed >= record:
                state.answer(ticket)
            else:
                self.rolling_back.append((record, term, ticket))
