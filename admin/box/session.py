"""A session with a cluster in the field's words: `box`, over the wire, from any node.

Data goes to the leader wherever that is. What is about one node (info, cfg, ctl, watch) goes to the
node that the session speaks to: the one that was named, else the leader of the moment.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar, Unpack

from admin.box.backup import Backup
from admin.box.cfg import CfgOptions
from admin.box.ctl import Ctl
from admin.box.place import NodeConnections, map_of
from admin.box.schema import BoxSchema
from admin.box.space import BoxSpace
from admin.box.stat import Stat
from admin.box.watch import BoxWatch
from qsync.client import targets
from qsync.client.async_.database import AsyncDatabase
from qsync.client.async_.transaction import AsyncTransaction
from qsync.client.feed import AsyncFeed
from qsync.client.options import WriteOptions
from qsync.client.rows import Key, ReadConsistency, Receipt
from qsync.errors import QsyncError
from qsync.wire.verbs import Name

if TYPE_CHECKING:
    from admin.box.asking import Why
    from qsync.status.record import BoxInfo

T = TypeVar("T")


class NoTransaction(QsyncError):
    """A transaction is open that should not be, or none is that should."""

    code = "TRANSACTION"
    number = 78


class Box:
    """One session, which holds the open transaction; made by `open_box` or `open_inline`."""

    def __init__(self, place: NodeConnections) -> None:
        self.place = place
        self.txn: AsyncTransaction | None = None
        self.last: Receipt | None = None
        self.unknown: str | None = None
        """The token of the last write of which nobody could say what became of it."""
        self.consistency: ReadConsistency = "linearizable"
        """How fresh reads are unless they say otherwise."""
        self.ctl = Ctl(self)
        self.schema = BoxSchema(self)
        self.stat = Stat(self)
        self.backup = Backup()

    # -- who is spoken to

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

    async def use(self, node: str | None) -> None:
        """Speak to that node from now on: a name, an id or an address; None follows the leader."""
        await self.place.use(node)

    async def follow(self) -> str | None:
        """Go where the leader is, unless a node was named. Its name, if it is another one now."""
        return await self.place.follow()

    async def another(self, target: str) -> "Box":
        """One more session, with any cluster; it ends with this one at the latest."""
        made = Box(await self.place.another(targets.parse(target).addresses))
        await made.use(None)
        return made

    async def beside(self, node: str) -> "Box":
        """One more session with this cluster, which speaks to that node."""
        return Box(await self.place.beside(node))

    # -- looking

    @property
    def why(self) -> "Why":
        """Why it is read-only, why something waits, what promote would do."""
        from admin.box.asking import Why  # noqa: PLC0415 - it needs a survey, which few do

        return Why(self)

    async def info(self) -> "BoxInfo":
        """`box.info` of the node, as a record. No part that fails hides the others."""
        from qsync.status import decode  # noqa: PLC0415 - the record is slow to load

        return decode.box_info(map_of(await self.node.info()))

    async def info_at(self, path: str) -> object:
        """A part of it, such as `synchro.queue.len`."""
        return await self.node.info(path)

    async def cfg(self, **given: Unpack[CfgOptions]) -> dict[str, object]:
        """Every option of the node, after changing the given ones: all of them, or none."""
        return await self.node.options(given)

    async def snapshot(self) -> int:
        """Make the node store what is confirmed; the index up to which that is durable."""
        return await self.node.snapshot()

    def watch(self, key: str) -> BoxWatch:
        """A broadcast key of the node: its value now, then every other one."""
        return BoxWatch(self.node, key)

    def changes(
        self, space: Name | None = None, *, key: Key = None, after: int | Receipt | None = None
    ) -> AsyncFeed:
        """Confirmed transactions in order, each once; see `db.watch` of the client."""
        return self.data.watch(space, key=key, after=after)

    # -- data

    async def space(self, name: Name) -> BoxSpace:
        """A space by name or id, as it is defined now. Raises NoSuchSpace."""
        return BoxSpace(self, await self.schema.find(name))

    def begin(self, **given: Unpack[WriteOptions]) -> AsyncTransaction:
        """Open a transaction: what the session's spaces do belongs to it, until its end.

        It is serializable: a Conflict at commit says that something it read has changed meanwhile,
        and that nothing was written.
        """
        if self.txn is not None:
            raise NoTransaction(
                f"a transaction with {self.txn.size} operations is open already",
                hint="commit it or roll it back first",
            )
        self.txn = self.data.transaction(**given)
        return self.txn

    async def commit(self, **given: Unpack[WriteOptions]) -> Receipt | None:
        """Send the open transaction; nothing happens when there is none."""
        txn, self.txn = self.txn, None
        if txn is None:
            return None
        receipt = await txn.commit(**given)
        self.last = receipt or self.last
        return receipt

    def rollback(self) -> None:
        """Drop the open transaction; nothing happens when there is none."""
        txn, self.txn = self.txn, None
        if txn is not None:
            txn.rollback()

    async def atomic(
        self, function: Callable[[], Awaitable[T]], **given: Unpack[WriteOptions]
    ) -> T:
        """Run it inside a transaction: committed at its end, dropped on any exception."""
        self.begin(**given)
        try:
            result = await function()
        except BaseException:
            self.rollback()
            raise
        await self.commit()
        return result
