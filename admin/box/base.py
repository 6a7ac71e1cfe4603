"""What the parts of a session share: whom it speaks to, and its open transaction."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from admin.box.place import NodeConnections, map_of
from admin.box.watch import BoxWatch
from qsync.client.async_.database import AsyncDatabase
from qsync.client.async_.transaction import AsyncTransaction
from qsync.client.rows import ReadConsistency, Receipt

if TYPE_CHECKING:
    from qsync.status.record import BoxInfo


class BoxSession:
    """The connections of a session, and what it keeps from one request to the next."""

    def __init__(self, place: NodeConnections) -> None:
        self.place = place
        self.txn: AsyncTransaction | None = None
        self.last: Receipt | None = None
        self.unknown: str | None = None
        """The token of the last write of which nobody could say what became of it."""
        self.consistency: ReadConsistency = "linearizable"
        """How fresh reads are unless they say otherwise."""

    @property
    def data(self) -> AsyncDatabase:
        """The connection for data: it finds the leader by itself."""
        return self.place.data

    @property
    def node(self) -> AsyncDatabase:
        """The connection to the one node that is spoken to."""
        return self.place.node

    @property
    def name(self) -> str:
        """The name of that node."""
        return self.place.name

    @property
    def members(self) -> Mapping[str, str]:
        """Name and address of every member."""
        return self.place.members

    async def info(self) -> "BoxInfo":
        """`box.info` of the node, as a record. No part that fails hides the others."""
        from qsync.status import decode  # noqa: PLC0415 - the record is slow to load

        return decode.box_info(map_of(await self.node.info()))

    def watch(self, key: str) -> BoxWatch:
        """A broadcast key of the node: its value now, then every other one."""
        return BoxWatch(self.node, key)
