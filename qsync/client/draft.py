"""The writes and reads of a transaction so far, for both surfaces."""

from dataclasses import replace

from election.messages import Position
from qsync.client import calls, operations, options, retry_policy
from qsync.client.arguments import count_of
from qsync.client.calls import Basis, ClientCall, KeyRange
from qsync.client.numbering import SEED_BYTES, Token
from qsync.client.operations import Operation
from qsync.client.options import Changes, WriteOptions
from qsync.client.pending_request import PendingRequest
from qsync.client.rows import Key, Receipt, Values, key_of, named
from qsync.data.operation_kinds import ReadKind
from qsync.errors import Outcome, QsyncError
from qsync.wire.verbs import Name, WriteRequest


class NoTransaction(QsyncError):
    """A transaction is open that should not be, or none is open that should be."""

    code = "TRANSACTION"
    number = 78


class TransactionDraft:
    """The writes and reads of a transaction so far."""

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
        """Session and number of the commit; None before, and while its session has no name."""
        sent = None if self._ask is None else self._ask.request
        if isinstance(sent, WriteRequest) and len(sent.session) > SEED_BYTES:
            return str(Token(sent.session, sent.seq))
        return None

    def write(self, operation: Operation) -> None:
        """Add an operation."""
        self.check()
        self.ops.append(operation)

    def cut(self, count: int) -> None:
        """Drop what was written after the first `count` operations; what was read stays read."""
        self.check()
        del self.ops[count_of("size", count) :]

    def take_back(self, operation: Operation) -> None:
        """Drop this operation, wherever it is: other tasks may have written or cut meanwhile."""
        places = [at for at, each in enumerate(self.ops) if each is operation]
        if places and not self.over:  # what is being committed stays as it was sent
            del self.ops[places[-1]]

    def check(self) -> None:
        """Check that the transaction is open. Raises NoTransaction, with its outcome."""
        if self.over:
            error = NoTransaction("the transaction is over", hint="begin another one")
            error.outcome = self._outcome()
            raise error

    def saw_key(self, space: Name, index: Name, key: Key, seen: Position) -> None:
        """Note that a tuple was read at an index; it must not change until the commit."""
        self.saw([ReadKind.KEY, space, index, key_of(key)], seen)

    def saw_range(self, space: Name, which: KeyRange, seen: Position) -> None:
        """Note that a range was read: no tuple in it may come, go or change until the commit."""
        self.saw([ReadKind.RANGE, space, which.index, which.iterator, which.key], seen)

    def saw(self, read: list[object], seen: Position) -> None:
        """Note that something was read at an index of the log."""
        if read not in self._reads:
            self._reads.append(read)
        self._looks += 1
        if seen not in self._seen:
            self._seen.append(seen)

    def end(self, given: WriteOptions) -> ClientCall[Receipt] | None:
        """Return the options of the commit; None when nothing can go wrong without one."""
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

    def _outcome(self) -> Outcome:
        if self.receipt is not None:
            return Outcome.COMMITTED
        if self._ask is None:
            return Outcome.ROLLED_BACK
        return Outcome.UNKNOWN if self._ask.error is None else self._ask.error.outcome

    def _basis(self) -> Basis:
        """Return what the commit rests on: all reads must be as they were at the oldest place.

        Asynchronous data may be cut off after it was read; the same index may then be another
        entry, so every place is named by its term, too.
        """
        oldest = min((each.index for each in self._seen), default=0)
        places: list[list[object]] = [
            [ReadKind.LOG_POSITION, each.index, each.term] for each in self._seen
        ]
        return Basis(snapshot=oldest, reads=[*places, *self._reads])


class SpaceWrites:
    """Operations on a space inside of a transaction: kept until the commit."""

    def __init__(self, draft: TransactionDraft, name: Name) -> None:
        self.name = named(name)
        self._draft = draft

    def insert(self, row: Values) -> None:
        """A new tuple; DuplicateKey at commit if its key is taken."""
        self._draft.write(operations.insert(self.name, row))

    def replace(self, row: Values) -> None:
        """Insert a tuple, or replace the one with its key."""
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


def retryable(error: QsyncError) -> bool:
    """Return whether the whole transaction may be tried again: nothing of it was done.

    What its calls met again and again until their time was over is met by the next one, too.
    """
    undone = error.retryable and error.outcome is Outcome.ROLLED_BACK
    return undone and not retry_policy.is_repeated(error)
