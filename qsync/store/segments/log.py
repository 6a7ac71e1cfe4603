"""The log in segments: see `contract.Log`. A write is one record, one `pwrite`, one `fdatasync`."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from election.messages import Index
from qsync import record
from qsync.core.ready import Write
from qsync.errors import Damaged, StoreError
from qsync.record import CHAIN_SEED, Crc
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
from qsync.store.segments.files import FIRST_BYTES, SEGMENT_BYTES
from qsync.store.segments.format import APPEND, CUT, RecordDraft
from qsync.store.segments.index import SparseIndex
from qsync.store.segments.making import move_up, prepare_log, take_place
from qsync.store.segments.reading import RecordReader
from qsync.store.segments.scan import scan_log
from qsync.store.segments.spare import SpareInThread, SpareMaker
from qsync.store.segments.writing import SegmentWriter


class SegmentLog(chain.EntryReads):
    """See `contract.PlacedLog`. `last` and `quarantined` hold once `recover` has run."""

    before_commit: Callable[[], None] | None = None
    """Put here by an armed fault point; it may raise OSError."""

    def __init__(
        self,
        path: Path,
        *,
        identity: Identity,
        wall: Callable[[], float] = lambda: datetime.now(UTC).timestamp(),
        sizes: tuple[int, int] = (FIRST_BYTES, SEGMENT_BYTES),
        spares: SpareMaker | None = None,
    ) -> None:
        """DIR/log, which is made if there is none. The directory must be locked (see `Directory`).

        `sizes`: of the first segment, and of the largest.
        """
        self.identity = identity
        self.last = Index(0)
        self.quarantined: str | None = None
        self._path = path
        self._wall = wall
        self._sizes = sizes
        self._spares: SpareMaker = SpareInThread() if spares is None else spares
        self._numbers: Meta = EMPTY
        self._index = SparseIndex()
        self._moving = threading.Lock()
        self._writer: SegmentWriter | None = None
        self._log = b""
        """Which one it is; none while it is not open."""
        take_place(path, EMPTY, sizes[0])

    def recover(self, *, trusted: Index = NOTHING_TRUSTED) -> RecoveredLog:
        """Read the log to its end; see `contract.RecoveredLog` for what becomes of damage.

        Of entries up to `trusted` only what is in the last segment is looked at now.
        """
        self.close()
        found = scan_log(self._path, trusted=trusted)
        self._index, self._numbers = found.index, found.numbers
        self.last, self._log = found.index.last, found.log
        newest = found.newest or EMPTY
        if found.fault is None:
            self.quarantined = None
            dropped = max(0, (found.torn or 0) - found.offset)
            self._writer = SegmentWriter(
                self._path, found, spares=self._spares, segment_bytes=self._sizes[1]
            )
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
        return judged.recovered(reached, identity=self.identity, dropped=dropped)

    def write(self, write: Write) -> None:
        """One durable commit: cut, append, ballot and confirmed. Raises StoreError."""
        if self.quarantined is not None:
            raise Damaged(f"the log takes no writes: {self.quarantined}")
        assert self._writer is not None, "recover first"
        base, crc, tail = self.last, self._numbers.crc, b""
        cuts = write.cut_above is not None and write.cut_above < base
        if cuts:
            assert write.cut_above is not None
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
        with self._moving:
            self._index.add_record(
                place, above=draft.above, last=now.durable, tail=draft.tail_length > 0
            )
        self._numbers = now
        self.last = now.durable

    def archived(self) -> list[Tail]:
        """The cut tails, oldest first."""
        with self._moving:
            places = list(self._index.tails)
        with self._reader() as reader:
            tails = [reader.tail(place) for place in places]
        return [archive.unpack(number, tail) for number, tail in enumerate(tails, 1)]

    def start_over(self, *, why: str, untrusted: bool = False) -> None:
        """Set the log aside and begin an empty one; see `contract.Log.start_over`."""
        ballot = recovery.begin_anew(self._numbers.ballot, untrusted=untrusted).ballot
        anew = replace(EMPTY, ballot=ballot)
        prepare_log(self._path, anew, self._sizes[0])
        self.close()
        try:
            set_aside(self._path, why=why)
            move_up(self._path)
        finally:
            self.recover()

    def bytes_used(self) -> int:
        """How much of the disk the log takes."""
        return 0 if self._writer is None else self._writer.bytes_used

    @property
    def opened(self) -> Opened:
        """Of the folder that it is in: segments come and go."""
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

    def _rows(self, first: Index) -> Iterator[chain.Row]:
        """What counts of the records from the one on that holds `first`."""
        if first > self.last:
            return
        with self._moving:
            plan = self._index.plan(first)
        with self._reader() as reader:
            yield from reader.rows(plan, first)

    def _reader(self) -> "closing[RecordReader]":
        if not self._log:
            raise StoreError(f"{self._path} is not open")
        return closing(RecordReader(self._path, self._log))

    def _crc_at(self, index: Index) -> Crc:
        """The checksum of entry `index`."""
        return self.entries(index, index)[0].crc if index else CHAIN_SEED

    def _cut_off(self, above: Index, write: Write) -> bytes:
        """Everything above `above` as the archive keeps it."""
        parts, size = list[bytes](), 0
        for each in self.batches(Index(above + 1), self.last, bytes_max=1 << 20):
            parts.append(each.raw)
            size += len(each.raw)
            form.check_length(size, self._path)  # before it is all in memory
        with self._moving:
            number = len(self._index.tails) + 1
        return archive.pack(
            Tail(
                number=number,
                first=Index(above + 1),
                last=self.last,
                term=write.ballot.term,
                time=self._wall(),
                reason=write.cut_reason,
                raw=b"".join(parts),
                answered=write.cut_answered,
            )
        )


def _opened(path: Path) -> Opened:
    try:
        there = path.stat()
    except OSError as error:
        raise faults.typed(error, path) from error
    return Opened(device=there.st_dev, inode=there.st_ino)
