"""The members that can be counted on, as far as a leader heard lately (membership.md M4 a)."""

from election.messages import Index, Replica
from qsync.core.configuration import Configuration
from qsync.core.member_change import MemberChange, is_adding_voter, needed
from qsync.core.progress import Progress
from qsync.core.replica_state import ReplicaState
from qsync.record import Instance
from qsync.units import how_many

FRESH_BEATS = 2
"""A newcomer must have answered within this many heartbeats (membership.md M4 a)."""


class Presence:
    """A leader's knowledge about the members before it changes the configuration."""

    def __init__(self, state: ReplicaState) -> None:
        self._state = state

    def running(self, replica: Replica) -> Instance | None:
        """Return the directory that runs under that id now."""
        progress = self._state.peers.get(replica)
        return None if progress is None else progress.instance

    def is_current(self, progress: Progress, target: Index) -> bool:
        """Return whether it has our log up to `target`, and answered lately (M4 a)."""
        last = max(target, self._state.replicated_log.confirmed)
        return self.answers(progress) and progress.is_replicating and progress.match >= last

    def answers(self, progress: Progress) -> bool:
        """Return whether it was heard within two heartbeats."""
        beats = FRESH_BEATS * self._state.config.replication_timeout
        fresh = self._state.replicated_log.now - beats
        return progress.connected and progress.instance is not None and progress.heard_at >= fresh

    def lag(self, progress: Progress) -> int:
        """Return how many entries it has not acked."""
        return self._state.replicated_log.log.last - progress.match

    def heard(self, configuration: Configuration) -> list[Replica]:
        """Return the voters of that configuration that were heard lately, and ourselves."""
        state = self._state
        since = state.replicated_log.now - state.config.disconnect_timeout
        heard = [
            each.peer
            for each in state.peers.values()
            if each.connected
            and each.heard_at >= since
            and configuration.names(each.peer, each.instance)
        ]
        own = configuration.names(state.config.me, state.config.instance)
        return [state.config.me, *heard] if own else heard

    def careless(
        self, before: Configuration, after: Configuration, change: MemberChange
    ) -> str | None:
        """Return why it is not done unless forced: it may cost the cluster its quorum (M4 a)."""
        if is_adding_voter(before, after):
            progress, member = self._state.peers.get(change.replica), after.member(change.replica)
            assert member is not None
            if progress is None or progress.instance != member.instance or not progress.connected:
                return f"node {change.replica} is not connected, so it has not caught up"
            if not self.answers(progress):
                lag = how_many(self.lag(progress), "entry")
                return f"node {change.replica} has not answered lately; it lacks {lag}"
        asks = needed(after, self._state.config.synchro_quorum)
        heard = len(self.heard(after))
        if set(before.voters) != set(after.voters) and heard < asks:
            of = len(after.replicas)
            return f"it would need {asks} of {of} voters, and {heard} of them are heard now"
        return None

    def unreplaceable(self, replica: Replica) -> str | None:
        """Return why the place of that member cannot be given to the directory under its id."""
        if replica == self._state.config.me:
            return "a leader does not replace itself: promote another node first"
        progress = self._state.peers.get(replica)
        if progress is None or not progress.connected:
            return f"node {replica} is not connected: start it on its new directory first"
        return None
