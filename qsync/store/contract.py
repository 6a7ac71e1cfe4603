"""The contract of a store: in segments and LMDB for nodes, in memory for tests and simulation."""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from election.messages import Ballot, Index, Replica, Term
from qsync.core.logstart import EMPTY, LogStart
from qsync.core.ready import Write
from qsync.member import Members
from qsync.record import Entry
from qsync.store.seals import Sums
from qsync.store.snapshot import RowsImport, RowsView, SnapshotHead

NO_BALLOT = Ballot(term=Term(0), vote=None, member=True)
"""The ballot of a new directory. Whatever ran under its replica id before was another instance, so
there is nothing that this one can have forgotten (membership.md M5)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The identity of a directory. `cluster`, `instance` and `replica` never change once written.

    `founders`: the members that the cluster was founded with, each with the instance of its
    directory; none in a directory that was not there then (membership.md M1 c).
    """

    cluster: str
    instance: str
    replica: Replica
    name: str
    founders: Members = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredLog:
    """The content of a log when it is opened.

    `quarantined` says what is damaged at or below the durable mark; such a log can be read up to
    `last` but takes no writes until `start_over`. `untrusted`: with it term and vote are lost, so
    the directory is a new instance (membership.md M5 a). `dropped_tail` counts the bytes of a torn
    record above the mark, which was never acked.
    """

    ballot: Ballot
    confirmed: Index
    last: Index
    identity: Identity
    quarantined: str | None = None
    untrusted: bool = False
    dropped_tail: int = 0
    start: LogStart = EMPTY
    """Behind which entry the log begins; EMPTY when it was never trimmed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryBatch:
    """Entries `first..last` back to back, as stored and sent."""

    first: Index
    last: Index
    raw: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """Entries cut off the log and kept. `term` is the one in which they were cut."""

    number: int
    first: Index
    last: Index
    term: Term
    time: float
    reason: str
    raw: bytes
    answered: int = 0
    """How many of the entries were asynchronous transactions that had been shown here."""


NOTHING_TRUSTED = Index(0)


class Log(Protocol):
    """The log, the ballot and the archive of cut tails. One thread writes, another may read."""

    @property
    def last(self) -> Index:
        """The last durable index."""

    @property
    def start(self) -> LogStart:
        """Behind which entry it begins; EMPTY while it was never trimmed."""

    def recover(self, *, trusted: Index = NOTHING_TRUSTED) -> RecoveredLog:
        """Verify it and drop a torn tail that was never acked. Call once, first.

        Entries up to `trusted` are in rows that verify: they may be verified later, when they are
        read. Reading what does not verify raises Damaged.
        """

    def write(self, write: Write) -> None:
        """Write one durable commit: cut, append, ballot, confirmed. Whole, or raises StoreError."""

    def stored(self) -> Iterator[bytes]:
        """Return every entry behind `start` in order, as it is stored, some at a time."""

    def entries(self, first: Index, last: Index) -> list[Entry]:
        """The entries `first..last`; none when `last` is below `first`.

        This and the next two raise Compacted when the log does not reach back to `first`.
        """

    def batches(self, first: Index, last: Index, *, bytes_max: int) -> Iterator[EntryBatch]:
        """`first..last` in batches of at most `bytes_max`, or of one entry that is larger."""

    def read(self, first: Index, *, bytes_max: int) -> bytes:
        """From the start of a stored record with `first` in it: whole records, at least one.

        They make one batch, of about `bytes_max`; it is empty when `first` is above `last`.
        """

    def archived(self) -> list[Tail]:
        """The cut tails, oldest first."""

    def trim(self, start: LogStart) -> None:
        """Let the log begin behind `start`: what is at or below its index may go.

        That is an entry of this log, folded, the fold flushed, and a snapshot of it on the disk
        (membership.md M6 f, g). `start` is durable before anything goes. Cut tails stay archived.
        Another thread may write and read meanwhile. Raises StoreError; again, it goes on.
        """

    def begin_at(self, start: LogStart) -> None:
        """Restart the log after `start`, an entry that it does not have (membership.md M6 c).

        All of it or nothing. Ballot and archive stay, what was not known as confirmed is archived
        as a tail, and `start` counts as confirmed. No thread writes or reads meanwhile.
        """

    def start_over(self, *, why: str, untrusted: bool = False) -> None:
        """Set the log aside and begin an empty one.

        Term and vote stay, and it is no member until it has caught up. `untrusted`: they were lost,
        too, so that the log is the one of a new directory.
        """

    def close(self) -> None:
        """Release everything. What was written stays written."""


Wait = Callable[[], int]
"""What a step leaves to be called before the next one, in another thread if need be: it may take
long, and touches nothing that others use. Its result says nothing. The next step does it if nobody
has; an error is raised there."""


class FoldedRows(Protocol):
    """Rows for the folded spaces, and the index at which they hold (see qsync.data)."""

    @property
    def folded(self) -> Index:
        """The index up to which everything is in the rows."""

    @property
    def puts(self) -> Sequence[tuple[bytes, bytes]]:
        """Keys and their new values; in key order they are written fastest."""

    @property
    def deletes(self) -> Sequence[bytes]:
        """Keys that are no more; a key that was never there is fine."""


class Spaces(Protocol):
    """The folded spaces: an ordered map of physical keys, exact at index `folded`.

    A row that is not what was folded is never given out: `Rebuilding` is raised, and then `wipe`
    and the log rebuild all of them.
    """

    @property
    def folded(self) -> Index:
        """The index at which the rows hold."""

    def get(self, key: bytes) -> bytes | None:
        """The value at `key`."""

    def scan(self, lo: bytes, hi: bytes, *, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """The rows with `lo <= key < hi`, in order."""

    def fold(self, fold: FoldedRows) -> None:
        """Take the rows and the index in one transaction, lazily durable."""

    def folding(self, fold: FoldedRows, rows_max: int) -> Generator[Wait | None, None, None]:
        """Fold in steps of that many rows, some of them to be waited for (see `Wait`).

        Reads between steps do not see it.

        Left half-way, nothing was done. Only one at a time, and nothing else is written meanwhile.
        """

    def sync(self) -> Index:
        """Make what is folded durable; the index up to which it is."""

    def wipe(self) -> None:
        """Forget every row: they are rebuilt from the log."""

    @property
    def sums(self) -> Sums:
        """The sums over the rows of each space at index `folded`; every fold keeps them."""

    def view(self) -> RowsView:
        """Return all rows as they are now; close it soon, for it keeps what is overwritten."""

    def importing(self, head: SnapshotHead) -> RowsImport:
        """Begin to take the rows of a snapshot beside these, or go on. Only one at a time."""

    def install(self, rows: RowsImport) -> None:
        """Rows whose import is finished take the place of these, all of them, durably."""

    def scrub(self, rows_max: int) -> bool:
        """Check that many further rows; true when all were checked, and the next call begins again.

        Folds in between are fine. Raises Rebuilding when a row was changed, lost or added.
        """

    def digest(self, lo: bytes, hi: bytes) -> str:
        """A hash over the rows with `lo <= key < hi`, in key order."""

    def close(self) -> None:
        """Make durable and release."""


class StoreDirectory(Protocol):
    """The directory of a node: locked as long as it is open."""

    identity: Identity
    path: Path
    format: int
    """The version of its layout."""

    def close(self) -> None:
        """Let others have it."""


class Opened(NamedTuple):
    """How often a log was opened, and the device and inode of its open file."""

    times: int = 1
    device: int = 0
    inode: int = 0


class PlacedLog(Log, Protocol):
    """A log that is somewhere, and can be lost from there."""

    identity: Identity
    before_commit: Callable[[], None] | None
    """Called in the thread that writes; for fault points."""

    @property
    def opened(self) -> Opened:
        """The file that the log is in."""

    def gone(self) -> str | None:
        """Why it is not where it was any more; None while it is."""

    def bytes_used(self) -> int:
        """The bytes that it takes of its place."""


class PlacedSpaces(Spaces, Protocol):
    """Spaces that are somewhere."""

    rebuilt: str | None
    """Why the rows were rebuilt when they were opened."""

    def bytes_used(self) -> int:
        """The bytes that they take of their place."""
