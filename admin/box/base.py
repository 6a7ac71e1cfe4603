"""What the parts of a session share: whom it speaks to, its open transaction, `box.watch`."""

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Self

from admin.box.place import NodeConnections, map_of
from qsync.client.async_.database import AsyncDatabase
from qsync.client.async_.transaction import AsyncTransaction
from qsync.client.rows import ReadConsistency, Receipt
from qsync.errors import ProtocolError

if TYPE_CHECKING:
    from qsync.status.record import BoxInfo


KEYS = ("box.status", "box.election", "box.synchro", "box.id")
"""What every node broadcasts."""


class BoxWatch(AsyncIterator[dict[str, object]]):
    """`async for value in box.watch("box.status")`; may be left at any time."""

    def __init__(self, client: AsyncDatabase, key: str) -> None:
        self._values = client.watch_key(key)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> dict[str, object]:
        return _map(await anext(self._values))

    async def within(self, seconds: float | None) -> dict[str, object] | None:
        """The next value, or None when there is none for so long."""
        value = await self._values.within(seconds)
        return None if value is None else _map(value)


def _map(value: object) -> dict[str, object]:
    if isinstance(value, dict):
        return value
    raise ProtocolError(f"a broadcast value that is no map: {value!r}")


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
