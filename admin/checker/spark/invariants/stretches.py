"""The confirmed index never stops inside of a rolled-back stretch."""

import functools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from admin.checker.spark.arrays import Numbers, among, numbers
from admin.checker.spark.invariants.queries import Row, Tables
from admin.checker.spark.job_schema import BREACH, FACTS, FindingRow
from admin.checker.spark.loading import bundles
from admin.checker.spark.reading import Chunk, chunks, read, spread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ID = "stretches-whole"
Parts = Mapping[str, tuple[Numbers, Numbers]]
"""By run: the first victim of each ROLLBACK, in order, and the ROLLBACK."""


def stretches(tables: Tables) -> "DataFrame":
    """From the first entry that a ROLLBACK takes up to the one before it, nobody stops."""
    events = tables["events"]
    stops = parts(row.asDict() for row in tables["rolled"].collect())
    found = [
        each
        for table, key in (("events", "number"), ("status", "sample"))
        for path in bundles(tables[table])
        for each in chunks(path, table, key)
        if each.run_id in stops
    ]
    look_at = functools.partial(look, stops=stops)
    return spread(events.sparkSession, found, [each.size for each in found], look_at)


def parts(rolled: Iterable[Row]) -> dict[str, tuple[Numbers, Numbers]]:
    """Of every run, from rows of the table `rolled`."""
    victims: dict[tuple[str, int, int, int], int] = {}
    for row in rolled:
        record = (row["run_id"], row["node"], row["generation"], row["by"])
        victims[record] = min(row["index"], victims.get(record, row["index"]))
    by_run: dict[str, dict[int, int]] = defaultdict(dict)
    for (run, _, _, by), first in sorted(victims.items()):
        by_run[run].setdefault(first, by)
    columns = {run: sorted(found.items()) for run, found in by_run.items()}
    return {
        run: (np.array([one for one, _ in found]), np.array([other for _, other in found]))
        for run, found in columns.items()
    }


def look(chunk: Chunk, stops: Parts) -> Iterator[FindingRow]:
    """At some events, or at some samples."""
    if chunk.part.table == "events":
        claims = read(chunk, ("name", "node", "index"))
        claims = claims.filter(among(claims, "name", ("confirmed",)))
        place = numbers(claims, "index")
    else:
        claims = read(chunk, ("node", "confirmed"))
        claims = claims.filter(numbers(claims, "confirmed") != 0)
        place = numbers(claims, "confirmed")
    yield FindingRow(chunk.run_id, FACTS, _ID, amount=len(place))
    firsts, records = stops[chunk.run_id]
    at = np.searchsorted(firsts, place, side="right") - 1
    inside = (at >= 0) & (place < records[at])
    node = numbers(claims, "node")
    for one, index in sorted(set(zip(node[inside].tolist(), place[inside].tolist(), strict=True))):
        text = f"node {one} stopped at {index}, between a first victim and the ROLLBACK of it"
        yield FindingRow(chunk.run_id, BREACH, _ID, one, 0, index, message=text)
