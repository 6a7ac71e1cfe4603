"""Receipts of histories, compared with outlines of logs and with the named entries."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from admin.checker.kernels import receipts
from admin.checker.kernels.logs.outlines import LogOutline
from admin.checker.kernels.receipts import ConfirmedTerms, Receipts
from admin.checker.spark.arrays import ArrowTable
from admin.checker.spark.chunks import FOREVER, Chunk, chunks, read, spread
from admin.checker.spark.job_schema import FindingRow
from admin.checker.spark.kernels import finding_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SPAN = 1 << 20
"""How many entries of each log a task compares with their receipts."""


@dataclass(frozen=True, slots=True)
class OwnedRange:
    """Entries `first..last` of all logs of a run: files of the logs and of the history."""

    first: int
    last: int
    logs: tuple[Chunk, ...]
    lines: tuple[Chunk, ...]


def kept(
    session: "SparkSession", paths: Sequence[Path], logs: Mapping[str, Sequence[LogOutline]]
) -> "DataFrame":
    """Return the receipts of all histories; each file is compared with the logs of its run."""
    terms = {run: [ConfirmedTerms.of(log) for log in own] for run, own in logs.items()}

    def look(chunk: Chunk) -> Iterator[FindingRow]:
        lines = ArrowTable(read(chunk, receipts.LINES), "ops")
        found = receipts.kept(terms[chunk.run_id], lines)
        yield from finding_rows(chunk.run_id, receipts.KEPT, found)

    parts = [each for path in paths for each in chunks(path, "ops", "log_index")]
    some = [each for each in parts if each.run_id in terms]
    return spread(session, some, [each.size for each in some], look)


def owned(session: "SparkSession", paths: Sequence[Path]) -> "DataFrame":
    """A receipt names the entry of the request that it was given for."""
    ranges = [each for path in paths for each in plan(path)]
    sizes = [sum(chunk.size for chunk in each.logs) for each in ranges]
    return spread(session, ranges, sizes, look)


def plan(path: Path, span: int = SPAN) -> Iterator[OwnedRange]:
    """Ranges of this many entries; one range if some file may have any entry."""
    logs, lines = chunks(path, "wal", "index"), chunks(path, "ops", "log_index")
    if not logs or not lines:
        return
    spans = [(-FOREVER, FOREVER)]
    if all(each.last < FOREVER for each in logs):
        places = {n for each in logs for n in range(each.first // span, each.last // span + 1)}
        spans = [(place * span, (place + 1) * span - 1) for place in sorted(places)]
    for first, last in spans:
        its_lines = tuple(each for each in lines if each.meets(first, last))
        if its_lines:
            yield OwnedRange(first, last, tuple(e for e in logs if e.meets(first, last)), its_lines)


def look(range_: OwnedRange) -> Iterator[FindingRow]:
    """Examine a range."""
    first, last = range_.first, range_.last
    lines = [ArrowTable(read(each, receipts.LINES), "ops") for each in range_.lines]
    told = Receipts(lines, first, last)
    for chunk in range_.logs:
        found = ArrowTable(read(chunk, receipts.ENTRIES), "wal")
        if chunk.first < first or chunk.last > last:
            index = found.numbers("index")
            found = found.filter(pa.array((index >= first) & (index <= last)))
        yield from finding_rows(chunk.run_id, receipts.OWN, told.look(found))
