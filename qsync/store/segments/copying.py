"""A whole log copied into segments, from whatever form it has."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from election.messages import Index
from qsync import record
from qsync.record import CHAIN_SEED, Crc
from qsync.store import archive
from qsync.store.contract import Log, RecoveredLog
from qsync.store.environment import sync_directory
from qsync.store.meta import EMPTY, Meta
from qsync.store.segments import format as form
from qsync.store.segments.files import (
    FIRST_BYTES,
    MARK,
    SEGMENT_BYTES,
    SPARE,
    SUFFIX,
    UNREADY,
    USED,
)
from qsync.store.segments.format import APPEND, RecordDraft
from qsync.store.segments.making import make_segments
from qsync.store.segments.scan import scan_log
from qsync.store.segments.spare import SpareInPlace
from qsync.store.segments.writing import SegmentWriter

BATCH_BYTES: Final = 1 << 20
"""Small batches become one record of about this size: each would fill its last sector up."""


def copy_log(
    log: Log, folder: Path, *, sizes: tuple[int, int] = (FIRST_BYTES, SEGMENT_BYTES)
) -> None:
    """Copy a recovered log into a folder that is there; on the disk when this returns.

    Segments of an attempt that did not come to its end are removed first.
    """
    for each in list(folder.iterdir()):
        if each.suffix == SUFFIX or each.name in {MARK, SPARE, UNREADY, USED}:
            each.unlink()
    sync_directory(folder)
    found = log.recover()
    start = replace(EMPTY, ballot=found.ballot)
    make_segments(folder, start, sizes[0])
    writer = SegmentWriter(folder, scan_log(folder), spares=SpareInPlace(), segment_bytes=sizes[1])
    try:
        _copy(log, found, writer, start)
    finally:
        writer.close()


def _copy(log: Log, found: RecoveredLog, writer: SegmentWriter, now: Meta) -> None:
    for tail in log.archived():
        packed = archive.pack(tail)
        draft = RecordDraft(APPEND, 0, form.pack_numbers(now), packed, tail_length=len(packed))
        writer.append(draft, now, None)
    crc = Crc(CHAIN_SEED)
    for batch in log.batches(Index(1), found.last, bytes_max=BATCH_BYTES):
        for header in record.headers(batch.raw):
            crc = Crc(header[8])
        then = Meta(
            ballot=found.ballot,
            confirmed=Index(min(found.confirmed, batch.last)),
            durable=batch.last,
            crc=crc,
        )
        draft = RecordDraft(APPEND, batch.first - 1, form.pack_numbers(then), batch.raw)
        writer.append(draft, now, None)
        now = then
