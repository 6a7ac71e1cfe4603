"""Logs in parts: files of a fixed number of entries each."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from admin.evidence import opening, rows
from admin.evidence.bundle import PARQUET, write_part
from admin.evidence.manifest import NoEvidence
from admin.evidence.witnesses import LogChunk
from qsync.wire import packed
from qsync.wire.packed import PackedRows

SHORT: Final = 64
"""Bytes of a body that are mostly enough to read its opening."""
LONG: Final = opening.BYTES_MAX


class TooShort(Exception):
    """The openings of some bodies were too short: ask for `LONG` ones."""


class Whose(NamedTuple):
    """The run, node and directory of a log."""

    run_id: str
    node: int
    generation: int


class EntryPart(NamedTuple):
    """Entries from `first` on that go into one file."""

    first: int
    rows: PackedRows

    @property
    def last(self) -> int:
        """The index of its last entry."""
        return self.first + self.rows.entries - 1


def opening_of(columns: bool) -> int:  # noqa: FBT001 - there are two ways
    """Return how many bytes of every body to ask for first; columns say when that is too few."""
    return SHORT if columns else LONG


def split(stretches: Iterable[LogChunk], *, size: int) -> Iterator[EntryPart]:
    """Cut ranges of entries at every multiple of `size`, in the order in which they come."""
    some: list[PackedRows] = []
    begun = 0
    for stretch in stretches:
        at, count = 0, stretch.rows.entries
        while at < count:
            index = stretch.first + at
            stop = min(count, at + size - (index - 1) % size)
            begun = begun or index
            some.append(packed.cut(stretch.rows, at, stop))
            at = stop
            if (stretch.first + at - 1) % size == 0:
                yield EntryPart(begun, packed.join(some))
                some, begun = [], 0
    if some:
        yield EntryPart(begun, packed.join(some))


def write(place: Path, part: EntryPart, whose: Whose) -> None:
    """Write a part in one step. Raises TooShort."""
    if place.suffix == PARQUET:
        _write_parquet(place, part.rows, whose)
        return
    found = rows.packed_rows(part.rows, node=whose.node, generation=whose.generation)
    write_part(place, found)


def _write_parquet(place: Path, found: PackedRows, whose: Whose) -> None:
    from admin.evidence import arrow  # noqa: PLC0415 - comes with the extra
    from admin.evidence.columns import columns  # noqa: PLC0415 - the same

    opened = columns(found)
    if not opened.whole:
        raise TooShort
    batch = arrow.wal(opened, run_id=whose.run_id, node=whose.node, generation=whose.generation)
    arrow.write(place, batch)


def check_parquet() -> None:
    """Check that Parquet can be written. Raises NoEvidence."""
    try:
        import numpy  # noqa: F401, ICN001, PLC0415 - is it there?
        import pyarrow  # noqa: F401, ICN001, PLC0415 - the same
    except ImportError as error:
        raise NoEvidence(
            f"parquet needs pyarrow: {error}",
            hint="pip install 'qsync-cluster[spark]', or dump with --format jsonl",
        ) from None
