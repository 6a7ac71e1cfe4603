"""The end of the log: where the next record goes, and how it gets on the disk."""

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from qsync.errors import DirectoryGone
from qsync.store import faults
from qsync.store.contract import Opened
from qsync.store.environment import identity_of, sync_directory
from qsync.store.meta import Meta
from qsync.store.segments import format as form
from qsync.store.segments.files import (
    GROWTH,
    MARK,
    SEGMENT_BYTES,
    SPARE,
    place_segment,
    retire_segment,
    segment_path,
    write_whole,
)
from qsync.store.segments.format import END, HEAD_SIZE, SECTOR, RecordDraft, SegmentHeader
from qsync.store.segments.index import RecordPlace
from qsync.store.segments.scan import LogScan
from qsync.store.segments.spare import SpareMaker


@dataclass(slots=True, kw_only=True)
class LogEnd:
    """The end of the log: the next record goes to `offset` of segment `number`.

    `former`: what stands in the sector before it, by which the file is known again.
    """

    log: bytes
    number: int
    size: int
    offset: int
    sequence: int
    former: bytes
    seed: int
    path: str
    """As text: it is looked at before every write."""
    file: tuple[int, int]


class SegmentWriter:
    """Appends records, one at a time, each with one write and one flush.

    After a fault the file is reopened, and must be the same one; what may be there of
    the record that failed is overwritten with zeros, and flushed, before anything else is written.
    """

    def __init__(
        self,
        folder: Path,
        found: LogScan,
        *,
        spares: SpareMaker,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        """Open what was scanned. Zeroes what is left of a torn record. Raises StoreError."""
        self.opened = Opened(times=0)
        self.bytes_used = self.bytes_freed = 0
        self.keeps = found.first
        """The first valid segment; set by trimming, in any thread."""
        self._folder = folder
        self._spares = spares
        self._segment_bytes = segment_bytes
        self._handle = self._mark = -1
        self._suspect = 0
        self._end = LogEnd(
            log=found.log,
            number=found.number,
            size=found.size,
            offset=found.offset,
            sequence=found.sequence,
            former=b"",
            seed=form.salt(found.log, found.number),
            path=str(segment_path(folder, found.number)),
            file=(0, 0),
        )
        try:
            self._open(create=True)
            self._make_sure(found)
            if found.torn is not None:
                self._blank(found.torn)
            if found.unbegun is not None:
                retire_segment(folder, found.unbegun)
            self._end.former, self._end.file = self._former(), self._file()
            self.bytes_used = sum(each.stat().st_size for each in folder.iterdir())
        except OSError as error:
            self._close()
            raise faults.typed(error, folder) from error

    def append(
        self, draft: RecordDraft, numbers: Meta, before: Callable[[], None] | None
    ) -> RecordPlace:
        """Write a record and flush it; where it stands. `numbers`: those in force before it.

        `before` is called first. Raises StoreError, and then nothing of it counts.
        """
        self._stay()
        form.check_length(len(draft.payload), self._folder)
        try:
            if self._suspect:
                self._reopen()
            if before is not None:
                before()
            return self._append(draft, numbers)
        except OSError as error:
            self._suspect = max(self._suspect, self._end.offset + SECTOR)
            raise faults.typed(error, self._folder) from error

    def _append(self, draft: RecordDraft, numbers: Meta) -> RecordPlace:
        end = self._end
        room = end.size - end.offset - SECTOR  # one is kept for the end record
        if form.padded(HEAD_SIZE + len(draft.payload)) > room:
            self._switch(form.padded(HEAD_SIZE + len(draft.payload)), numbers)
            end = self._end
        sequence = end.sequence + 1
        data = form.pack_record(draft, sequence=sequence, keeps=self.keeps, seed=end.seed)
        self._flush(data)
        # Not flushed: it only tells, once it is on the disk, that this record was.
        os.pwrite(self._mark, form.pack_mark(end.log, sequence), 0)
        place = RecordPlace(end.number, end.offset)
        end.offset, end.sequence, end.former = end.offset + len(data), sequence, data[-SECTOR:]
        self._suspect = 0
        if end.offset > end.size // 2:
            self._spares.prepare(self._folder, self._next_size(end.size))
        return place

    def _make_sure(self, found: LogScan) -> None:
        """Flush what may have been read from the memory of the system alone; then mark it.

        The writer of the last record may have been killed before its flush, or have seen it fail:
        then the system takes the pages for flushed. So they are written again. All before it was
        flushed by its writer, or by an opening such as this one.
        """
        if found.last_record is None or found.marked >= found.sequence:
            return
        place, size = found.last_record
        handle = self._open_segment(place.number)
        try:
            write_whole(handle, os.pread(handle, size, place.offset), place.offset)
            os.fdatasync(handle)
        finally:
            os.close(handle)
        os.pwrite(self._mark, form.pack_mark(found.log, found.sequence), 0)

    def _flush(self, data: bytes) -> None:
        """The one write and the one flush of a commit."""
        offset = self._end.offset
        self._suspect = offset + len(data)
        write_whole(self._handle, data, offset)
        os.fdatasync(self._handle)

    def _next_size(self, size: int) -> int:
        return min(size * GROWTH, self._segment_bytes)

    def _switch(self, needed: int, numbers: Meta) -> None:
        """Go on in the next segment: it is on the disk before this one says that there is one."""
        end, number = self._end, self._end.number + 1
        size = max(self._next_size(end.size), needed + 2 * SECTOR)
        self._spares.take_spare(self._folder, size)
        size = (self._folder / SPARE).stat().st_size
        sequence = end.sequence + 1
        header = SegmentHeader(end.log, number, size, sequence, self.keeps, numbers)
        place_segment(self._folder, header)  # also over what an attempt that failed has left
        packed = form.pack_numbers(numbers)
        last = RecordDraft(END, numbers.durable, packed)
        self._flush(form.pack_record(last, sequence=sequence, keeps=self.keeps, seed=end.seed))
        self.bytes_used += size
        former, self._handle = self._handle, self._open_segment(number)
        os.close(former)
        self._end = LogEnd(
            log=end.log,
            number=number,
            size=size,
            offset=SECTOR,
            sequence=sequence,
            former=form.pack_header(header),
            seed=form.salt(end.log, number),
            path=str(segment_path(self._folder, number)),
            file=self._file(),
        )

    # ------------------------------------------------------------------------- the files it is in

    def gone(self) -> str | None:
        """Why the file that is open is not the one at its path any more; None while it is."""
        end = self._end
        here = identity_of(end.path)
        if here == end.file:
            return None
        if here is None:
            return f"{end.path} does not exist any more"
        return f"{end.path} is another file than the one that was opened"

    def close(self) -> None:
        """Release everything."""
        self._spares.close()
        if self._mark >= 0:
            with contextlib.suppress(OSError):  # sooner than the system would by itself
                os.fdatasync(self._mark)
        self._close()

    def _stay(self) -> None:
        """Before every write. What is written into a file without a name survives no restart."""
        why = self.gone()
        if why is not None:
            raise DirectoryGone(why, details={"path": str(self._folder)})

    def _open(self, *, create: bool) -> None:
        self._handle = self._open_segment(self._end.number)
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        self._mark = os.open(self._folder / MARK, flags, 0o644)
        there = self._folder.stat()
        self.opened = Opened(self.opened.times + 1, there.st_dev, there.st_ino)
        if create:
            # Always: the creator of the files may have been killed before their names were safe.
            sync_directory(self._folder)
            sync_directory(self._folder.parent)

    def _open_segment(self, number: int) -> int:
        return os.open(segment_path(self._folder, number), os.O_RDWR | os.O_CLOEXEC)

    def _file(self) -> tuple[int, int]:
        there = os.fstat(self._handle)
        return there.st_dev, there.st_ino

    def _close(self) -> None:
        handles, self._handle, self._mark = (self._handle, self._mark), -1, -1
        for each in handles:
            if each >= 0:
                os.close(each)

    def _former(self) -> bytes:
        return os.pread(self._handle, SECTOR, self._end.offset - SECTOR)

    def _reopen(self) -> None:
        """Begin again with fresh handles. Nothing relies on a flush that failed."""
        written = self._suspect
        self._close()
        self._open(create=False)
        if self._former() != self._end.former:
            raise DirectoryGone(
                f"{self._folder} does not hold the log that was open before",
                details={"path": str(self._folder)},
            )
        self._blank(written)
        self._suspect = 0

    def _blank(self, upto: int) -> None:
        """Zeros from the end of the log up to here, on the disk."""
        begin = self._end.offset
        write_whole(self._handle, bytes(max(0, min(upto, self._end.size) - begin)), begin)
        os.fdatasync(self._handle)
