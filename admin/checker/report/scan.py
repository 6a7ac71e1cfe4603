"""Reads the rows of a bundle's tables that a report needs, in any file format."""

import json
import re
from collections.abc import Collection, Iterator

import msgspec

from admin.evidence.bundle import Bundle, BundlePart
from admin.evidence.manifest import NoEvidence
from admin.evidence.tables import TABLES, ColumnType, Row

_DRAWN = {
    "status": "node generation life sample time_mono time_wall name role term ro confirmed last",
    "ops": "index time type f",
    "wal": "node generation index term kind origin lsn flags crc time ref_owner ref_lsn",
}
"""The columns that are read of long tables; rows in JSON files have all columns."""
_INDEX = re.compile(r'"index": ?(\d+)')
_decode = msgspec.json.Decoder(dict).decode


def scan(bundle: Bundle, table: str) -> Iterator[Row]:
    """All rows of a table, without missing columns. Raises NoEvidence."""
    for part in bundle.parts(table):
        yield from _columns(part) if part.is_parquet else _lines(part)


def entries(bundle: Bundle, indexes: Collection[int]) -> Iterator[Row]:
    """The entries of all logs at some indexes; parts without these indexes are not opened."""
    if not indexes:
        return
    for part in bundle.parts("wal"):
        first, last = part.first or 0, part.last or max(indexes)
        if not any(first <= each <= last for each in indexes):
            continue
        if part.is_parquet:
            yield from _chosen(part, indexes)
            continue
        with part.path.open(encoding="utf-8") as file:
            for line in file:
                named = _INDEX.search(line)
                if named and int(named[1]) in indexes:
                    yield _decode(line)


def sampled(bundle: Bundle, node: int, entries_max: int) -> Iterator[Row]:
    """A sample of a node's log: all entries that begin terms, and about `entries_max` others."""
    parts = [each for each in bundle.parts("wal") if each.node in {None, node}]
    facts = next((each for each in bundle.manifest.nodes if each.node == node), None)
    step = max(1, (facts.last if facts else 0) // entries_max)
    for part in parts:
        if part.is_parquet:
            yield from (row for at, row in enumerate(_columns(part)) if _told(row, at, step, node))
            continue
        with part.path.open(encoding="utf-8") as file:
            for at, line in enumerate(file):
                if at % step == 0 or '"PROMOTE"' in line:
                    row = _decode(line)
                    if row.get("node") == node:
                        yield row


def _told(row: Row, at: int, step: int, node: int) -> bool:
    return row["node"] == node and (at % step == 0 or row["kind"] == "PROMOTE")


def _lines(part: BundlePart) -> Iterator[Row]:
    with part.path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield _decode(line)
            except msgspec.DecodeError as error:
                raise NoEvidence(f"{part.path}:{number} is no row: {error}") from error


def _columns(part: BundlePart) -> Iterator[Row]:
    from admin.evidence.arrow import batches  # noqa: PLC0415 - comes with the extra

    known = TABLES[part.table].columns
    wanted = _DRAWN[part.table].split() if part.table in _DRAWN else list(known)
    for batch in batches(part, only=wanted):
        jsons = [name for name in batch.schema.names if known[name] is ColumnType.JSON]
        for row in batch.to_pylist():
            yield row | {name: json.loads(row[name]) for name in jsons if row[name] is not None}


def _chosen(part: BundlePart, indexes: Collection[int]) -> Iterator[Row]:
    """Return the parts chosen by the statistics of the file: most of it is not decoded."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - comes with the extra

    wanted = [("index", "in", list(indexes))]
    found = pq.read_table(part.path, filters=wanted, page_checksum_verification=True)
    yield from found.to_pylist()
