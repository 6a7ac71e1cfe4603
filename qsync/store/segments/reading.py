"""Reading entries back: from a point of the index on, past what was cut off since."""

from collections.abc import Iterator
from pathlib import Path

from qsync.errors import Damaged
from qsync.store import chain
from qsync.store.segments import format as form
from qsync.store.segments.files import segment_path
from qsync.store.segments.format import END, SECTOR, RecordHead
from qsync.store.segments.index import POINT_BYTES, ReadPlan, RecordPlace
from qsync.store.segments.window import SegmentWindow


class RecordReader:
    """Reads records that were written whole. Each reader has handles of its own; close it."""

    def __init__(self, folder: Path, log: bytes) -> None:
        self._folder = folder
        self._log = log
        self._window: SegmentWindow | None = None
        self._number = 0

    def rows(self, plan: ReadPlan, first: int) -> Iterator[chain.Row]:
        """Return what counts of the records from the one on that holds `first`."""
        borders = iter(plan.borders)
        limit, beyond = self._next_border(borders, plan)
        place = plan.begin
        while first <= plan.last:
            head = self._head(place)
            here, place = place, _behind(place, head)
            begins, last = head.above + 1, min(head.last, limit)
            if begins <= limit and last >= first and begins <= head.last:
                batch = self._payload(here, head)[head.tail_length :]
                if head.last > limit:
                    batch, _ = chain.split(batch, after=limit)
                yield begins, batch
                first = last + 1
            if first > limit and beyond is not None:
                place = beyond
                limit, beyond = self._next_border(borders, plan)

    def record_of(self, plan: ReadPlan, index: int) -> tuple[RecordPlace, RecordHead]:
        """The record that holds the last entry of the log, `index`."""
        place = plan.begin
        while True:
            head = self._head(place)
            if head.above < index <= head.last:
                return place, head
            place = _behind(place, head)

    def tail(self, place: RecordPlace) -> bytes:
        """The archived tail of the record that stands there."""
        head = self._head(place)
        return self._payload(place, head)[: head.tail_length]

    def close(self) -> None:
        """Let go of the files."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def _next_border(
        self, borders: Iterator[tuple[int, RecordPlace]], plan: ReadPlan
    ) -> tuple[int, RecordPlace | None]:
        """Return up to which index the next records count, and where to continue behind it."""
        found = next(borders, None)
        return (plan.last, None) if found is None else (found[0] - 1, found[1])

    def _head(self, place: RecordPlace) -> RecordHead:
        sector = self._window_on(place.number).bytes_at(place.offset, SECTOR)
        head = form.unpack_head(sector, seed=form.salt(self._log, place.number))
        if head is None:
            raise self._damaged(place)
        return head

    def _payload(self, place: RecordPlace, head: RecordHead) -> bytes:
        size = form.HEAD_SIZE + head.length
        data = self._window_on(place.number).bytes_at(place.offset, size)
        if not form.verifies(head, data, seed=form.salt(self._log, place.number)):
            raise self._damaged(place)
        return form.payload_of(head, data)

    def _damaged(self, place: RecordPlace) -> Damaged:
        path = segment_path(self._folder, place.number)
        return Damaged(
            f"{path} does not hold at {place.offset} what was written there",
            hint="stop the node and start it again: it will be set right from the leader",
            details={"path": str(path), "offset": place.offset},
        )

    def _window_on(self, number: int) -> SegmentWindow:
        if self._window is None or self._number != number:
            self.close()
            path = segment_path(self._folder, number)
            self._window = SegmentWindow(path, read_bytes=POINT_BYTES)
            self._number = number
        return self._window


def _behind(place: RecordPlace, head: RecordHead) -> RecordPlace:
    if head.plain_kind == END:
        return RecordPlace(place.number + 1, SECTOR)
    return RecordPlace(place.number, place.offset + head.size)
