"""Transactions over several operations: collected here, sent at the end, validated by the leader.

Reads inside see what the transaction has written so far. At commit the leader refuses with
Conflict, and writes nothing, if anything that was read has changed: they are serializable.
"""

from dataclasses import replace
from types import TracebackType
from typing import Self, Unpack

from election.messages import Position
from qsync.client import calls, operations, options
from qsync.client.asks import PendingRequest
from qsync.client.calls import Basis, ClientCall, KeyRange
from qsync.client.numbering import Token
from qsync.client.operations import Operation
from qsync.client.options import AsyncRunner, BlockingRunner, Changes, RangeOptions, WriteOptions
from qsync.client.rows import Key, Receipt, Row, Values, key_of
from qsync.data.request import ReadKind
from qsync.errors import QsyncError, RolledBack
from qsync.wire.verbs import Name, WriteRequest


class TransactionDraft:
    """What a transaction has written and read so far."""

    def __init__(self, given: WriteOptions) -> None:
        self.ops: list[Operation] = []
        self.receipt: Receipt | None = None
        self.over = False
        self.timeout = given.get("timeout")
        self._given = given
        self._commit = options.commit_of(given)
        self._reads: list[list[object]] = []
        self._seen: list[Position] = []
        self._looks = 0
        self._ask: PendingRequest | None = None

    @property
    def token(self) -> str | None:
        """Session and number of the commit; None before."""
        sent = None if self._ask is None else self._ask.request
        return str(Token(sent.session, sent.seq)) if isinstance(sent, WriteRequest) else None

    def write(self, operation: Operation) -> None:
        """Add an operation."""
        self.check()
        self.ops.append(operation)

    def check(self) -> None:
        """Raises when the transaction is over."""
        if self.over:
            raise RolledBack("the transaction is over", hint="begin another one")

    def saw(self, read: list[object], seen: Position) -> None:
        """Something was read of a log that had come so far."""
        if read not in self._reads:
            self._reads.append(read)
        self._looks += 1
        if seen not in self._seen:
            self._seen.append(seen)

    def end(self, given: WriteOptions) -> ClientCall[Receipt] | None:
        """How to commit; None when there is nothing that could go wrong."""
        self.check()
        if given:
            self.timeout = given.get("timeout", self.timeout)
            self._commit = options.commit_of({**self._given, **given})
        self.over = True
        # One look is true by itself. Two must be of one moment, be they at the same tuple.
        if self.ops or self._looks > 1:
            return replace(calls.write(self.ops, self._commit, self._basis()), begun=self._begun)
        return None

    def _begun(self, ask: PendingRequest) -> None:
        self._ask = ask

    def _basis(self) -> Basis:
        """What was read must be as it was at the oldest of all places, in a log that has them all.

        Asynchronous data may be cut off after it was read; the same index may then be another
        entry, so every place is named by its term, too.
        """
        oldest = min((each.index for each in self._seen), default=0)
        places: list[list[object]] = [
            [ReadKind.LOG_POSITION, each.index, each.term] for each in self._seen
        ]
        return Basis(snapshot=oldest, reads=[*places, *self._reads])


class Transaction:
    """`with db.transaction() as tx:` commits at the end, or drops everything on an exception."""

    def __init__(self, runner: BlockingRunner, given: WriteOptions) -> None:
        self._runner = runner
        self._draft = TransactionDraft(given)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._draft.over:
            return
        if kind is None:
            self.commit()
        else:
            self.rollback()

    def space(self, name: Name) -> "TransactionSpace":
        """A space inside of the transaction."""
        return TransactionSpace(self._runner, self._draft, name)

    def commit(self, **given: Unpack[WriteOptions]) -> Receipt | None:
        """Send it. The receipt is None when it wrote nothing and read at most once.

        Options given here count instead of those that the transaction began with.
        """
        call = self._draft.end(given)
        if call is not None:
            self._draft.receipt = self._runner.run(call, timeout=self._draft.timeout)
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
        """Session and number of the commit, whatever became of it; None before. Logs have it."""
        return self._draft.token


class SpaceWrites:
    """Operations on a space inside of a transaction: kept until the commit."""

    def __init__(self, draft: TransactionDraft, name: Name) -> None:
        self.name = name
        self._draft = draft

    def insert(self, row: Values) -> None:
        """A new tuple; DuplicateKey at commit if its key is taken."""
        self._draft.write(operations.insert(self.name, row))

    def replace(self, row: Values) -> None:
        """A tuple, in the place of the one with its key."""
        self._draft.write(operations.replace(self.name, row))

    def update(self, key: Key, changes: Changes, *, index: Name = 0) -> None:
        """Change fields of one tuple."""
        self._draft.write(operations.update(self.name, key, changes, index))

    def upsert(self, row: Values, changes: Changes) -> None:
        """Insert the tuple, or change the one that is there."""
        self._draft.write(operations.upsert(self.name, row, changes))

    def delete(self, key: Key, *, index: Name = 0) -> None:
        """Take one tuple away."""
        self._draft.write(operations.delete(self.name, key, index))

    def require(self, key: Key, row: Values | None, *, index: Name = 0) -> None:
        """The tuple must be this one (None: absent) at this point, else Conflict at commit."""
        self._draft.write(operations.require(self.name, key, row, index))

    def require_exists(self, key: Key, *, exists: bool = True, index: Name = 0) -> None:
        """A tuple must (not) be there at this point, else Conflict at commit."""
        self._draft.write(operations.require_exists(self.name, key, exists=exists, index=index))


class TransactionSpace(SpaceWrites):
    """A space inside of a blocking transaction."""

    def __init__(self, runner: BlockingRunner, draft: TransactionDraft, name: Name) -> None:
        super().__init__(draft, name)
        self._runner = runner

    def get(self, key: Key, *, index: Name = 0) -> Row | None:
        """One tuple, with what this transaction has written; it must not change until commit."""
        self._draft.check()
        call = calls.get_at(self.name, key, index, self._draft.ops)
        row, seen = self._runner.run(call, timeout=self._draft.timeout)
        self._draft.saw([ReadKind.KEY, self.name, index, key_of(key)], seen)
        return row

    def select(self, key: Key = None, **given: Unpack[RangeOptions]) -> list[Row]:
        """Tuples of a range; none may come, go or change in it until commit."""
        self._draft.check()
        which = options.which(key, given)
        call = calls.select_at(self.name, which, self._draft.ops)
        rows, seen = self._runner.run(call, timeout=self._draft.timeout)
        self._draft.saw(_range_read(self.name, which), seen)
        return rows


class AsyncTransaction:
    """`async with db.transaction() as tx:`; writes are collected without `await`."""

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

    def space(self, name: Name) -> "AsyncTransactionSpace":
        """A space inside of the transaction."""
        return AsyncTransactionSpace(self._runner, self._draft, name)

    async def try_write(self, operation: Operation) -> None:
        """Add an operation unless the leader would refuse it now; raises its refusal.

        The others just collect, and a refusal comes at commit; this costs a round trip each.
        """
        await tried(self._runner, self._draft, operation)

    @property
    def size(self) -> int:
        """How many operations it has so far."""
        return len(self._draft.ops)

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
        """Session and number of the commit, whatever became of it; None before. Logs have it."""
        return self._draft.token


async def tried(runner: AsyncRunner, draft: TransactionDraft, operation: Operation) -> None:
    """Add an operation, but only if the leader could do it now after those before it.

    Raises what the commit would raise; the transaction goes on without the operation.
    """
    draft.write(operation)
    nothing = calls.range_of(None, limit=0)
    try:
        await runner.run(calls.select_at(_SPACES, nothing, draft.ops), timeout=draft.timeout)
    except QsyncError:
        draft.ops.pop()
        raise


_SPACES = "_space"
"""A space that is always there."""


class AsyncTransactionSpace(SpaceWrites):
    """A space inside of an async transaction: reads with `await`, writes without."""

    def __init__(self, runner: AsyncRunner, draft: TransactionDraft, name: Name) -> None:
        super().__init__(draft, name)
        self._runner = runner

    async def get(self, key: Key, *, index: Name = 0) -> Row | None:
        """One tuple, with what this transaction has written; it must not change until commit."""
        self._draft.check()
        call = calls.get_at(self.name, key, index, self._draft.ops)
        row, seen = await self._runner.run(call, timeout=self._draft.timeout)
        self._draft.saw([ReadKind.KEY, self.name, index, key_of(key)], seen)
        return row

    async def select(self, key: Key = None, **given: Unpack[RangeOptions]) -> list[Row]:
        """Tuples of a range; none may come, go or change in it until commit."""
        self._draft.check()
        which = options.which(key, given)
        call = calls.select_at(self.name, which, self._draft.ops)
        rows, seen = await self._runner.run(call, timeout=self._draft.timeout)
        self._draft.saw(_range_read(self.name, which), seen)
        return rows


def _range_read(space: Name, which: KeyRange) -> list[object]:
    return [ReadKind.RANGE, space, which.index, which.iterator, which.key]


def retryable(error: QsyncError) -> bool:
    """May the whole transaction be tried again? Surely nothing of it was done."""
    return error.retryable and error.outcome.value == "rolled_back"
