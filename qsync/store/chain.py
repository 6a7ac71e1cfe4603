"""Walking through stored batches: is every entry whole, and does each follow the one before it?"""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

from election.messages import Index, Term
from qsync import record
from qsync.checksum import crc32
from qsync.core.logstart import EMPTY, LogStart
from qsync.errors import Compacted
from qsync.record import CHAIN_SEED, HEADER, HEADER_SIZE, Crc, Entry
from qsync.store.contract import EntryBatch

NO_INDEX, NO_TERM = Index(0), Term(0)
_CRC_SIZE = 4
_SEALED = HEADER_SIZE - _CRC_SIZE

Row = tuple[int, bytes]
"""A stored record: the index of its first entry, and the batch."""


@dataclass(slots=True)
class ChainVerification:
    """How far the chain holds. `fault`: why it ends; `at` and `offset`: where."""

    last: Index = NO_INDEX
    term: Term = NO_TERM
    crc: Crc = CHAIN_SEED
    fault: str | None = None
    at: int = 0
    offset: int = 0


def verify(rows: Iterable[Row], *, start: LogStart = EMPTY) -> ChainVerification:
    """Check every entry: whole, dense from `start` on, sealed by the checksum of the former."""
    state = ChainVerification(last=start.index, term=start.term, crc=start.crc)
    for first, batch in rows:
        state.at, state.offset = first, 0
        if first != state.last + 1:
            state.fault = f"record {first} follows index {state.last}"
            return state
        _walk(batch, state)
        if state.fault is not None:
            return state
    return state


def _walk(batch: bytes, state: ChainVerification) -> None:
    """Advance `state` over one batch; on a fault it stays after the last whole entry."""
    unpack, view = HEADER.unpack_from, memoryview(batch)
    at, end, index, crc = 0, len(batch), int(state.last), int(state.crc)
    term = int(state.term)
    fault = None if end else "an empty record"
    while at < end:
        if at + HEADER_SIZE > end:
            fault = "a torn header"
            break
        header = unpack(batch, at)
        stop = at + HEADER_SIZE + header[6]
        if stop > end:
            fault = "a torn body or a damaged length"
            break
        if header[0] != index + 1:
            fault = f"an entry that says it is {header[0]}"
            break
        seal = crc32(view[at + HEADER_SIZE : stop], crc32(view[at : at + _SEALED], crc))
        if seal != header[8]:
            fault = "a checksum that does not hold"
            break
        index, crc, at, term = index + 1, seal, stop, header[1]
    state.last, state.crc, state.offset, state.term = Index(index), Crc(crc), at, Term(term)
    if fault is not None:
        state.fault = f"{fault} after index {index}"


def split(batch: bytes, *, after: int) -> tuple[bytes, bytes]:
    """The entries up to index `after`, and those above it."""
    at = 0
    for header in record.headers(batch):
        if header[0] > after:
            break
        at += HEADER_SIZE + header[6]
    return batch[:at], batch[at:]


def entries(rows: Iterable[Row], *, first: Index, last: Index) -> list[Entry]:
    """The entries `first..last` of rows that begin at or before `first`."""
    found: list[Entry] = []
    for _, batch in rows:
        found.extend(record.decode(batch))
        if found[-1].index >= last:
            break
    return found[first - found[0].index : last - found[0].index + 1] if found else []


def joined(records: Iterable[bytes], *, bytes_max: int) -> bytes:
    """Return whole records from the first on, up to `bytes_max`; at least one if there is one."""
    parts: list[bytes] = []
    for batch in records:
        parts.append(batch)
        bytes_max -= len(batch)
        if bytes_max <= 0:
            break
    return b"".join(parts)


def batches(
    rows: Iterable[Row], *, first: Index, last: Index, bytes_max: int
) -> Iterator[EntryBatch]:
    """`first..last` of rows that begin at or before `first`, in batches of at most `bytes_max`."""
    parts: list[bytes] = []
    size, begun, reached = 0, first, Index(first - 1)
    for raw, index in _pieces(rows, first=first, last=last):
        if parts and size + len(raw) > bytes_max:
            yield EntryBatch(first=begun, last=reached, raw=b"".join(parts))
            parts, size, begun = [], 0, index
        parts.append(raw)
        size, reached = size + len(raw), index
    if parts:
        yield EntryBatch(first=begun, last=reached, raw=b"".join(parts))


def _pieces(rows: Iterable[Row], *, first: Index, last: Index) -> Iterator[tuple[bytes, Index]]:
    """Single entries `first..last`, as bytes."""
    for _, batch in rows:
        at = 0
        for header in record.headers(batch):
            stop = at + HEADER_SIZE + header[6]
            if header[0] > last:
                return
            if header[0] >= first:
                yield batch[at:stop], Index(header[0])
            at = stop


def crc_at(batch: bytes, index: int) -> Crc:
    """The checksum of entry `index`, which is in `batch`."""
    for header in record.headers(batch):
        if header[0] == index:
            return Crc(header[8])
    raise AssertionError(index)


class EntryReads(ABC):
    """Reads a log, whatever holds its records."""

    last: Index

    @property
    @abstractmethod
    def start(self) -> LogStart:
        """Behind which entry it begins; EMPTY while it was never trimmed."""

    @property
    def begins(self) -> Index:
        """The first index that it may have."""
        return Index(self.start.index + 1)

    def _reach(self, first: int) -> None:
        """Raises Compacted when the log does not reach back to there any more."""
        if first < self.begins:
            raise Compacted(
                f"the log begins at {self.begins}, {first} is trimmed",
                details={"first": int(self.begins)},
            )

    @abstractmethod
    def _rows(self, first: Index) -> Generator[Row, None, None]:
        """Records from the one on that holds `first`; none when `first` is above `last`.

        What is damaged above `last` may come too. It holds a file until it is closed: a compiled
        generator that nobody closes never lets go of it.
        """

    def stored(self) -> Iterator[bytes]:
        """Return everything up to `last` in order, a record at a time."""
        newest, begins = b"", self.begins
        with closing(self._rows(begins)) as rows:
            for first, batch in rows:
                if first > self.last:
                    break
                if newest:
                    yield newest
                newest = batch if first >= begins else split(batch, after=begins - 1)[1]
        if newest:
            yield split(newest, after=self.last)[0]

    def entries(self, first: Index, last: Index) -> list[Entry]:
        """The entries `first..last`; none when `last` is below `first`."""
        if last < first:
            return []
        assert last <= self.last, (last, self.last)
        with closing(self._rows(first)) as rows:
            return entries(rows, first=first, last=last)

    def batches(self, first: Index, last: Index, *, bytes_max: int) -> Iterator[EntryBatch]:
        """`first..last` in batches of at most `bytes_max`, or of one entry that is larger."""
        assert last <= self.last, (last, self.last)
        return self._batches(first, last, bytes_max)

    def _batches(self, first: Index, last: Index, bytes_max: int) -> Iterator[EntryBatch]:
        with closing(self._rows(first)) as rows:
            yield from batches(rows, first=first, last=last, bytes_max=bytes_max)

    def read(self, first: Index, *, bytes_max: int) -> bytes:
        """Return whole records from the one that holds `first` on. Raises Compacted."""
        with closing(self._rows(first)) as rows:
            return joined((batch for _, batch in rows), bytes_max=bytes_max)
