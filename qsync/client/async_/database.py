"""Everything that can be asked of a cluster, whoever carries the questions."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar, Unpack

from qsync.client import draft, feed
from qsync.client.async_.feeds import AsyncFeed, AsyncValues
from qsync.client.async_.node import AsyncNode
from qsync.client.async_.runner import AsyncFeedRunner
from qsync.client.async_.schema import AsyncSchema
from qsync.client.async_.space import AsyncSpace
from qsync.client.async_.transaction import AsyncTransaction
from qsync.client.calls import ClientCall
from qsync.client.options import WINDOW, WriteOptions
from qsync.client.rows import Key, Receipt
from qsync.errors import QsyncError
from qsync.wire.verbs import Name

T = TypeVar("T")


class AsyncDatabase(AsyncNode, ABC):
    """Spaces, transactions, schema, watching. Who extends it says how one question is asked."""

    def __init__(self) -> None:
        super().__init__(self)
        self.schema = AsyncSchema(self)

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

    @abstractmethod
    def _reader(self) -> AsyncFeedRunner:
        """Who carries the questions of a feed."""

    def space(self, name: Name) -> AsyncSpace:
        """A space by name; whether there is one is found out when it is used."""
        return AsyncSpace(self, name)

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
        """Run `function(tx)` and commit; again while somebody else changed what it had read."""
        for left in range(attempts - 1, -1, -1):
            try:
                async with self.transaction(**given) as tx:
                    result = await function(tx)
            except QsyncError as error:
                if not left or not draft.retryable(error):
                    raise
            else:
                return result
        raise AssertionError(attempts)

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
        on, or `after` an index or a receipt. Ends after `idle` seconds without a change, if given,
        and when the watched space is dropped. Raises Compacted where the log does not reach back.
        """
        return AsyncFeed(self._reader(), feed.cursor(space, key, after), idle=idle)

    def watch_key(self, key: str) -> AsyncValues:
        """Values of `box.status`, `box.election`, `box.synchro` or `box.id`, the newest at once."""
        return AsyncValues(self._reader(), key)
