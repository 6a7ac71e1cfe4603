"""The leader's work for every batch: count, record what is confirmed, replicate, answer reads."""

from qsync.core.leader import Leader
from qsync.core.ready import TimerKind
from qsync.core.replica_state import ReplicaState
from qsync.core.rounds import HeartbeatRounds


class LeaderTurn:
    """The leader's work, with its timers for a CONFIRM and for reads and transactions that wait."""

    def __init__(self, state: ReplicaState) -> None:
        self._state = state
        self._synchro_armed = False
        self._confirm_armed = False
        self._confirm_now = False
        self._watched_round: int | None = None

    def serve(self, leader: Leader) -> None:
        """Send and append everything that this leadership has to now."""
        state = self._state
        leader.count()
        # A node with our TimeoutNow has our whole log; a CONFIRM now would leave its log behind.
        if leader.confirm_due and not state.raft.transfer.target:
            self._record_confirm(leader)
        self._confirm_now = False
        if leader.established:
            rounds = leader.rounds
            if rounds.reads.wants_round:
                rounds.start_read_round(state.out.send, promoted_at=leader.promoted_at)
                self._watch_reads(rounds)
            for done in rounds.settle():
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

    def _watch_reads(self, rounds: HeartbeatRounds) -> None:
        if self._watched_round is None and rounds.oldest_of_few is not None:
            self._watched_round = rounds.oldest_of_few
            self._state.out.arm(TimerKind.READS, self._state.config.read_patience)

    # -- timers

    def reads_timer(self) -> None:
        """Ask all followers if those that were asked for a read do not answer."""
        leader, watched = self._state.leader, self._watched_round
        self._watched_round = None
        if leader is None or watched is None:
            return
        oldest = leader.rounds.oldest_of_few
        if oldest is not None and oldest <= watched:
            leader.begin_round(self._state.out.send)
        self._watch_reads(leader.rounds)

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
