"""Everything that can be asked of a cluster, whoever carries the questions."""
# Made from qsync/client/async_/database.py by tests/repo/blocking_surface.py: change that.

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TypeVar, Unpack

from qsync.client import draft, feed
from qsync.client.calls import ClientCall
from qsync.client.options import WINDOW, WriteOptions
from qsync.client.rows import Key, Receipt
from qsync.client.sync.feeds import Feed, Values
from qsync.client.sync.node import NodeCalls
from qsync.client.sync.runner import FeedRunner
from qsync.client.sync.schema import ClientSchema
from qsync.client.sync.space import Space
from qsync.client.sync.transaction import Transaction
from qsync.errors import QsyncError
from qsync.wire.verbs import Name

T = TypeVar("T")


class Database(NodeCalls, ABC):
    """Spaces, transactions, schema, watching. Who extends it says how one question is asked."""

    def __init__(self) -> None:
        super().__init__(self)
        self.schema = ClientSchema(self)

    @abstractmethod
    def run(self, call: ClientCall[T], *, timeout: float | None = None) -> T:
        """Ask and wait for the answer."""

    @abstractmethod
    def run_many(
        self,
        asked: Iterable[ClientCall[T]],
        *,
        window: int = WINDOW,
        timeout: float | None = None,
    ) -> list[T]:
        """Ask all of them, at most `window` at once; answers in order."""

    @abstractmethod
    def resolve(
        self,
        token: str,
        *,
        timeout: float | None = None,
        again: bool = True,
    ) -> Receipt:
        """What became of a write whose outcome was unknown: does it again, at most once in all.

        Without `again`, or without the write, it is given up if nobody has done it.
        """

    @abstractmethod
    def _reader(self) -> FeedRunner:
        """Who carries the questions of a feed."""

    def space(self, name: Name) -> Space:
        """A space by name; whether there is one is found out when it is used."""
        return Space(self, name)

    def transaction(self, **given: Unpack[WriteOptions]) -> Transaction:
        """A transaction: `with db.transaction(is_sync=True) as tx: ...`."""
        return Transaction(self, given)

    def atomic(
        self,
        function: Callable[[Transaction], T],
        *,
        attempts: int = 10,
        **given: Unpack[WriteOptions],
    ) -> T:
        """Run `function(tx)` and commit; again while somebody else changed what it had read."""
        for left in range(attempts - 1, -1, -1):
            try:
                with self.transaction(**given) as tx:
                    result = function(tx)
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
    ) -> Feed:
        """Confirmed transactions in order, each once: `for change in db.watch("accounts")`.

        Of one space or of all; `key`: only below these first parts of its primary key. From now
        on, or `after` an index or a receipt. Ends after `idle` seconds without a change, if given,
        and when the watched space is dropped. Raises Compacted where the log does not reach back.
        """
        return Feed(self._reader(), feed.cursor(space, key, after), idle=idle)

    def watch_key(self, key: str) -> Values:
        """Values of `box.status`, `box.election`, `box.synchro` or `box.id`, the newest at once."""
        return Values(self._reader(), key)
