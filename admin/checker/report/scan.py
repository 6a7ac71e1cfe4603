"""Reads tables of a bundle row by row, whatever they are kept as, and only what is asked for."""

import json
import re
from collections.abc import Collection, Iterator

from admin.evidence.bundle import Bundle, Part, rows_of
from admin.evidence.tables import TABLES, Row, Type

_INDEX = re.compile(r'"index": ?(\d+)')


def scan(bundle: Bundle, table: str) -> Iterator[Row]:
    """All rows of a table."""
    for part in bundle.parts(table):
        yield from _rows(part, bundle.manifest.run_id)


def entries(bundle: Bundle, indexes: Collection[int]) -> Iterator[Row]:
    """The entries of all logs at some indexes; parts without any of them are not opened."""
    if not indexes:
        return
    for part in bundle.parts("wal"):
        first, last = part.first or 0, part.last or max(indexes)
        if not any(first <= each <= last for each in indexes):
            continue
        if part.is_parquet:
            yield from _chosen(part, bundle.manifest.run_id, indexes)
            continue
        with part.path.open(encoding="utf-8") as file:
            for line in file:
                named = _INDEX.search(line)
                if named and int(named[1]) in indexes:
                    yield json.loads(line)


def sampled(bundle: Bundle, node: int, entries_max: int) -> Iterator[Row]:
    """Some entries of the log of a node: all that begin terms, and about so many of the others."""
    parts = [each for each in bundle.parts("wal") if each.node in {None, node}]
    facts = next((each for each in bundle.manifest.nodes if each.node == node), None)
    step = max(1, (facts.last if facts else 0) // entries_max)
    for part in parts:
        if part.is_parquet:
            found: Iterator[Row] = _rows(part, bundle.manifest.run_id)
            yield from (row for at, row in enumerate(found) if _told(row, at, step, node))
            continue
        with part.path.open(encoding="utf-8") as file:
            for at, line in enumerate(file):
                if at % step == 0 or '"PROMOTE"' in line:
                    row = json.loads(line)
                    if row.get("node") == node:
                        yield row


def _told(row: Row, at: int, step: int, node: int) -> bool:
    return row["node"] == node and (at % step == 0 or row["kind"] == "PROMOTE")


def _rows(part: Part, run_id: str) -> Iterator[Row]:
    if not part.is_parquet:
        yield from rows_of(part, run_id)
        return
    from admin.checker.parquet import rows_of_parquet  # noqa: PLC0415 - needs the extra

    yield from rows_of_parquet(part, run_id)


def _chosen(part: Part, run_id: str, indexes: Collection[int]) -> Iterator[Row]:
    """By the statistics of the file, so that most of it is not decoded."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - comes with the extra

    found = pq.read_table(part.path, filters=[("index", "in", list(indexes))])
    jsons = [name for name, type_ in TABLES["wal"].columns.items() if type_ is Type.JSON]
    assert not jsons, "the wal has no columns of JSON"
    for row in found.to_pylist():
        yield {**row, "run_id": row.get("run_id") or run_id}
