"""A demote without a successor: the limbo is emptied, then it has no owner any more.

    phase      it waits for             and ends with
    emptying   what is pending          all confirmed: recorded; timer: refused, this node leads on
    recorded   the DEMOTE on a quorum   confirmed, or timer: this node stops leading, done

Either ends, as done, when this node is deposed. Each phase has one synchro timeout, on the timer
`demotion`.
"""

from qsync.core.leader import Leader
from qsync.core.ready import Ticket, TimerKind
from qsync.core.replica_state import ReplicaState
from qsync.core.stopping import Demotion


class Demotions:
    """At most one at a time: it is kept by the leadership that it ends (`Leader.stopping`)."""

    def __init__(self, state: ReplicaState) -> None:
        self._state = state

    def start(self, leader: Leader, ticket: Ticket) -> None:
        """Take no more transactions, and wait for those that are pending."""
        assert leader.stopping is None
        leader.stopping = Demotion(tickets=[ticket])
        self._state.out.arm(TimerKind.DEMOTION, self._state.config.synchro_timeout)

    def advance(self, leader: Leader, going: Demotion) -> None:
        """Go on with what has happened. Called for every batch."""
        state = self._state
        replicated_log = state.replicated_log
        if not going.recorded:
            # protocol.md section 4: DEMOTE only with an empty queue.
            if leader.established and not replicated_log.limbo.queue:
                leader.demote(state.wall)
                assert replicated_log.limbo.owner.owner == 0
                going.recorded = True
                state.out.arm(TimerKind.DEMOTION, state.config.synchro_timeout)
        elif replicated_log.confirmed >= replicated_log.limbo.owner.index:
            state.resign("demote")

    def timer(self, leader: Leader, going: Demotion) -> None:
        """Go on after a synchro timeout."""
        state = self._state
        if going.recorded:
            # No way back: nothing may be written behind a DEMOTE. What it lacks a successor
            # decides.
            state.resign("demote")
            return
        pending = len(state.replicated_log.limbo.queue)
        leader.stopping = None
        state.out.add_event("demote_failed", pending=pending)
        for ticket in going.tickets:
            state.answer(ticket, f"{pending} pending transactions were not confirmed in time")
