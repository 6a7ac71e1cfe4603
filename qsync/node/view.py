"""The view that the parts of a node have of it: status, handshake, queries, faults."""

from typing import Protocol

from qsync.config import NodeConfig
from qsync.faultpoints import FaultPoints
from qsync.node.addresses import AddressBook
from qsync.node.assembly import NodeStorage
from qsync.node.folding import Folding
from qsync.node.links import Links
from qsync.node.loop import Loop
from qsync.node.reactor import Reactor
from qsync.node.requests import ClientRequests
from qsync.node.retained import Retained
from qsync.node.server import Server
from qsync.node.snapshot_transfers import SnapshotTransfers
from qsync.node.timeline import Timeline
from qsync.replica import Replica
from qsync.store.contract import Identity


class NodeView(Protocol):
    """The part of a node that describing it needs."""

    config: NodeConfig
    storage: NodeStorage
    address: str
    timeline: Timeline
    replica: Replica
    reactor: Reactor
    links: Links
    loop: Loop
    requests: ClientRequests
    server: Server
    folding: Folding

    @property
    def book(self) -> AddressBook:
        """The members and their addresses."""

    @property
    def identity(self) -> Identity:
        """Cluster, instance and replica id."""

    @property
    def retained(self) -> Retained:
        """Its snapshots, and the readers for which it keeps its log."""

    @property
    def fault_points(self) -> FaultPoints:
        """The fault points of this node, and which are armed."""

    def leader_idle(self) -> float | None:
        """Seconds since the leader was heard; 0 on the leader itself."""

    def begin_anew(self) -> None:
        """Request that the directory is opened again; only the caller of `run` can do that."""

    def uptime(self) -> float:
        """Seconds since its directory was opened."""

    @property
    def transfers(self) -> SnapshotTransfers:
        """Snapshots on their way to others, and to here."""
