"""Transactions over several operations: collected here, sent at the end, validated by the leader.

Reads inside see what the transaction has written so far. At commit the leader refuses with
Conflict, and writes nothing, if anything that was read has changed: they are serializable.
"""

from types import TracebackType
from typing import Final, Generic, Self, TypeVar, Unpack, overload

from qsync.client import calls, operations, options
from qsync.client.async_.runner import AsyncRunner
from qsync.client.draft import SpaceWrites, TransactionDraft
from qsync.client.operations import Operation
from qsync.client.options import Changes, PageOptions, WriteOptions
from qsync.client.rows import Key, Receipt, Row
from qsync.client.rowtypes import RowType
from qsync.wire.verbs import Name

R = TypeVar("R")
_SPACES: Final = "_space"
"""A space that is always there."""


class AsyncTransaction:
    """`async with db.transaction() as tx:` commits at the end; an exception drops everything."""

    def __init__(self, runner: AsyncRunner, given: WriteOptions) -> None:
        self._runner = runner
        self._draft = TransactionDraft(given)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._draft.over:
            return
        if kind is None:
            await self.commit()
        else:
            self.rollback()

    @overload
    def space(self, name: Name) -> "AsyncTransactionSpace": ...

    @overload
    def space(self, name: Name, *, row: type[R]) -> "AsyncTypedTransactionSpace[R]": ...

    def space(
        self, name: Name, *, row: type[R] | None = None
    ) -> "AsyncTransactionSpace | AsyncTypedTransactionSpace[R]":
        """A space inside of the transaction; `row`: the class of its rows, as of `db.space`."""
        plain = AsyncTransactionSpace(self._runner, self._draft, name)
        return plain if row is None else AsyncTypedTransactionSpace(plain, row)

    def advance(self, consumer: str, index: int) -> None:
        """The consumer has the log up to `index`: what is written here is done once for it.

        Compacted at commit if the log is not kept for it any more.
        """
        self._draft.write(operations.advance_consumer(consumer, index))

    async def try_write(self, operation: Operation) -> None:
        """Add an operation unless the leader would refuse it now; raises its refusal.

        The transaction goes on without what was refused. The others just collect, and a refusal
        comes at commit; this costs a round trip each.
        """
        self._draft.write(operation)
        asked = calls.select_at(_SPACES, calls.range_of(None, limit=0), self._draft.ops)
        try:
            await self._runner.run(asked, timeout=self._draft.timeout)
        except BaseException:  # also a cancelled one is not part of it
            self._draft.take_back(operation)
            raise

    @property
    def size(self) -> int:
        """How many operations it has so far."""
        return len(self._draft.ops)

    def back_to(self, size: int) -> None:
        """Drop the operations after the first `size`: a savepoint is the `size` of its moment."""
        self._draft.cut(size)

    async def commit(self, **given: Unpack[WriteOptions]) -> Receipt | None:
        """Send it. The receipt is None when it wrote nothing and read at most once.

        Options given here count instead of those that the transaction began with.
        """
        call = self._draft.end(given)
        if call is not None:
            self._draft.receipt = await self._runner.run(call, timeout=self._draft.timeout)
        return self._draft.receipt

    def rollback(self) -> None:
        """Drop everything; nothing was sent yet."""
        self._draft.over = True

    @property
    def receipt(self) -> Receipt | None:
        """The proof, after the commit."""
        return self._draft.receipt

    @property
    def token(self) -> str | None:
        """Session and number of the commit, whatever became of it; None before. Logs have it.

        The first write of a client has none until its session is open: nothing was sent by then.
        """
        return self._draft.token


class AsyncTransactionSpace(SpaceWrites):
    """A space inside of a transaction: writes are collected until the commit, reads are asked."""

    def __init__(self, runner: AsyncRunner, draft: TransactionDraft, name: Name) -> None:
        super().__init__(draft, name)
        self._runner = runner

    async def get(self, key: Key, *, index: Name = 0) -> Row | None:
        """One tuple, with what this transaction has written; it must not change until commit."""
        self._draft.check()
        call = calls.get_at(self.name, key, index, self._draft.ops)
        row, seen = await self._runner.run(call, timeout=self._draft.timeout)
        self._draft.saw_key(self.name, index, key, seen)
        return row

    async def select(self, key: Key = None, **given: Unpack[PageOptions]) -> list[Row]:
        """Tuples of a range; none may come, go or change in it until commit."""
        self._draft.check()
        options.check(given, options.PAGE)
        which = options.which(key, given)
        call = calls.select_at(self.name, which, self._draft.ops)
        rows, seen = await self._runner.run(call, timeout=self._draft.timeout)
        self._draft.saw_range(self.name, which, seen)
        return rows


class AsyncTypedTransactionSpace(Generic[R]):
    """A typed space inside of a transaction: writes are collected, reads see them."""

    def __init__(self, plain: AsyncTransactionSpace, row: type[R]) -> None:
        self.plain = plain
        self._type = RowType(row)

    def insert(self, row: R) -> None:
        """A new row; DuplicateKey at commit if its key is taken."""
        self.plain.insert(self._type.to_values(row))

    def replace(self, row: R) -> None:
        """Insert a row, or replace the one with its key."""
        self.plain.replace(self._type.to_values(row))

    def update(self, key: Key, changes: Changes, *, index: Name = 0) -> None:
        """Change fields of one row."""
        self.plain.update(key, changes, index=index)

    def upsert(self, row: R, changes: Changes) -> None:
        """Insert the row, or change the one that is there."""
        self.plain.upsert(self._type.to_values(row), changes)

    def delete(self, key: Key, *, index: Name = 0) -> None:
        """Take one row away."""
        self.plain.delete(key, index=index)

    async def get(self, key: Key, *, index: Name = 0) -> R | None:
        """One row, with what this transaction has written; it must not change until commit."""
        return self._type.some(await self.plain.get(key, index=index))

    async def select(self, key: Key = None, **given: Unpack[PageOptions]) -> list[R]:
        """Rows of a range; none may come, go or change in it until commit."""
        return self._type.every(await self.plain.select(key, **given))
