"""A session with a cluster in the field's words: `box`, over the wire, from any node.

Data goes to the leader wherever that is. What is about one node (info, cfg, ctl, watch) goes to the
node that the session speaks to: the one that was named, else the leader of the moment.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypedDict, TypeVar, Unpack

from admin.box import shapes
from admin.box.base import BoxSession
from admin.box.ctl import Ctl
from admin.box.place import NodeConnections
from admin.box.space import BoxSchema, BoxSpace
from qsync.client import login, targets
from qsync.client.async_.feeds import AsyncFeed
from qsync.client.async_.transaction import AsyncTransaction
from qsync.client.draft import NoTransaction
from qsync.client.options import WriteOptions
from qsync.client.rows import Key, Receipt
from qsync.errors import QsyncError
from qsync.units import how_many
from qsync.wire.verbs import Name

if TYPE_CHECKING:
    from admin.box.asking import Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Counts since the start: `requests` by outcome, `net` of connections."""

    requests: dict[str, object] = field(default_factory=dict)
    latency: dict[str, object] = field(default_factory=dict)
    net: dict[str, object] = field(default_factory=dict)
    disk: dict[str, object] = field(default_factory=dict)


class Stat:
    """The counts of a node: `box.stat`."""

    def __init__(self, box: BoxSession) -> None:
        self._box = box

    async def all(self) -> Statistics:
        """Return all counts."""
        status = await self._box.node.status()
        net = {
            "clients": status.get("clients"),
            "waiting": status.get("waiters"),
            "refused": status.get("refused"),
        }
        return Statistics(
            requests=_map(status.get("counters")),
            latency=_map(status.get("latency")),
            net=net,
            disk=_map(status.get("disk")),
        )


def _map(value: object) -> dict[str, object]:
    return {str(key): one for key, one in value.items()} if isinstance(value, dict) else {}


INSTEAD: Final = (
    "`qsync backup create` makes a backup while the cluster runs; "
    "`qsync backup restore` makes a new cluster from it"
)


class NotSupported(QsyncError):
    """The request is not supported by this release; the hint says what to use instead."""

    code = "NOT_SUPPORTED"
    number = 79


class Backup:
    """`box.backup` of Tarantool: every call is refused."""

    async def start(self, n: int = 0) -> list[str]:  # noqa: ARG002 - Tarantool's parameter
        """Not supported: use `qsync backup`."""
        raise _refused()

    async def stop(self) -> None:
        """Not supported: there is nothing to stop."""
        raise _refused()


def _refused() -> NotSupported:
    return NotSupported("box.backup is not supported, and nothing was done", hint=INSTEAD)


class CfgOptions(TypedDict, total=False):
    """Numbers are seconds or bytes; text has a unit, such as `5s` or `64MiB`.

    What is changed holds until the node stops; its file says how it starts.
    """

    read_only: bool
    election_mode: str
    election_timeout: float | str
    election_fencing_mode: str
    replication_timeout: float | str
    replication_synchro_quorum: int | str
    replication_synchro_timeout: float | str
    replication_synchro_queue_max_size: int | str
    memtx_use_mvcc_engine: bool


T = TypeVar("T")


class Box(BoxSession):
    """One session, which holds the open transaction; made by `open_box` or `open_inline`."""

    def __init__(self, place: NodeConnections) -> None:
        super().__init__(place)
        self.ctl = Ctl(self)
        self.schema = BoxSchema(self)
        self.stat = Stat(self)
        self.backup = Backup()

    # -- who is spoken to

    async def use(self, node: str | None) -> None:
        """Use this node from now on: a name, an id or an address; None follows the leader."""
        await self.place.use(node)

    async def follow(self) -> str | None:
        """Switch to the leader, unless a node was named. Returns its name if it changed."""
        return await self.place.follow()

    async def another(self, target: str) -> "Box":
        """Open another session, with any cluster; it ends with this one at the latest."""
        made = Box(await self.place.another(targets.parse(target).addresses))
        await made.use(None)
        return made

    async def beside(self, node: str) -> "Box":
        """Open another session with this cluster, at that node."""
        return Box(await self.place.beside(node))

    async def act_as(self, user: str) -> None:
        """Act as that user from now on, which only `super` may; `su` to oneself ends it.

        Raises AccessDenied, and NoTransaction while a transaction is open.
        """
        if self.txn is not None:
            raise NoTransaction("a transaction is open", hint="box.commit() or box.rollback()")
        before = login.acting()
        login.act_as(user)
        try:
            await self.place.reopen()
        except QsyncError:
            login.act_as(before)
            raise

    # -- looking

    @property
    def why(self) -> "Why":
        """Explain why the node is read-only, why something waits, what promote would do."""
        from admin.box.asking import Why  # noqa: PLC0415 - it needs a survey, which few do

        return Why(self)

    async def info_at(self, path: str) -> object:
        """Return a part of `box.info`, such as `synchro.queue.len`."""
        return await self.node.info(path)

    async def cfg(self, **given: Unpack[CfgOptions]) -> dict[str, object]:
        """Change the given options, all or none, and return every option of the node."""
        return await self.node.options(given)

    async def snapshot(self) -> int:
        """Write a snapshot of what is confirmed to `DIR/snap`. Returns its index."""
        return await self.node.snapshot()

    def changes(
        self, space: Name | None = None, *, key: Key = None, after: int | Receipt | None = None
    ) -> AsyncFeed:
        """Watch confirmed transactions, in order, each once; see `db.watch` of the client."""
        return self.data.watch(space, key=key, after=after)

    # -- data

    async def space(self, name: Name) -> BoxSpace:
        """Return a space by name or id, as it is defined now. Raises NoSuchSpace."""
        return BoxSpace(self, await shapes.find(self, name))

    def begin(self, **given: Unpack[WriteOptions]) -> AsyncTransaction:
        """Open a transaction; all operations of the session's spaces belong to it until its end.

        It is serializable: a Conflict at commit says that something it read has changed meanwhile,
        and that nothing was written.
        """
        if self.txn is not None:
            raise NoTransaction(
                f"a transaction with {how_many(self.txn.size, 'operation')} is open already",
                hint="commit it or roll it back first",
            )
        self.txn = self.data.transaction(**given)
        return self.txn

    async def commit(self, **given: Unpack[WriteOptions]) -> Receipt | None:
        """Commit the open transaction; without one, do nothing."""
        txn, self.txn = self.txn, None
        if txn is None:
            return None
        receipt = await txn.commit(**given)
        self.last = receipt or self.last
        return receipt

    def rollback(self) -> None:
        """Drop the open transaction; without one, do nothing."""
        txn, self.txn = self.txn, None
        if txn is not None:
            txn.rollback()

    async def atomic(
        self, function: Callable[[], Awaitable[T]], **given: Unpack[WriteOptions]
    ) -> T:
        """Run a function in a transaction: committed at its end, dropped on an exception."""
        self.begin(**given)
        try:
            result = await function()
        except BaseException:
            self.rollback()
            raise
        await self.commit()
        return result
