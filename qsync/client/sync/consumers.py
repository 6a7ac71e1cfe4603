"""The consumers of the log: readers and backups whose place it is kept behind."""
# Made from qsync/client/async_/consumers.py by tests/repo/blocking_surface.py: change that.

from typing import Final

from qsync.client import calls, operations
from qsync.client.operations import Operation
from qsync.client.rows import Receipt, consumer_in
from qsync.client.sync.runner import BlockingRunner
from qsync.consumer import Consumer, ConsumerKind
from qsync.errors import Outcome

_CONSUMERS: Final = "_gc_consumers"


class ClientConsumers:
    """`db.consumers`: no node trims the log behind the place of a consumer.

    They are rows of `_gc_consumers`, changed by synchronous transactions, so they survive restarts
    and failovers. One that holds more than `store.wal_retention_size` bytes is let go: the log is
    trimmed all the same, and whatever it asks next raises `Compacted`. Then note `confirmed` of the
    status, read the spaces as they are, and register again at that index.

    In a cluster with users a consumer belongs to the user who registered it: what others do with it
    raises AccessDenied, unless they have the right `member`.
    """

    def __init__(self, runner: BlockingRunner) -> None:
        self._runner = runner

    def register(
        self,
        name: str,
        kind: ConsumerKind | str = ConsumerKind.SUBSCRIBER,
        *,
        at: int | None = None,
        about: str = "",
        timeout: float | None = None,
    ) -> Consumer:
        """Keep the log behind `at` for `name` (without it: behind this moment); where it is.

        Who is registered already stays where it is, whatever `at` says. Raises Compacted when it
        was let go and `at` does not say from where on. `about` is for people. A place before the
        log begins can be registered; reading from there raises Compacted.
        """
        operation = operations.register_consumer(name, str(kind), at, about)
        receipt = self._write(operation, timeout)
        return consumer_in(receipt.row or [], outcome=Outcome.COMMITTED)

    def advance(
        self,
        name: str,
        index: int,
        *,
        timeout: float | None = None,
    ) -> Receipt:
        """`name` has the log up to `index`; a place before its own changes nothing.

        `tx.advance(name, index)` does it within a transaction. Raises Compacted when the log is not
        kept for it (any more), WrongOperation for an index ahead of the log.
        """
        return self._write(operations.advance_consumer(name, index), timeout)

    def let_go(
        self,
        name: str,
        *,
        timeout: float | None = None,
    ) -> Receipt:
        """Do not keep the log for it any more, but remember that it was there."""
        return self._write(operations.let_go_consumer(name), timeout)

    def drop(
        self,
        name: str,
        *,
        timeout: float | None = None,
    ) -> bool:
        """Unregister it; false if there is no consumer with that name.

        With the right `member` also one of another user, or of nobody.
        """
        receipt = self._write(operations.drop_consumer(name), timeout)
        return receipt.row is not None

    def list(
        self,
        *,
        timeout: float | None = None,
    ) -> "list[Consumer]":
        """All of them, by name. Members have a row from the first time on that it matters."""
        call = calls.select(_CONSUMERS, calls.range_of(None))
        return [consumer_in(row) for row in self._runner.run(call, timeout=timeout)]

    def _write(self, operation: Operation, timeout: float | None) -> Receipt:
        return self._runner.run(calls.write([operation]), timeout=timeout)
