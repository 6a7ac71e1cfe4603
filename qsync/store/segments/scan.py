"""Reading a whole log from its first record: how far it holds, and what is wrong after that.

A fault is damage unless it is certain that no record from there on was acked: that is a torn end.
"""

from dataclasses import dataclass, field
from pathlib import Path

from election.messages import Index
from qsync.core.logstart import EMPTY, LogStart
from qsync.store import faults, meta
from qsync.store.meta import Meta
from qsync.store.segments import format as form
from qsync.store.segments.beginning import (
    LogBeginning,
    read_beginning,
    read_older,
    unpack_beginning,
    with_older,
)
from qsync.store.segments.files import MARK, segment_numbers, segment_path
from qsync.store.segments.format import APPEND, CUT, END, SECTOR, RecordHead, SegmentHeader
from qsync.store.segments.index import RecordPlace, SparseIndex
from qsync.store.segments.window import SegmentWindow


@dataclass(slots=True)
class LogScan:
    """The result of a scan. `offset`: where in segment `number` the next record goes.

    `fault`: what is wrong at or below what was flushed. `newest`: the numbers of the newest record
    whose head verifies, be it behind the fault; `doubtful`: there may have been a newer one.
    `torn`: up to here the segment holds the rest of a record that was never acked.
    `unbegun`: a segment that was placed by a switch that did not come to its end.
    `last_record`: where the last record begins, and its size; None when there is none.
    `beginning`: what says where a trimmed log begins.
    """

    log: bytes = b""
    number: int = 0
    size: int = 0
    offset: int = 0
    keeps: int = 1
    sequence: int = 0
    numbers: Meta = meta.EMPTY
    newest: Meta | None = None
    newest_sequence: int = 0
    index: SparseIndex = field(default_factory=SparseIndex)
    fault: str | None = None
    doubtful: bool = False
    torn: int | None = None
    unbegun: int | None = None
    marked: int = 0
    last_record: tuple[RecordPlace, int] | None = None
    beginning: LogBeginning | None = None

    @property
    def first(self) -> int:
        """The number of the first valid segment."""
        return 1 if self.beginning is None else self.beginning.first

    @property
    def start(self) -> LogStart:
        """Behind which entry it begins."""
        return EMPTY if self.beginning is None else self.beginning.start

    def reaches(self, start: LogStart) -> bool:
        """Whether it holds the entry that it is said to begin behind, or later ones."""
        last = self.index.last
        return last > start.index or (last, self.numbers.crc) == (start.index, start.crc)

    @property
    def untrusted(self) -> bool:
        """Term and vote may be lost: a newer record than any that verifies was or may be there."""
        lost = self.newest is None or self.doubtful or self.marked > self.newest_sequence
        return self.fault is not None and lost


class LogScanner:
    """Reads the segments of a folder in order, and changes nothing."""

    def __init__(self, folder: Path, *, trusted: int, marked: bool) -> None:
        self._folder = folder
        self._marked = marked
        self._trusted = trusted
        self._numbers: list[int] = []
        self._headers: dict[int, SegmentHeader | None] = {}
        self._found = LogScan()

    def scan(self) -> LogScan:
        """Scan all of it."""
        found = self._found
        try:
            self._numbers = segment_numbers(self._folder)
        except OSError as error:
            raise faults.unreadable(error, self._folder) from error
        self._begin()
        headers = self._headers = {number: self._header(number) for number in self._numbers}
        found.log = next((each.log for each in headers.values() if each is not None), b"")
        if found.beginning is not None and found.beginning.log != found.log:
            found.fault = "what says where the log begins is of another log"
        found.marked = self._mark() if self._marked else 0
        sealed = True
        for number, header in headers.items():
            with self._window(number, header) as window:
                if found.fault is not None:
                    self._look_behind(window, SECTOR, number)
                elif not sealed and self._is_unbegun(number, window):
                    found.unbegun = number
                elif not sealed and not self._marked:
                    break  # it was copied before this one: there the copy ends
                else:
                    sealed = self._enter(number, header, window, sealed=sealed)
        self._end(sealed=sealed)
        return found

    def _begin(self) -> None:
        """Find where the log begins: segments before that were trimmed, or are about to be."""
        found, stored = self._found, read_beginning(self._folder)
        if stored is None:
            return
        found.beginning = unpack_beginning(stored)
        if found.beginning is None:
            found.fault = "what says where the log begins does not verify"
        else:
            found.beginning = with_older(found.beginning, read_older(self._folder))
            self._numbers = [each for each in self._numbers if each >= found.first]

    def _end(self, *, sealed: bool) -> None:
        """Note as damage what is missing at the end of the scan."""
        found = self._found
        start = found.start
        if found.fault is None and start.index and not found.reaches(start):
            found.fault = (
                f"the log begins behind entry {start.index} of term {start.term}, "
                f"and ends with index {found.index.last}"
            )
        if found.fault is None and sealed and self._marked:
            found.fault = f"segment {found.number + 1} is missing, after index {found.index.last}"
            found.doubtful = True
        elif found.fault is None and found.marked > found.sequence:
            found.fault = (
                f"the log ends with record {found.sequence}, after index {found.index.last}; "
                f"record {found.marked} was flushed"
            )

    def _header(self, number: int) -> SegmentHeader | None:
        with SegmentWindow(segment_path(self._folder, number), read_bytes=SECTOR) as window:
            return form.unpack_header(window.bytes_at(0, SECTOR))

    def _window(self, number: int, header: SegmentHeader | None) -> SegmentWindow:
        window = SegmentWindow(segment_path(self._folder, number))
        if header is not None:
            window.end_at(header.size)
        return window

    def _mark(self) -> int:
        try:
            return form.unpack_mark((self._folder / MARK).read_bytes(), self._found.log)
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise faults.unreadable(error, self._folder / MARK) from error

    def _is_unbegun(self, number: int, window: SegmentWindow) -> bool:
        """Return whether a kill came between the end of a segment and the next one's beginning."""
        return number == self._numbers[-1] and window.first_written(SECTOR) is None

    def _enter(
        self, number: int, header: SegmentHeader | None, window: SegmentWindow, *, sealed: bool
    ) -> bool:
        """Read one segment; true when it says that there is another one."""
        found = self._found
        why = self._misplaced(number, header)
        if why is None and not sealed:
            why = f"segment {found.number} has no end, and {number} follows"
        if why is not None or header is None:
            self._give_up(why or "", window, SECTOR, number)
            return False
        if not found.number:
            found.sequence, found.numbers = header.sequence, header.numbers
            found.index.last = header.numbers.durable
            found.newest, found.newest_sequence = header.numbers, header.sequence
        found.number, found.size, found.keeps = number, header.size, header.keeps
        sealed = self._walk(window)
        if found.fault is None and window.size < found.size:
            found.fault = f"segment {number} is shorter than it was made"
            found.doubtful = True
        return sealed

    def _misplaced(self, number: int, header: SegmentHeader | None) -> str | None:
        """Why this segment does not belong here."""
        found, first = self._found, not self._found.number
        if header is None:
            return f"the header of segment {number} does not verify"
        if header.log != found.log:
            return f"segment {number} is one of another log"
        if header.number != number:
            return f"segment {number} says that it is {header.number}"
        if first and number > found.first:
            return f"segment {found.first} is missing"
        if not first and number != found.number + 1:
            return f"segment {found.number + 1} is missing"
        if not first and (header.sequence, header.numbers) != (found.sequence, found.numbers):
            return f"segment {number} does not follow record {found.sequence}"
        return None

    def _walk(self, window: SegmentWindow) -> bool:
        """Take record after record; true when the segment has an end."""
        found = self._found
        seed, limit = form.salt(found.log, found.number), min(found.size, window.size)
        at, sealed = SECTOR, False
        newest: RecordHead | None = None
        stopped: tuple[str | None, RecordHead | None] | None = None
        while at < limit and not sealed:
            sector = window.bytes_at(at, SECTOR)
            head = form.unpack_head(sector, seed=seed)
            if head is None:
                stopped = (
                    "the head of a record does not verify" if form.is_written(sector) else None,
                    None,
                )
                break
            why = self._refused(head, window, at, seed)
            if why is not None:
                stopped = (why, head)
                break
            place = RecordPlace(found.number, at)
            last, tail = head.last, head.tail_length > 0
            found.index.add_record(place, above=head.above, last=last, tail=tail)
            found.sequence, newest = head.sequence, head
            found.last_record = (place, head.size)
            at += head.size
            sealed = head.plain_kind == END
        found.offset = at
        if newest is not None:
            found.numbers, found.keeps = newest.meta, newest.keeps
            found.newest, found.newest_sequence = found.numbers, newest.sequence
        if stopped is not None:
            self._stop(*stopped, window)
        return sealed

    def _refused(self, head: RecordHead, window: SegmentWindow, at: int, seed: int) -> str | None:
        """Why this record is not the next one."""
        found = self._found
        if head.sequence != found.sequence + 1:
            return f"record {head.sequence} follows record {found.sequence}"
        last, kind = found.index.last, head.plain_kind
        if head.above != last and (kind != CUT or head.above > last):
            return f"record {head.sequence} goes after index {head.above}"
        if at + head.size > found.size:
            return f"record {head.sequence} is longer than its segment"
        is_last = found.number == self._numbers[-1]
        if kind == APPEND and head.last <= self._trusted and not is_last:
            return None
        if not form.verifies(head, window.bytes_at(at, form.HEAD_SIZE + head.length), seed=seed):
            return f"a checksum that does not hold in record {head.sequence}"
        return None

    def _stop(self, why: str | None, head: RecordHead | None, window: SegmentWindow) -> None:
        """The end of the log, what is left of a torn record, or damage.

        `why` is None where nothing was written; `head` is the one that verifies, if any.
        """
        found = self._found
        at, sequence = found.offset, found.sequence + 1
        if head is None:
            torn, behind = why is None, at
        else:
            torn = head.sequence == sequence
            torn = torn and form.is_torn(head, window.bytes_at(at, head.size))
            behind = at + head.size
        if torn and not self._newer_behind(window, behind) and found.marked < sequence:
            written = self._last_written(window, at)
            found.torn = written if written > at else None
        else:
            self._give_up(why or f"record {sequence} is missing", window, at, found.number)

    def _newer_behind(self, window: SegmentWindow, at: int) -> bool:
        """Return whether a record is behind `at`: all before it were flushed then."""
        seed = form.salt(self._found.log, self._found.number)
        here = window.first_written(at)
        while here is not None:
            if form.unpack_head(window.bytes_at(here, SECTOR), seed=seed) is not None:
                return True
            here = window.first_written(here + SECTOR)
        if not self._marked:
            return False  # in a copy other segments are of a later moment
        for number in self._numbers[self._numbers.index(self._found.number) + 1 :]:
            with self._window(number, self._headers[number]) as other:
                if other.first_written(SECTOR) is not None:
                    return True
        return False

    def _last_written(self, window: SegmentWindow, at: int) -> int:
        """The end of the last sector from `at` on that is not blank."""
        end, here = at, window.first_written(at)
        while here is not None:
            end = here + SECTOR
            here = window.first_written(end)
        return end

    def _give_up(self, why: str, window: SegmentWindow, at: int, number: int) -> None:
        self._found.fault = f"{why}, after index {self._found.index.last}"
        self._look_behind(window, at, number)

    def _look_behind(self, window: SegmentWindow, at: int, number: int) -> None:
        """Behind a fault: which is the newest record whose head verifies, and is it the newest?"""
        found = self._found
        header, misplaced = form.unpack_header(window.bytes_at(0, SECTOR)), False
        if header is not None and header.log == found.log:
            # Another one in its place: what stood here may have been newer.
            misplaced = header.number != number
            number = header.number
            if header.sequence >= found.newest_sequence:
                found.newest, found.newest_sequence = header.numbers, header.sequence
                found.doubtful = False
        else:
            found.doubtful = True
        seed = form.salt(found.log, number)
        here = window.first_written(at)
        while here is not None:
            head = form.unpack_head(window.bytes_at(here, SECTOR), seed=seed)
            if head is None:
                found.doubtful = True
                here = window.first_written(here + SECTOR)
                continue
            if head.sequence >= found.newest_sequence:
                found.newest, found.newest_sequence = head.meta, head.sequence
                found.doubtful = head.plain_kind == END
            here = window.first_written(here + head.size)
        if misplaced or (header is not None and window.size < header.size):
            found.doubtful = True


def scan_log(folder: Path, *, trusted: Index | int = 0, marked: bool = True) -> LogScan:
    """Read a log and change nothing.

    Payloads of records up to the index `trusted` are not looked at, but for those in the last
    segment. `marked`: what was flushed must be there. Not so in a copy, whose segments are each of
    a moment of its own, the former the earlier: it ends where the first of them does. Raises
    StoreError where the disk does not answer, and WrongFormat for a log of a later version.
    """
    return LogScanner(folder, trusted=int(trusted), marked=marked).scan()
