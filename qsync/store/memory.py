"""The log and the spaces in memory, with a disk's accidents: the caller says what is lost."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Iterator

from sortedcontainers import SortedDict

from election.messages import Index, Replica, Term
from qsync import record
from qsync.core.logstart import EMPTY, LogStart
from qsync.core.ready import Write
from qsync.errors import Damaged, Rebuilding, StoreError
from qsync.record import CHAIN_SEED
from qsync.store import chain, longkeys, meta, recovery, seals
from qsync.store.contract import (
    NO_BALLOT,
    NOTHING_TRUSTED,
    FoldedRows,
    Identity,
    RecoveredLog,
    Tail,
    Wait,
)
from qsync.store.digest import digest
from qsync.store.memory_rows import MemoryImport, MemoryRowsView
from qsync.store.seals import SealChanges, Sums
from qsync.store.snapshot import RowsImport, SnapshotHead

NOBODY = Identity(cluster="memory", instance="memory", replica=Replica(1), name="memory")
_MORE = b"\xff"  # sorts after every batch: the first byte of an index is never that high


class MemoryLog(chain.EntryReads):
    """See `contract.Log`. A write may be left in flight with `begin`, and `crash` then loses it.

    `fault` is raised by every write while it is set: a disk that fails, or is full.
    """

    def __init__(
        self, *, identity: Identity = NOBODY, wall: Callable[[], float] = lambda: 0.0
    ) -> None:
        """An empty disk."""
        self.identity = identity
        self.last = Index(0)
        self.quarantined: str | None = None
        self.fault: StoreError | None = None
        self._crc = CHAIN_SEED
        self._ballot = NO_BALLOT
        self._wall = wall
        self._records: list[chain.Row] = []
        self._numbers: bytes | None = None
        self._tails: list[Tail] = []
        self._flight: Write | None = None
        self._start = EMPTY

    @property
    def start(self) -> LogStart:
        """Behind which entry it begins."""
        return self._start

    def recover(
        self,
        *,
        trusted: Index = NOTHING_TRUSTED,  # noqa: ARG002 - all of it is cheap
    ) -> RecoveredLog:
        """Verify every entry; see `contract.Recovered` for what becomes of damage."""
        assert self._flight is None
        checked = chain.verify(self._records, start=self._start)
        judged = recovery.judge(self._numbers, checked)
        dropped = self._drop(checked) if judged.torn else 0
        self.quarantined = judged.quarantined
        self.last, self._crc, self._ballot = checked.last, checked.crc, judged.numbers.ballot
        return judged.recovered(checked, identity=self.identity, dropped=dropped, start=self._start)

    def write(self, write: Write) -> None:
        """Write one commit: cut, append, ballot and confirmed. Raises `fault`."""
        self.begin_write(write)
        self.finish()

    def begin_write(self, write: Write) -> None:
        """Put a write in flight: until `finish` the disk has nothing of it."""
        assert self._flight is None
        self._flight = write

    def finish(self) -> None:
        """The write in flight is durable. Raises `fault`, and then nothing of it is."""
        write, self._flight = self._flight, None
        assert write is not None
        if self.quarantined is not None:
            raise Damaged(f"the log takes no writes: {self.quarantined}")
        if self.fault is not None:
            raise self.fault
        self._commit(write)

    @property
    def in_flight(self) -> Write | None:
        """The write that is not durable yet."""
        return self._flight

    def archived(self) -> list[Tail]:
        """The cut tails, oldest first."""
        return list(self._tails)

    def trim(self, start: LogStart) -> None:
        """Forget what is at or below its index; at once, and durably. Raises `fault`."""
        if self.quarantined is not None:
            raise Damaged(f"the log is not trimmed: {self.quarantined}")
        if start.index < self.begins:
            return
        if self.fault is not None:
            raise self.fault
        (entry,) = self.entries(start.index, start.index)
        assert (entry.term, entry.crc) == (start.term, start.crc), start
        at = self._at(start.index)
        _, kept = chain.split(self._records[at][1], after=start.index)
        del self._records[: at + 1]
        if kept:
            self._records.insert(0, (start.index + 1, kept))
        self._start = start

    def begin_at(self, start: LogStart) -> None:
        """Restart the log there; what was not known as confirmed is archived. Raises `fault`."""
        assert self._flight is None
        if self.quarantined is not None:
            raise Damaged(f"the log takes no writes: {self.quarantined}")
        if self.fault is not None:
            raise self.fault
        found = meta.EMPTY if self._numbers is None else meta.unpack(self._numbers)
        assert found is not None
        above = max(found.confirmed, Index(self.begins - 1))
        if above < self.last:
            raw = b"".join(
                each.raw for each in self.batches(Index(above + 1), self.last, bytes_max=1 << 20)
            )
            self._archive(above, raw, self._ballot.term, why=recovery.replaced_by(start))
        self._records, self._start = [], start
        self.last, self._crc = start.index, start.crc
        self._numbers = meta.pack(
            self._ballot, confirmed=start.index, durable=start.index, crc=start.crc
        )

    def start_over(self, *, why: str, untrusted: bool = False) -> None:  # noqa: ARG002 - memory has no place to set aside
        """Begin an empty log; the term and vote stay, unless they were lost."""
        self._records, self._tails, self._numbers = [], [], None
        self._start = EMPTY
        self.last, self._crc, self.quarantined = Index(0), CHAIN_SEED, None
        self.write(recovery.begin_anew(self._ballot, untrusted=untrusted))

    def close(self) -> None:
        """Close it. What was written stays; open again with `recover`."""

    # ------------------------------------------------------------------------------- accidents

    def crash(self, *, landed: bool = False, torn: int | None = None) -> None:
        """Lose the write in flight. Call `recover` next.

        `landed`: it was durable although it was not acked. `torn`: that many bytes of its batch
        were, and nothing else of it (not together with a cut, which is all or nothing).
        """
        write, self._flight = self._flight, None
        if write is None:
            return
        if landed:
            self._commit(write)
        elif torn and write.cut_above is None and write.entries:
            self._records.append((write.entries[0].index, record.encode(write.entries)[:torn]))

    def lose_tail(self, *, above: Index) -> None:
        """The disk lied: what is above `above` is gone though it was said to be durable."""
        there = above >= self.begins
        first, batch = self._records[self._at(above)] if there else (1, b"")
        kept, _ = chain.split(batch, after=above)
        del self._records[self._at(above) if there else 0 :]
        if kept:
            self._records.append((first, kept))

    def damage(self, index: Index, *, bit: int = 0) -> None:
        """Flip a bit of the entry at `index`, counted from its header on."""
        at = self._at(index)
        first, batch = self._records[at]
        before, _ = chain.split(batch, after=index - 1)
        where = len(before) + bit // 8
        flipped = bytes([batch[where] ^ (1 << bit % 8)])
        self._records[at] = (first, batch[:where] + flipped + batch[where + 1 :])

    # ------------------------------------------------------------------------------ the storage

    def _commit(self, write: Write) -> None:
        if write.cut_above is not None and write.cut_above < self.last:
            self._cut(write.cut_above, write)
        if write.entries:
            assert write.entries[0].index == self.last + 1, (write.entries[0].index, self.last)
            assert write.entries[-1].index == self.last + len(write.entries)
            self._records.append((self.last + 1, record.encode(write.entries)))
            self.last, self._crc = write.entries[-1].index, write.entries[-1].crc
        self._ballot = write.ballot
        self._numbers = meta.pack(
            write.ballot, confirmed=write.confirmed, durable=self.last, crc=self._crc
        )

    def _cut(self, above: Index, write: Write) -> None:
        at = self._at(Index(above + 1))
        first, batch = self._records[at]
        kept, cut = chain.split(batch, after=above)
        raw = b"".join([cut, *(later for _, later in self._records[at + 1 :])])
        term, answered = write.ballot.term, write.cut_answered
        self._archive(above, raw, term, why=write.cut_reason, answered=answered)
        del self._records[at:]
        if kept:
            self._records.append((first, kept))
        self.last = above
        there = above >= self.begins
        here = self._records[self._at(above)][1] if there else b""
        self._crc = chain.crc_at(here, above) if there else self._start.crc

    def _archive(
        self, above: Index, raw: bytes, term: Term, *, why: str, answered: int = 0
    ) -> None:
        """Keep everything above `above`."""
        self._tails.append(
            Tail(
                number=len(self._tails) + 1,
                first=Index(above + 1),
                last=self.last,
                term=term,
                time=self._wall(),
                reason=why,
                raw=raw,
                answered=answered,
            )
        )

    def _drop(self, checked: chain.ChainVerification) -> int:
        at = bisect_left(self._records, (checked.at, b""))
        dropped = sum(len(batch) for _, batch in self._records[at:]) - checked.offset
        kept = self._records[at][1][: checked.offset]
        del self._records[at:]
        if kept:
            self._records.append((checked.at, kept))
        return dropped

    def _at(self, index: Index) -> int:
        """The place of the record that holds `index`."""
        return bisect_right(self._records, (index, _MORE)) - 1

    def _rows(self, first: Index) -> Generator[chain.Row, None, None]:
        if first > self.last:
            return
        self._reach(first)
        for at in range(self._at(first), len(self._records)):
            yield self._records[at]


class MemorySpaces:
    """See `contract.Spaces`. `crash` of the machine goes back to nothing, as for LMDB."""

    def __init__(self) -> None:
        """No rows, folded at 0."""
        self.folded = Index(0)
        self._rows: SortedDict[bytes, bytes] = SortedDict()
        self._synced: Index | None = Index(0)
        self._rotten: set[bytes] = set()
        self._import: MemoryImport | None = None

    def get(self, key: bytes) -> bytes | None:
        """The value at `key`."""
        self._check(key)
        return self._rows.get(key)

    def scan(self, lo: bytes, hi: bytes, *, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """The rows with `lo <= key < hi`, as they are now."""
        keys = list(self._rows.irange(lo, hi, inclusive=(True, False), reverse=reverse))
        self._check(*keys)
        return iter([(key, self._rows[key]) for key in keys])

    def fold(self, fold: FoldedRows) -> None:
        """Take the rows and the index at once."""
        assert fold.folded >= self.folded
        for key in fold.deletes:
            self._rows.pop(key, None)
        self._rows.update(fold.puts)
        self._rotten -= {*fold.deletes, *(key for key, _ in fold.puts)}
        self.folded = fold.folded

    def folding(self, fold: FoldedRows, rows_max: int) -> Generator[Wait | None, None, None]:
        """Fold after as many steps as the rows need; nothing is done before the end."""
        for _ in range(0, len(fold.puts) + len(fold.deletes), max(1, rows_max)):
            yield None
        self.fold(fold)

    def sync(self) -> Index:
        """Make what is folded durable; the index up to which it is."""
        self._synced = self.folded
        return self.folded

    def wipe(self) -> None:
        """Forget every row: they are rebuilt from the log."""
        self._rows.clear()
        self._rotten.clear()
        self.folded = self._synced = Index(0)

    @property
    def sums(self) -> Sums:
        """The sums over each group of rows."""
        found, changes = Sums(), SealChanges()
        for key, value in self._rows.items():
            name = longkeys.stored_key(key)
            changes.put(name, seals.seal(name, longkeys.stored_value(key, value)))
        found.add(changes)
        return found

    def scrub(self, rows_max: int) -> bool:  # noqa: ARG002 - memory is looked at in one go
        """Check that all rows are as they were folded. Raises Rebuilding when one is not."""
        self._check(*self._rows)
        return True

    def view(self) -> MemoryRowsView:
        """A copy of all rows."""
        self._check(*self._rows)
        return MemoryRowsView(self._rows.items(), folded=self.folded)

    def importing(self, head: SnapshotHead) -> MemoryImport:
        """Begin, or go on with this very snapshot."""
        if self._import is None or self._import.head != head:
            self._import = MemoryImport(head)
        return self._import

    def install(self, rows: RowsImport) -> None:
        """The rows that were imported take the place of these, durably."""
        assert rows is self._import
        self.wipe()
        self._rows.update(self._import.contents())
        self.folded = self._synced = rows.head.start.index
        self._import = None

    def rot(self, key: bytes) -> None:
        """The row at `key` is not what was stored any more."""
        self._rotten.add(key)

    def _check(self, *keys: bytes) -> None:
        if not self._rotten.isdisjoint(keys):
            raise Rebuilding("the checksum of a row does not hold")

    def digest(self, lo: bytes, hi: bytes) -> str:
        """A hash over the rows with `lo <= key < hi`, in key order."""
        return digest(self.scan(lo, hi))

    def close(self) -> None:
        """Make durable."""
        self.sync()

    def crash(self, *, system: bool) -> None:
        """The process died, or with `system` the machine: then unsynced rows are not trusted."""
        if system and self._synced != self.folded:
            self.wipe()
