"""Both ends of snapshots between nodes, and the parts of a node that they use."""

from typing import Protocol

from election.messages import Replica
from qsync.config import NodeConfig
from qsync.core.inputs import SnapshotReceived
from qsync.node.assembly import NodeStorage
from qsync.node.links import Links, LinkStatus
from qsync.node.loop import Loop
from qsync.node.reactor import Reactor
from qsync.node.snapshot_receiver import SnapshotReceiver
from qsync.node.snapshot_sender import SnapshotSender
from qsync.node.timeline import Timeline
from qsync.replica import Replica as Core
from qsync.status.members import SnapshotStatus
from qsync.wire.snapshots import FetchSnapshot, SnapshotMessage


class SendingNode(Protocol):
    """The part of a node that transfers use."""

    config: NodeConfig
    storage: NodeStorage
    timeline: Timeline
    replica: Core
    reactor: Reactor
    links: Links
    loop: Loop


class SnapshotTransfers:
    """The transfers of one node. Two tasks run: `sender.run` and `receiver.run`."""

    def __init__(self, node: SendingNode) -> None:
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
        """Take a peer's message about snapshots. Raises ProtocolError."""
        if isinstance(message, FetchSnapshot):
            self.sender.heard(peer, message)
        else:
            self.receiver.heard(peer, message)

    def to(self, peer: int) -> SnapshotStatus | None:
        """Return how much of a snapshot a follower has; None when it is sent none."""
        transfer = self.sender.transfers.get(Replica(peer))
        if transfer is None:
            return None
        source = transfer.source
        return SnapshotStatus(
            index=source.head.start.index,
            chunks=transfer.taken,
            chunks_in_all=source.chunks,
            bytes=source.bytes_of(transfer.taken),
            bytes_in_all=source.snapshot_bytes,
        )

    def coming_from(self, peer: int) -> SnapshotStatus | None:
        """Return how much of a leader's snapshot is here; None when it sends none."""
        receiver = self.receiver
        if receiver.leader != peer:
            return None
        arrivals, received = receiver.arrivals, receiver.received
        return SnapshotStatus(
            index=0 if received is None else received.head.start.index,
            chunks=0 if received is None else received.chunks_taken,
            chunks_in_all=arrivals.chunks_in_all,
            bytes=0 if received is None else received.bytes_taken,
            bytes_in_all=arrivals.bytes_in_all,
        )

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
