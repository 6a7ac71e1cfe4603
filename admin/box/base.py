"""The shared state of a session: its connections, its open transaction, `box.watch`."""

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
"""The keys that every node broadcasts."""


class BoxWatch(AsyncIterator[dict[str, object]]):
    """`async for value in box.watch("box.status")`; may be left at any time."""

    def __init__(self, client: AsyncDatabase, key: str) -> None:
        self._values = client.watch_key(key)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> dict[str, object]:
        return _map(await anext(self._values))

    async def within(self, seconds: float | None) -> dict[str, object] | None:
        """Return the next value, or None if there is none in that time."""
        value = await self._values.within(seconds)
        return None if value is None else _map(value)


def _map(value: object) -> dict[str, object]:
    if isinstance(value, dict):
        return value
    raise ProtocolError(f"a broadcast value that is no map: {value!r}")


class BoxSession:
    """The connections of a session, and its state between requests."""

    def __init__(self, place: NodeConnections) -> None:
        self.place = place
        self.txn: AsyncTransaction | None = None
        self.last: Receipt | None = None
        self.unknown: str | None = None
        """The token of the last write with an unknown outcome."""
        self.consistency: ReadConsistency = "linearizable"
        """The consistency of reads by default."""

    @property
    def data(self) -> AsyncDatabase:
        """The connection for data, which finds the leader."""
        return self.place.data

    @property
    def node(self) -> AsyncDatabase:
        """The connection to the node of the session."""
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
        """Return `box.info` of the node as a record. A part that fails does not hide others."""
        from qsync.status import decode  # noqa: PLC0415 - the record is slow to load

        return decode.box_info(map_of(await self.node.info()))

    def watch(self, key: str) -> BoxWatch:
        """Watch a broadcast key of the node: the present value, then each new one."""
        return BoxWatch(self.node, key)
