"""The rows that prove Spark's findings, looked up after their positions are known."""

import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from admin.checker.exhibit import EvidenceRow, exhibit
from admin.checker.kernels import proofs
from admin.checker.kernels.columns import Events
from admin.checker.kernels.in_memory import entries_of
from admin.checker.kernels.proofs import RowPlace
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import LogTable, event
from admin.checker.spark.arrays import numbers
from admin.checker.spark.chunks import chunks, read
from admin.evidence.manifest import Manifest
from admin.evidence.tables import TABLES, ColumnType

_SHOWN = (
    *("node", "generation", "index", "term", "kind", "origin", "lsn", "flags", "crc"),
    *("ref_owner", "ref_lsn", "session", "seq"),
)
"""The columns of an entry that are shown."""

Found = Mapping[str, dict[str, RuleFinding]]


def prove(paths: Sequence[Path], found: Found) -> None:
    """Add the rows to the breaches of every run."""
    for path in paths:
        own = found[Manifest.load(path).run_id]
        proofs.complete(own.values(), functools.partial(look_up, path))


def look_up(path: Path, places: set[RowPlace]) -> dict[RowPlace, list[EvidenceRow]]:
    """Rows of a bundle; every file that may have any is read once."""
    logs: dict[tuple[int, int], LogTable] = {}
    for row in _rows(path, "wal", "index", _SHOWN, places):
        whose = (row["node"], row["generation"])
        logs.setdefault(whose, LogTable(*whose)).add(row)
    found = entries_of(logs, places)
    for row in _rows(path, "events", "number", Events.names(), places):
        found[RowPlace("events", row["number"])] = [event(row).shows()]
    for table in (proofs.OPS, proofs.FEEDS):
        key, *other = proofs.PLACES[table]
        columns = TABLES[table].columns
        for row in _rows(path, table, key, tuple(columns), places):
            whole = {
                name: json.loads(cell) if cell and columns[name] is ColumnType.JSON else cell
                for name, cell in row.items()
            }
            place = RowPlace(table, row[key], *(row[name] for name in other))
            if place in places:
                found[place] = [exhibit(table, whole)]
    return found


def _rows(
    path: Path, table: str, key: str, names: Sequence[str], places: Iterable[RowPlace]
) -> Iterator[dict[str, Any]]:
    asked = np.array(sorted({e.number for e in places if e.table == table}), dtype=np.int64)
    for chunk in chunks(path, table, key) if len(asked) else ():
        first, end = np.searchsorted(asked, (chunk.first, chunk.last + 1))
        if first < end:
            found = read(chunk, names)
            yield from found.filter(pa.array(np.isin(numbers(found, key), asked))).to_pylist()
