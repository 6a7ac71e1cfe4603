"""Both ends of snapshots between nodes, and what of a node they need."""

from typing import TYPE_CHECKING

from election.messages import Replica
from qsync.core.inputs import SnapshotReceived
from qsync.node.links import LinkStatus
from qsync.node.snapshot_receiver import SnapshotReceiver
from qsync.node.snapshot_sender import SnapshotSender
from qsync.wire.snapshots import FetchSnapshot, SnapshotMessage

if TYPE_CHECKING:
    from qsync.node.view import NodeView


class SnapshotTransfers:
    """Of one node. Two tasks run: `sender.run` and `receiver.run`."""

    def __init__(self, node: "NodeView") -> None:
        self._node = node
        effects = node.reactor.effects
        self.sender = SnapshotSender(
            node.replica,
            node.storage,
            deliver=self._deliver,
            under_way=self._under_way,
            rate=lambda: node.config.replication.snapshot_rate,
            timeline=node.timeline,
            effects=effects,
        )
        self.receiver = SnapshotReceiver(
            node.replica,
            node.storage,
            deliver=self._deliver,
            install=self._install,
            timeline=node.timeline,
            effects=effects,
        )

    def heard(self, peer: Replica, message: SnapshotMessage) -> None:
        """What a peer says of snapshots. Raises ProtocolError."""
        if isinstance(message, FetchSnapshot):
            self.sender.heard(peer, message)
        else:
            self.receiver.heard(peer, message)

    def _deliver(self, peer: Replica, data: bytes) -> None:
        self._node.links.deliver(peer, data)
        self._node.reactor.flush()

    def _under_way(self, peer: Replica) -> int | None:
        link = self._node.links.links.get(peer)
        if link is None or link.status is not LinkStatus.UP or link.connection is None:
            return None
        connection = link.connection
        return connection.unsent + self._node.reactor.effects.unacknowledged(connection.sock)

    def _install(self, event: SnapshotReceived) -> None:
        loop = self._node.loop
        loop.start_batch()
        loop.step(event)
        loop.turn()
