"""The segments of a log that others may be writing: read up to where they hold, never changed."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from qsync.errors import StoreError
from qsync.store.segments import format as form
from qsync.store.segments.files import segment_path
from qsync.store.segments.reading import RecordReader
from qsync.store.segments.scan import scan_log


class SegmentCopy:
    """A copy of a log. Its files were copied in turn, so what was flushed is not asked."""

    def __init__(self, folder: Path) -> None:
        """Read it to its end. Raises StoreError."""
        self._folder = folder
        self._found = scan_log(folder, marked=False)

    @property
    def confirmed(self) -> int:
        """The confirmed index, as its records say."""
        return min(int(self._found.numbers.confirmed), self.last)

    @property
    def last(self) -> int:
        """The last entry that holds."""
        return int(self._found.index.last)

    @property
    def fault(self) -> str | None:
        """What is wrong behind that."""
        return self._found.fault

    @property
    def begins(self) -> int:
        """The first index that it may have: what is below was trimmed."""
        return self._found.start.index + 1

    def batches(self, first: int) -> Iterator[bytes]:
        """Entries from the record on that holds `first`, or the first that it has, as stored."""
        first = max(first, self.begins)
        with closing(RecordReader(self._folder, self._found.log)) as reader:
            for _, batch in reader.rows(self._found.index.plan(first), first):
                yield batch


class PlacedBatch(NamedTuple):
    """The places of a record's entries, for tests that damage them."""

    path: Path
    offset: int
    size: int


def last_batch(folder: Path) -> PlacedBatch:
    """The last record with entries. Raises StoreError when there is none."""
    found = scan_log(folder)
    if not found.index.last:
        raise StoreError(f"{folder} holds no entries")
    plan = found.index.plan(found.index.last)
    with closing(RecordReader(folder, found.log)) as reader:
        place, head = reader.record_of(plan, found.index.last)
    begin = place.offset + form.HEAD_SIZE + head.tail_length
    size = head.length - head.tail_length
    return PlacedBatch(segment_path(folder, place.number), begin, size)
