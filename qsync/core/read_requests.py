"""Whether this node may answer a read, and its wait condition, by consistency and role."""

from election.messages import Position
from qsync.core.consistency import Consistency
from qsync.core.inputs import ReadAsked
from qsync.core.leader import Leader
from qsync.core.messages import ReadIndex, ReadIndexResponse
from qsync.core.ready import Ticket
from qsync.core.replica_state import ReplicaState


class ReadRequests:
    """Reads of clients here, and of followers that ask the leader (protocol.md section 7)."""

    def __init__(self, state: ReplicaState) -> None:
        self._state = state

    def ask(self, event: ReadAsked) -> None:
        """Begin the read of a client."""
        state = self._state
        wanted, leader = event.consistency, state.leader
        if wanted is Consistency.LOCAL:
            state.answer(event.ticket)
        elif wanted is Consistency.AT_LEAST:
            state.reads.at_least(event.ticket, Position(event.term, event.index))
        elif leader is None:
            self._forward(event.ticket)
        elif wanted is Consistency.LEASE and self._has_lease(leader):
            state.answer(event.ticket)
        else:
            leader.rounds.reads.ask(event.ticket)

    def asked_by_follower(self, message: ReadIndex) -> None:
        """Begin a follower's ReadIndex: it waits by the rule for our own reads."""
        state = self._state
        leader = state.leader
        if leader is None or message.term != state.term:
            no = ReadIndexResponse(term=state.term, ask=message.ask, place=None)
            state.out.send(message.follower, no)
            return
        leader.rounds.reads.ask(state.out.remember_ask(message.follower, message.ask))

    def leads_alone(self) -> bool:
        """Return whether this node leads, and no other can now: followers promise so for a while.

        False at first where nobody reads by lease; they are asked for it, and it is true soon.
        """
        leader = self._state.leader
        return leader is not None and self._has_lease(leader)

    def _has_lease(self, leader: Leader) -> bool:
        leader.rounds.lease_wanted()
        return leader.leases(void=self._state.raft.transfer.is_lease_void)

    def _forward(self, ticket: Ticket) -> None:
        state = self._state
        to, me = state.raft.leader, state.config.me
        if to is None or to == me:
            state.answer(ticket, f"no leader in term {state.term}")
            return
        number = state.reads.ask_leader(ticket)
        state.out.send(to, ReadIndex(term=state.term, follower=me, ask=number))
