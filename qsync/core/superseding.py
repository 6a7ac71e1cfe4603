"""A superseded node: permanently isolated from all other nodes (M8 e).

For the protocol it is a node that neither receives nor sends messages. So only its isolation has to
be proved.
"""

from dataclasses import replace

from election.roles import ElectionMode
from qsync.core import inputs as happened
from qsync.core.config import CoreConfig
from qsync.core.disk import DiskState
from qsync.core.ready import ReadSettled, Ready
from qsync.core.replica_state import ReplicaState


class Superseding:
    """Keeps a node silent that is superseded, as `DiskState` and its directory say."""

    def __init__(self, state: ReplicaState, disk: DiskState) -> None:
        self._state = state
        self._disk = disk

    def took(self, event: happened.Input) -> bool:
        """Return whether the input is done with: a superseded node refuses requests.

        Neither what peers say nor a connection to them is any of its affairs.
        """
        if isinstance(event, happened.SupersededBy):
            if self._disk.superseded is None:
                self.supersede(event.cluster)
            return True
        if self._disk.superseded is None:
            return False
        match event:
            case happened.Received() | happened.Connected() | happened.SnapshotReceived():
                return True
            case (
                happened.ReadAsked()
                | happened.PromoteAsked()
                | happened.DemoteAsked()
                | happened.RollbackAsked()
                | happened.ChangeAsked()
            ):
                self._state.answer(event.ticket, refusal(self._disk.superseded))
                return True
            case _:
                return False

    def supersede(self, cluster: str) -> None:
        """Stop leading, following and asking for votes: the directory records why."""
        state, self._disk.superseded = self._state, cluster
        state.set_configuration(never_leading(state.config))
        state.raft.set_mode(state.config.mode)
        if state.leader is not None:
            state.resign("superseded")
        else:
            state.raft.state.become_follower()
            state.follow()
        state.out.add_event("superseded", by=cluster)

    def silence(self, ready: Ready) -> None:
        """Drop all messages to peers, and all answers about decisions or data.

        Whether a write that a client waits for is in the other cluster is unknown here.
        """
        cluster = self._disk.superseded
        if cluster is None:
            return
        ready.send_now, ready.send_after, ready.settled = [], [], []
        ready.reads = [
            each if each.refused else ReadSettled(each.ticket, refusal(cluster))
            for each in ready.reads
        ]


def never_leading(config: CoreConfig) -> CoreConfig:
    """Return a configuration under which a node neither campaigns nor is promoted."""
    return replace(config, mode=ElectionMode.VOTER)


def refusal(cluster: str) -> str:
    """Return the error for everything that is asked there."""
    return f"this node is superseded: its history continues in cluster {cluster}"
