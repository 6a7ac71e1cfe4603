"""All calls to a cluster, whatever carries them."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeVar, Unpack, overload

from qsync.client import arguments, calls, draft, feed, questions
from qsync.client.async_.consumers import AsyncConsumers
from qsync.client.async_.feeds import AsyncFeed, AsyncValues
from qsync.client.async_.members import AsyncMembership
from qsync.client.async_.runner import AsyncFeedRunner, AsyncRunner
from qsync.client.async_.schema import AsyncSchema
from qsync.client.async_.space import AsyncSpace
from qsync.client.async_.transaction import AsyncTransaction
from qsync.client.async_.typed import AsyncTypedSpace
from qsync.client.async_.users import AsyncUsers
from qsync.client.calls import ClientCall
from qsync.client.options import OPERATE_S, WINDOW, WriteOptions, beyond
from qsync.client.rows import Key, Receipt
from qsync.errors import QsyncError
from qsync.wire.verbs import Name


class AsyncNode:
    """Calls about a node: the leader, or the one node that a direct client speaks to."""

    def __init__(self, runner: AsyncRunner) -> None:
        self._runner = runner

    async def ping(self) -> None:
        """Ask whether a node answers."""
        await self._runner.run(calls.ping())

    async def status(self) -> dict[str, object]:
        """The node's status record."""
        return await self._runner.run(calls.status())

    async def info(self, path: str | None = None) -> object:
        """`box.info`, or a part of it such as `synchro.queue.len`."""
        return await self._runner.run(calls.info(path))

    async def lost(self) -> object:
        """Asynchronous transactions that were answered "ok" and then cut."""
        return await self._runner.run(calls.lost())

    async def digest(self, space: Name | None = None) -> tuple[int, int, dict[str, object]]:
        """Visible index, folded index, and the hash of each space."""
        return await self._runner.run(calls.digest(space))

    async def log(
        self, first: int, *, count_max: int = 1000, bytes_max: int = 4 << 20
    ) -> tuple[int, int, bytes]:
        """Log entries as stored: first index, last index, and the batch."""
        return await self._runner.run(calls.log(first, count_max, bytes_max))

    async def dry_run(self, what: str) -> dict[str, object]:
        """The effect of an operation, in numbers."""
        return await self._runner.run(calls.dry_run(what))

    async def promote(self, *, timeout: float = OPERATE_S) -> None:  # noqa: ASYNC109 - the node's too
        """Make the node the leader; returns when its PROMOTE is confirmed."""
        await self._runner.run(calls.promote(timeout), timeout=beyond(timeout))

    async def demote(self, to: int = 0, *, timeout: float = OPERATE_S) -> None:  # noqa: ASYNC109 - the node's too
        """Make the node give up leadership, to the replica `to` if that is not 0."""
        await self._runner.run(calls.demote(to, timeout), timeout=beyond(timeout))

    async def clear_synchro_queue(self, *, timeout: float = OPERATE_S) -> None:  # noqa: ASYNC109 - the node's too
        """Take over the limbo, as `promote` does."""
        await self._runner.run(calls.clear(timeout), timeout=beyond(timeout))

    async def rollback_synchro_queue(self) -> None:
        """Roll back everything that is pending and of the leader's own term."""
        await self._runner.run(calls.rollback_queue())

    async def options(self, given: Mapping[str, object] | None = None) -> dict[str, object]:
        """`box.cfg`: every option of the node, after changing the given ones (all, or none)."""
        return await self._runner.run(questions.options({} if given is None else given))

    async def snapshot(self, *, timeout: float = OPERATE_S) -> int:  # noqa: ASYNC109 - the node's too
        """Store what is confirmed; the index up to which the spaces are durable then."""
        return await self._runner.run(questions.snapshot(), timeout=timeout)

    async def trace(self, index: int, *, arm: float = 0.0) -> dict[str, object]:
        """What became of a log entry on the node, and when, if it was watched then.

        The node goes on watching for `arm` seconds.
        """
        return await self._runner.run(questions.trace(index, arm))


T = TypeVar("T")
R = TypeVar("R")


class AsyncDatabase(AsyncNode, ABC):
    """Spaces, transactions, schema, watching. Subclasses say how one call is made."""

    def __init__(self) -> None:
        super().__init__(self)
        self.schema = AsyncSchema(self)
        self.members = AsyncMembership(self)
        self.consumers = AsyncConsumers(self)
        self.users = AsyncUsers(self, self._learn_password)

    @abstractmethod
    async def run(self, call: ClientCall[T], *, timeout: float | None = None) -> T:  # noqa: ASYNC109 - the caller's word
        """Ask and wait for the answer."""

    @abstractmethod
    async def run_many(
        self,
        asked: Iterable[ClientCall[T]],
        *,
        window: int = WINDOW,
        timeout: float | None = None,  # noqa: ASYNC109 - the caller's word
    ) -> list[T]:
        """Ask all of them, at most `window` at once; answers in order."""

    @abstractmethod
    async def resolve(
        self,
        token: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the caller's word
        again: bool = True,
    ) -> Receipt:
        """What became of a write whose outcome was unknown: does it again, at most once in all.

        Without `again`, or without the write, it is given up if nobody has done it.
        """

    def _learn_password(self, user: str, password: str) -> None:
        """Learn the new password of a user; clients that log in as that user override this."""

    @abstractmethod
    def _reader(self) -> AsyncFeedRunner:
        """Return what carries the questions of a feed."""

    @overload
    def space(self, name: Name) -> AsyncSpace: ...

    @overload
    def space(self, name: Name, *, row: type[R]) -> AsyncTypedSpace[R]: ...

    def space(self, name: Name, *, row: type[R] | None = None) -> AsyncSpace | AsyncTypedSpace[R]:
        """A space by name; whether there is one is found out when it is used. Raises NoSuchSpace.

        `row`: the class of its rows, a NamedTuple, a dataclass or a msgspec.Struct whose fields
        stand in the order of the format. Without it rows are lists.
        """
        return AsyncSpace(self, name) if row is None else AsyncTypedSpace(self, name, row)

    def transaction(self, **given: Unpack[WriteOptions]) -> AsyncTransaction:
        """A transaction: `async with db.transaction(is_sync=True) as tx: ...`."""
        return AsyncTransaction(self, given)

    async def atomic(
        self,
        function: Callable[[AsyncTransaction], Awaitable[T]],
        *,
        attempts: int = 10,
        **given: Unpack[WriteOptions],
    ) -> T:
        """Run `function(tx)` and commit; again while others changed what it had read."""
        left = arguments.integer_of("attempts", attempts)
        while True:
            tx = self.transaction(**given)
            left -= 1
            try:
                async with tx:
                    result = await function(tx)
            except QsyncError as error:
                if left <= 0 or tx.receipt is not None or not draft.retryable(error):
                    raise
            else:
                return result

    def watch(
        self,
        space: Name | None = None,
        *,
        key: Key = None,
        after: int | Receipt | None = None,
        idle: float | None = None,
    ) -> AsyncFeed:
        """Confirmed transactions in order, each once: `async for change in db.watch("accounts")`.

        Of one space or of all; `key`: only below these first parts of its primary key. From now
        on, or `after` an index or a receipt. Ends when the watched space is dropped and, with
        `idle`, when all that is confirmed was read and there was no change for so many seconds.
        Raises Compacted where the log does not reach back.
        """
        return AsyncFeed(self._reader(), feed.cursor(space, key, after), idle=idle)

    def watch_key(self, key: str) -> AsyncValues:
        """Values of `box.status`, `box.election`, `box.synchro` or `box.id`, the newest at once."""
        return AsyncValues(self._reader(), key)
