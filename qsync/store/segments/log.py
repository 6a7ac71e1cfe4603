"""The log in segments: see `contract.Log`. A write is one record, one `pwrite`, one `fdatasync`."""

import threading
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from election.messages import Index
from qsync import record
from qsync.core.logstart import EMPTY as WHOLE
from qsync.core.logstart import LogStart
from qsync.core.ready import Write
from qsync.errors import Damaged, StoreError
from qsync.record import Crc
from qsync.store import archive, chain, faults, recovery
from qsync.store.chain import ChainVerification
from qsync.store.contract import (
    NOTHING_TRUSTED,
    Identity,
    Opened,
    RecoveredLog,
    Tail,
)
from qsync.store.environment import set_aside
from qsync.store.meta import EMPTY, Meta
from qsync.store.recovery import RecoveredTail
from qsync.store.segments import format as form
from qsync.store.segments.beginning import TAILS, LogBeginning, write_beginning
from qsync.store.segments.files import FIRST_BYTES, SEGMENT_BYTES, release_segments
from qsync.store.segments.format import APPEND, CUT, RecordDraft
from qsync.store.segments.index import SparseIndex
from qsync.store.segments.making import (
    move_up,
    prepare_log,
    prepare_log_behind,
    put_in_place,
    take_place,
)
from qsync.store.segments.reading import RecordReader
from qsync.store.segments.scan import scan_log
from qsync.store.segments.spare import SpareInThread, SpareMaker
from qsync.store.segments.writing import SegmentWriter


class _Making(NamedTuple):
    """How segments are made: sizes of the first one and of the largest, and who fills spares."""

    sizes: tuple[int, int]
    spares: SpareMaker


class _Locks(NamedTuple):
    """`of_index`: held for a moment by a thread that reads or changes it.

    `beginning`: one thread trims, and meanwhile the one that writes may begin at a snapshot.
    """

    of_index: threading.Lock
    beginning: threading.Lock


class SegmentLog(chain.EntryReads):
    """See `contract.PlacedLog`. `last` and `quarantined` hold once `recover` has run."""

    before_commit: Callable[[], None] | None = None
    """Put here by an armed fault point; it may raise OSError."""
    before_beginning: Callable[[], None] | None = None
    """Set by its opener: called before the log begins elsewhere. May raise StoreError."""

    def __init__(
        self,
        path: Path,
        *,
        identity: Identity,
        wall: Callable[[], float] = lambda: datetime.now(UTC).timestamp(),
        sizes: tuple[int, int] = (FIRST_BYTES, SEGMENT_BYTES),
        spares: SpareMaker | None = None,
    ) -> None:
        """DIR/log, created if it is not there. The directory must be locked (see `Directory`).

        `sizes`: of the first segment, and of the largest.
        """
        self.identity = identity
        self.last = Index(0)
        self.quarantined: str | None = None
        self._path = path
        self._wall = wall
        self._making = _Making(sizes, SpareInThread() if spares is None else spares)
        self._numbers: Meta = EMPTY
        self._index = SparseIndex()
        self._locks = _Locks(threading.Lock(), threading.Lock())
        self._writer: SegmentWriter | None = None
        self._log = b""
        """Which one it is; none while it is not open."""
        self._beginning: LogBeginning | None = None
        take_place(path, EMPTY, sizes[0])

    def recover(self, *, trusted: Index = NOTHING_TRUSTED) -> RecoveredLog:
        """Read the log to its end; see `contract.RecoveredLog` for what becomes of damage.

        Of entries up to `trusted` only what is in the last segment is looked at now.
        """
        self.close()
        found = scan_log(self._path, trusted=trusted)
        self._index, self._numbers = found.index, found.numbers
        self.last, self._log = found.index.last, found.log
        self._beginning = found.beginning
        newest = found.newest or EMPTY
        if found.fault is None:
            self.quarantined = None
            dropped = max(0, (found.torn or 0) - found.offset)
            self._writer = SegmentWriter(
                self._path,
                found,
                spares=self._making.spares,
                segment_bytes=self._making.sizes[1],
            )
            self._release()
        else:
            self.quarantined = found.fault
            self._numbers, dropped = newest, 0
        judged = RecoveredTail(
            numbers=EMPTY if found.untrusted else newest,
            quarantined=self.quarantined,
            torn=dropped > 0,
            untrusted=found.untrusted,
        )
        reached = ChainVerification(last=self.last)
        return judged.recovered(reached, identity=self.identity, dropped=dropped, start=self.start)

    @property
    def start(self) -> LogStart:
        """Behind which entry it begins."""
        return WHOLE if self._beginning is None else self._beginning.start

    def write(self, write: Write) -> None:
        """Write one durable commit: cut, append, ballot and confirmed. Raises StoreError."""
        if self.quarantined is not None:
            raise Damaged(f"the log takes no writes: {self.quarantined}")
        assert self._writer is not None, "recover first"
        base, crc, tail = self.last, self._numbers.crc, b""
        cuts = write.cut_above is not None and write.cut_above < base
        if cuts:
            assert write.cut_above is not None
            assert write.cut_above >= self.begins - 1
            tail = self._cut_off(write.cut_above, write)
            base = write.cut_above
            crc = self._crc_at(base)
        last, entries = base, write.entries
        if entries:
            assert entries[0].index == base + 1, (entries[0].index, base)
            last, crc = entries[-1].index, entries[-1].crc
            assert last == base + len(entries), (last, base, len(entries))
        now = Meta(ballot=write.ballot, confirmed=write.confirmed, durable=last, crc=crc)
        draft = RecordDraft(
            kind=CUT if cuts else APPEND,
            above=base,
            numbers=form.pack_numbers(now),
            payload=tail + record.encode(entries),
            tail_length=len(tail),
        )
        self._commit(draft, now)

    def _commit(self, draft: RecordDraft, now: Meta) -> None:
        assert self._writer is not None
        place = self._writer.append(draft, self._numbers, self.before_commit)
        with self._locks.of_index:
            self._index.add_record(
                place, above=draft.above, last=now.durable, tail=draft.tail_length > 0
            )
        self._numbers = now
        self.last = now.durable

    def archived(self) -> list[Tail]:
        """The cut tails, oldest first."""
        with self._locks.of_index:
            places, former = list(self._index.tails), self._former_tails
        found = [each for each in archive.load_all(self._path / TAILS) if each.number <= former]
        with self._reader() as reader:
            tails = [reader.tail(place) for place in places]
        return found + [
            archive.unpack(number, tail) for number, tail in enumerate(tails, former + 1)
        ]

    @property
    def _former_tails(self) -> int:
        """The number of tails in segments that are gone, or in a log before this one."""
        return 0 if self._beginning is None else self._beginning.tails

    def trim(self, start: LogStart) -> None:
        """Let the log begin behind `start`; see `contract.Log.trim`."""
        with self._locks.beginning:
            if self.quarantined is not None:
                raise Damaged(f"the log is not trimmed: {self.quarantined}")
            assert self._writer is not None, "recover first"
            if start.index < self.begins:
                return
            (entry,) = self.entries(start.index, start.index)
            assert (entry.term, entry.crc) == (start.term, start.crc), start
            with self._locks.of_index:
                first = self._index.plan(start.index + 1).begin.number
                going = self._index.tails_below(first)
            tails = self._former_tails + going
            if self.before_beginning is not None:
                self.before_beginning()
            try:
                archive.export(
                    (each for each in self.archived() if each.number <= tails), self._path / TAILS
                )
                beginning = LogBeginning(self._log, first, tails, start)
                write_beginning(self._path, beginning)
            except OSError as error:
                raise faults.typed(error, self._path) from error
            with self._locks.of_index:
                self._index.forget_below(first)
                self._beginning = beginning
            self._writer.keeps = first
            self._release()

    def _release(self) -> None:
        """Remove segments below the first valid one; the next start continues if interrupted."""
        if self._beginning is not None and self._writer is not None:
            try:
                freed = release_segments(self._path, below=self._beginning.first)
            except OSError as error:
                raise faults.typed(error, self._path) from error
            self._writer.bytes_freed += freed

    def begin_at(self, start: LogStart) -> None:
        """Restart the log after `start`; see `contract.Log.begin_at`."""
        with self._locks.beginning:
            if self.quarantined is not None:
                raise Damaged(f"the log takes no writes: {self.quarantined}")
            tails = self.archived()
            above = max(self._numbers.confirmed, Index(self.begins - 1))
            if above < self.last:
                tails.append(self._tail_above(above, len(tails) + 1, start))
            anew = Meta(
                ballot=self._numbers.ballot,
                confirmed=start.index,
                durable=start.index,
                crc=start.crc,
            )
            if self.before_beginning is not None:
                self.before_beginning()
            prepare_log_behind(self._path, anew, self._making.sizes[0], start=start, tails=tails)
            self.close()
            try:
                put_in_place(self._path)
            finally:
                self.recover()

    def start_over(self, *, why: str, untrusted: bool = False) -> None:
        """Set the log aside and begin an empty one; see `contract.Log.start_over`."""
        ballot = recovery.begin_anew(self._numbers.ballot, untrusted=untrusted).ballot
        anew = replace(EMPTY, ballot=ballot)
        prepare_log(self._path, anew, self._making.sizes[0])
        self.close()
        try:
            set_aside(self._path, why=why)
            move_up(self._path)
        finally:
            self.recover()

    def bytes_used(self) -> int:
        """The bytes that the log takes of the disk."""
        writer = self._writer
        return 0 if writer is None else writer.bytes_used - writer.bytes_freed

    @property
    def opened(self) -> Opened:
        """The folder that it is in: segments come and go."""
        return _opened(self._path) if self._writer is None else self._writer.opened

    def gone(self) -> str | None:
        """Why what is written now would not be found by a restart; None when all is well."""
        return None if self._writer is None else self._writer.gone()

    def close(self) -> None:
        """Release everything."""
        self._log = b""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def _rows(self, first: Index) -> Generator[chain.Row, None, None]:
        """Return what counts of the records from the one with `first` on. Raises Compacted."""
        if first > self.last:
            return
        self._reach(first)
        with self._locks.of_index:
            plan = self._index.plan(first)
        with self._reader() as reader:
            try:
                yield from reader.rows(plan, first)
            except StoreError:
                self._reach(first)  # it was trimmed while it was read
                raise

    def _reader(self) -> "closing[RecordReader]":
        if not self._log:
            raise StoreError(f"{self._path} is not open")
        return closing(RecordReader(self._path, self._log))

    def _crc_at(self, index: Index) -> Crc:
        """The checksum of entry `index`."""
        if index < self.begins:
            return self.start.crc
        return self.entries(index, index)[0].crc

    def _cut_off(self, above: Index, write: Write) -> bytes:
        """Return everything above `above`, as the archive keeps it."""
        with self._locks.of_index:
            number = self._former_tails + len(self._index.tails) + 1
        return archive.pack(
            Tail(
                number=number,
                first=Index(above + 1),
                last=self.last,
                term=write.ballot.term,
                time=self._wall(),
                reason=write.cut_reason,
                raw=self._raw_above(above),
                answered=write.cut_answered,
            )
        )

    def _tail_above(self, above: Index, number: int, start: LogStart) -> Tail:
        """Return what a log that begins elsewhere leaves of this one: what was not confirmed."""
        return Tail(
            number=number,
            first=Index(above + 1),
            last=self.last,
            term=self._numbers.ballot.term,
            time=self._wall(),
            reason=recovery.replaced_by(start),
            raw=self._raw_above(above),
        )

    def _raw_above(self, above: Index) -> bytes:
        parts, size = list[bytes](), 0
        for each in self.batches(Index(above + 1), self.last, bytes_max=1 << 20):
            parts.append(each.raw)
            size += len(each.raw)
            form.check_length(size, self._path)  # before it is all in memory
        return b"".join(parts)


def _opened(path: Path) -> Opened:
    try:
        there = path.stat()
    except OSError as error:
        raise faults.typed(error, path) from error
    return Opened(device=there.st_dev, inode=there.st_ino)
