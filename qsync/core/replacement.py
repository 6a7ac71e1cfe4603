"""A lost disk: the old pair goes out of the configuration, the new one in (membership.md M5)."""

from election.messages import Index, Replica
from election.quorum import majority
from qsync.core.inputs import ReplaceAsked
from qsync.core.leader import Leader
from qsync.core.progress import Membership, Progress
from qsync.core.ready import Ticket
from qsync.core.replica_state import ReplicaState


class Replacement:
    """The one replacement that this leader is making, if any.

    A disk that was lost has lost votes and acks. No repair in place is safe, so its vote is made
    worthless in the log: two changes of the configuration, each decided before the next.
    """

    def __init__(self, state: ReplicaState) -> None:
        self._state = state
        self.replica: Replica | None = None
        self.target = Index(0)
        """The newcomer must have this before the first change: our log when it was asked for."""
        self.change: Index | None = None
        """Where the last change that was made for it stands."""
        self.tickets: list[Ticket] = []

    def start(self, replica: Replica, *, target: Index) -> None:
        """A replacement begins."""
        assert self.replica is None
        self.replica, self.target, self.change = replica, target, None

    def end(self) -> list[Ticket]:
        """It is over; who waits for it."""
        tickets, self.tickets = self.tickets, []
        self.replica = self.change = None
        return tickets

    def forget(self, ticket: Ticket) -> None:
        """Its client is gone; what was begun goes on."""
        if ticket in self.tickets:
            self.tickets.remove(ticket)

    def handle_request(self, event: ReplaceAsked) -> None:
        """An operator asks; answered when the new pair is a voter and that is decided."""
        refused = self.refusal(event.replica)
        if refused is not None:
            self._state.answer(event.ticket, refused)
            return
        if self.replica is None:
            self.start(event.replica, target=self._state.replicated_log.log.last)
        self.tickets.append(event.ticket)

    def refusal(self, replica: Replica) -> str | None:
        """Why that voter cannot be replaced now; None when it can."""
        under_way = self.replica
        if self._state.leader is None:
            return f"node {self._state.config.me} does not lead"
        if replica == self._state.config.me:
            return "a leader does not replace itself: promote another node first"
        progress = self._state.peers.get(replica)
        if progress is None:
            return f"the settings of node {self._state.config.me} name no peer {replica}"
        if not progress.connected:
            return f"node {replica} is not connected: start it on its new directory first"
        if under_way not in (None, replica):
            return f"node {under_way} is being replaced; one at a time"
        return None

    def automatic(self) -> None:
        """With every heartbeat: whoever returned with a new directory gets its place (policy auto).

        An id that the configuration lacks is one whose replacement was interrupted half-way.
        """
        leader = self._state.leader
        if leader is None or not leader.open or self._state.config.replace != "auto":
            return
        if self.replica is not None:
            return
        for progress in self._state.peers.values():
            if progress.membership is Membership.STRANGER and self._is_current(progress, Index(0)):
                self.start(progress.peer, target=self._state.replicated_log.log.last)
                return

    def advance(self) -> None:
        """Make the next change when the last one is decided; answer who waits at the end."""
        leader = self._state.leader
        if self.replica is None:
            return
        if leader is None:
            self._end("this node no longer leads; ask the leader to replace it")
            return
        progress = self._state.peers[self.replica]
        if self._was_taken_back(self.change):
            self._end(f"the change of the configuration at {self.change} was rolled back")
            return
        decided = (
            self._state.replicated_log.confirmed
            >= self._state.replicated_log.configurations.last_decisive
        )
        if progress.membership is not Membership.STRANGER:
            if decided:
                self._end(None)
        elif decided and leader.open and self._is_current(progress, self.target):
            self._change(leader, progress)

    def _change(self, leader: Leader, progress: Progress) -> None:
        configuration = self._state.replicated_log.configurations.followed
        assert configuration is not None
        assert progress.instance is not None
        replica = progress.peer
        # Never both in one entry: replacing is two changes (membership.md M1 a). Out first, so that
        # no replica id is there twice (M5 b).
        if configuration.instance_of(replica) is not None:
            wanted = configuration.without(replica)
        else:
            wanted = configuration.with_(replica, progress.instance)
        entry = leader.configure(wanted, self._state.wall)
        self.change = entry.index
        self._state.follow_configuration()

    def _is_current(self, progress: Progress, target: Index) -> bool:
        """It has our log up to `target`, and answered within two heartbeats (M4 a)."""
        fresh = self._state.replicated_log.now - 2 * self._state.config.replication_timeout
        last = max(target, self._state.replicated_log.confirmed)
        return (
            progress.connected
            and progress.instance is not None
            and progress.is_replicating
            and progress.match >= last
            and progress.heard_at >= fresh
        )

    def _was_taken_back(self, change: Index | None) -> bool:
        return change is not None and change not in {
            index for index, _ in self._state.replicated_log.configurations.standing()
        }

    def _end(self, refused: str | None) -> None:
        self._state.out.add_event("replaced", replica=self.replica, refused=refused)
        for ticket in self.end():
            self._state.answer(ticket, refused)

    def keep_quorum(self) -> None:
        """A leader that its own pending change deprives of a quorum takes the change back.

        Instead of stepping down, if a majority of the former configuration is there: once the
        change is inherited by somebody it cannot be rolled back, and may never find its quorum
        (membership.md M3 f).
        """
        leader, raft, replicated_log = (
            self._state.leader,
            self._state.raft,
            self._state.replicated_log,
        )
        if leader is None or not leader.open:
            return
        changes = list(replicated_log.configurations.standing())
        if not changes or changes[-1][0] <= replicated_log.confirmed:
            return
        if not raft.state.contact.is_lost(replicated_log.now):
            return
        former = replicated_log.configurations.before(changes[-1][0])
        assert former is not None
        since = replicated_log.now - raft.state.contact.timeout
        heard = [
            each
            for each in self._state.peers.values()
            if former.names(each.peer, each.instance) and each.heard_at >= since
        ]
        own = former.names(self._state.config.me, self._state.config.instance)
        if len(heard) + own >= majority(len(former.voters)):
            self._state.roll_back("configuration")
            self._state.follow_configuration()
