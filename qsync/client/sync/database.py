"""All calls to a cluster, whatever carries them."""
# Made from qsync/client/async_/database.py by tests/repo/blocking_surface.py: change that.

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar, Unpack, overload

from qsync.client import arguments, calls, draft, feed, questions
from qsync.client.calls import ClientCall
from qsync.client.options import OPERATE_S, WINDOW, WriteOptions, beyond
from qsync.client.rows import Key, Receipt
from qsync.client.sync.consumers import ClientConsumers
from qsync.client.sync.feeds import Feed, Values
from qsync.client.sync.members import ClientMembership
from qsync.client.sync.runner import BlockingRunner, FeedRunner
from qsync.client.sync.schema import ClientSchema
from qsync.client.sync.space import Space
from qsync.client.sync.transaction import Transaction
from qsync.client.sync.typed import TypedSpace
from qsync.client.sync.users import ClientUsers
from qsync.errors import QsyncError
from qsync.wire.verbs import Name


class NodeCalls:
    """Calls about a node: the leader, or the one node that a direct client speaks to."""

    def __init__(self, runner: BlockingRunner) -> None:
        self._runner = runner

    def ping(self) -> None:
        """Ask whether a node answers."""
        self._runner.run(calls.ping())

    def status(self) -> dict[str, object]:
        """The node's status record."""
        return self._runner.run(calls.status())

    def info(self, path: str | None = None) -> object:
        """`box.info`, or a part of it such as `synchro.queue.len`."""
        return self._runner.run(calls.info(path))

    def lost(self) -> object:
        """Asynchronous transactions that were answered "ok" and then cut."""
        return self._runner.run(calls.lost())

    def digest(self, space: Name | None = None) -> tuple[int, int, dict[str, object]]:
        """Visible index, folded index, and the hash of each space."""
        return self._runner.run(calls.digest(space))

    def log(
        self, first: int, *, count_max: int = 1000, bytes_max: int = 4 << 20
    ) -> tuple[int, int, bytes]:
        """Log entries as stored: first index, last index, and the batch."""
        return self._runner.run(calls.log(first, count_max, bytes_max))

    def dry_run(self, what: str) -> dict[str, object]:
        """The effect of an operation, in numbers."""
        return self._runner.run(calls.dry_run(what))

    def promote(self, *, timeout: float = OPERATE_S) -> None:
        """Make the node the leader; returns when its PROMOTE is confirmed."""
        self._runner.run(calls.promote(timeout), timeout=beyond(timeout))

    def demote(self, to: int = 0, *, timeout: float = OPERATE_S) -> None:
        """Make the node give up leadership, to the replica `to` if that is not 0."""
        self._runner.run(calls.demote(to, timeout), timeout=beyond(timeout))

    def clear_synchro_queue(self, *, timeout: float = OPERATE_S) -> None:
        """Take over the limbo, as `promote` does."""
        self._runner.run(calls.clear(timeout), timeout=beyond(timeout))

    def rollback_synchro_queue(self) -> None:
        """Roll back everything that is pending and of the leader's own term."""
        self._runner.run(calls.rollback_queue())

    def options(self, given: Mapping[str, object] | None = None) -> dict[str, object]:
        """`box.cfg`: every option of the node, after changing the given ones (all, or none)."""
        return self._runner.run(questions.options({} if given is None else given))

    def snapshot(self, *, timeout: float = OPERATE_S) -> int:
        """Store what is confirmed; the index up to which the spaces are durable then."""
        return self._runner.run(questions.snapshot(), timeout=timeout)

    def trace(self, index: int, *, arm: float = 0.0) -> dict[str, object]:
        """What became of a log entry on the node, and when, if it was watched then.

        The node goes on watching for `arm` seconds.
        """
        return self._runner.run(questions.trace(index, arm))


T = TypeVar("T")
R = TypeVar("R")


class Database(NodeCalls, ABC):
    """Spaces, transactions, schema, watching. Subclasses say how one call is made."""

    def __init__(self) -> None:
        super().__init__(self)
        self.schema = ClientSchema(self)
        self.members = ClientMembership(self)
        self.consumers = ClientConsumers(self)
        self.users = ClientUsers(self, self._learn_password)

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

    def _learn_password(self, user: str, password: str) -> None:
        """Learn the new password of a user; clients that log in as that user override this."""

    @abstractmethod
    def _reader(self) -> FeedRunner:
        """Return what carries the questions of a feed."""

    @overload
    def space(self, name: Name) -> Space: ...

    @overload
    def space(self, name: Name, *, row: type[R]) -> TypedSpace[R]: ...

    def space(self, name: Name, *, row: type[R] | None = None) -> Space | TypedSpace[R]:
        """A space by name; whether there is one is found out when it is used. Raises NoSuchSpace.

        `row`: the class of its rows, a NamedTuple, a dataclass or a msgspec.Struct whose fields
        stand in the order of the format. Without it rows are lists.
        """
        return Space(self, name) if row is None else TypedSpace(self, name, row)

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
        """Run `function(tx)` and commit; again while others changed what it had read."""
        left = arguments.integer_of("attempts", attempts)
        while True:
            tx = self.transaction(**given)
            left -= 1
            try:
                with tx:
                    result = function(tx)
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
    ) -> Feed:
        """Confirmed transactions in order, each once: `for change in db.watch("accounts")`.

        Of one space or of all; `key`: only below these first parts of its primary key. From now
        on, or `after` an index or a receipt. Ends when the watched space is dropped and, with
        `idle`, when all that is confirmed was read and there was no change for so many seconds.
        Raises Compacted where the log does not reach back.
        """
        return Feed(self._reader(), feed.cursor(space, key, after), idle=idle)

    def watch_key(self, key: str) -> Values:
        """Values of `box.status`, `box.election`, `box.synchro` or `box.id`, the newest at once."""
        return Values(self._reader(), key)
