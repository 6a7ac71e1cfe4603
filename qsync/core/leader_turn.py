"""The leader's work for every batch: count, record what is confirmed, replicate, answer reads."""

from qsync.core.leader import Leader
from qsync.core.ready import TimerKind
from qsync.core.replica_state import ReplicaState


class LeaderTurn:
    """The leader's work, with its timers for a CONFIRM and for transactions that wait too long."""

    def __init__(self, state: ReplicaState) -> None:
        self._state = state
        self._synchro_armed = False
        self._confirm_armed = False
        self._confirm_now = False

    def serve(self, leader: Leader) -> None:
        """Send and append everything that this leadership has to now."""
        state = self._state
        leader.count()
        # A node with our TimeoutNow has our whole log; a CONFIRM now would leave its log behind.
        if leader.confirm_due and not state.raft.transfer.target:
            self._record_confirm(leader)
        self._confirm_now = False
        if leader.established:
            if leader.rounds.reads.wants_round:
                leader.begin_round(state.out.send)
            for done in leader.rounds.settle():
                state.answer(done.ticket)
        leader.replicate(state.out.send)
        self._watch_synchro(leader)

    def _record_confirm(self, leader: Leader) -> None:
        """Record what is confirmed with the next batch; alone only when none comes."""
        replicated_log, out = self._state.replicated_log, self._state.out
        if self._confirm_now or replicated_log.log.last > replicated_log.written:
            leader.record_confirm(self._state.wall)
            if self._confirm_armed:
                self._confirm_armed = False
                out.disarm(TimerKind.CONFIRM)
        elif not self._confirm_armed:
            self._confirm_armed = True
            out.arm(TimerKind.CONFIRM, self._state.config.confirm_delay)

    def _watch_synchro(self, leader: Leader) -> None:
        # Only who may roll back: else a time that is over would come again and again.
        replicated_log, config = self._state.replicated_log, self._state.config
        may = leader.open and config.synchro_policy == "rollback"
        if replicated_log.limbo.queue and may and not self._synchro_armed:
            self._synchro_armed = True
            due = replicated_log.limbo.born + config.synchro_timeout
            self._state.out.arm(TimerKind.SYNCHRO, max(0.001, due - replicated_log.now))

    # -- timers

    def confirm_timer(self) -> None:
        """Record what is confirmed: no batch came to carry the CONFIRM."""
        self._confirm_armed = False
        self._confirm_now = True

    def synchro_timer(self) -> None:
        """Look at the oldest pending transaction: it may have waited too long."""
        self._synchro_armed = False
        self.overdue()

    def overdue(self) -> None:
        """Roll back if the oldest pending transaction waited too long (policy `rollback`)."""
        state = self._state
        queue, leader, config = state.replicated_log.limbo.queue, state.leader, state.config
        may = leader is not None and leader.open and config.synchro_policy == "rollback"
        if not queue or not may:
            return
        if state.replicated_log.now - state.replicated_log.limbo.born >= config.synchro_timeout:
            state.roll_back("synchro_timeout")

    def rearm(self) -> None:
        """Watch the oldest transaction again with the next batch: it may be due sooner now."""
        self._synchro_armed = False
