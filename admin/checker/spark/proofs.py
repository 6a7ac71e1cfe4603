"""The rows that prove what Spark found, looked up when it is known where to look."""

import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from admin.checker.exhibit import EXHIBITS_MAX, EvidenceRow, exhibit
from admin.checker.kernels import proofs
from admin.checker.kernels.columns import Events
from admin.checker.kernels.in_memory import entries_of
from admin.checker.kernels.proofs import RowPlace
from admin.checker.rules.catalogue import BY_ID, load
from admin.checker.rules.rule import Breach, RuleFinding
from admin.checker.rules.run import LogTable, event
from admin.checker.spark.arrays import numbers
from admin.checker.spark.chunks import chunks, read
from admin.checker.verdict import EXAMPLES_MAX
from admin.evidence.manifest import Manifest
from admin.evidence.tables import TABLES, ColumnType

ROWS_MAX = 1_000_000
"""A bundle with no more rows is simply read once more; of a larger one only the entries around."""

_SHOWN = (
    *("node", "generation", "index", "term", "kind", "origin", "lsn", "flags", "crc"),
    *("ref_owner", "ref_lsn", "session", "seq"),
)
"""Of an entry, what is shown."""

Found = Mapping[str, dict[str, RuleFinding]]


def prove(paths: Sequence[Path], found: Found) -> None:
    """Put them beside the breaches of every run."""
    for path in paths:
        manifest = Manifest.load(path)
        own = found[manifest.run_id]
        broken = [(id_, each) for id_, each in own.items() if _lacks_proof(each)]
        if broken and sum(manifest.rows.values()) <= ROWS_MAX:
            _in_one_process(path, broken)
        else:
            _around(manifest, broken)
        proofs.complete(own.values(), functools.partial(look_up, path))


def look_up(path: Path, places: set[RowPlace]) -> dict[RowPlace, list[EvidenceRow]]:
    """Rows of a bundle; every file that may have some is read once."""
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


def _lacks_proof(finding: RuleFinding) -> bool:
    return any(not each.witness for each in finding.breaches)


def _in_one_process(path: Path, broken: Iterable[tuple[str, RuleFinding]]) -> None:
    run = load(path)
    for id_, finding in broken:
        known = {each.where: each for each in BY_ID[id_].find(run).breaches}
        finding.breaches = [known.get(each.where, each) for each in finding.breaches]


def _around(manifest: Manifest, broken: Iterable[tuple[str, RuleFinding]]) -> None:
    """Of breaches in logs: the entry there and the one before it."""
    for id_, finding in broken:
        if "wal" in BY_ID[id_].needs and BY_ID[id_].counts == "wal":
            some = finding.breaches[:EXAMPLES_MAX]
            finding.breaches[:EXAMPLES_MAX] = [
                each if each.witness else replace(each, witness=_beside(manifest, each))
                for each in some
            ]


def _beside(manifest: Manifest, breach: Breach) -> tuple[EvidenceRow, ...]:
    places = (breach.index - 1, breach.index) if breach.index else ()
    return tuple(
        proofs.entry(each.node, each.generation, index)
        for index in places
        for each in manifest.nodes
        if breach.node in {0, each.node}
    )[:EXHIBITS_MAX]
