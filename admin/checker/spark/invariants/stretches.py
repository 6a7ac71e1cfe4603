"""The confirmed index never stops inside of a rolled-back stretch."""

import functools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from admin.checker.kernels.arrays import Numbers
from admin.checker.spark.arrays import among, numbers
from admin.checker.spark.chunks import Chunk, chunks, read, spread
from admin.checker.spark.job_schema import BREACH, FACTS, FindingRow, RolledRow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ID = "stretches-whole"
Parts = Mapping[str, tuple[Numbers, Numbers]]
"""By run: the first victim of each ROLLBACK, in order, and the ROLLBACK."""


def stretches(
    session: "SparkSession", paths: Sequence[Path], rolled: Iterable[RolledRow]
) -> "DataFrame":
    """From the first entry that a ROLLBACK takes up to the one before it, nobody stops."""
    stops = parts(rolled)
    found = [
        each
        for table, key in (("events", "number"), ("status", "sample"))
        for path in paths
        for each in chunks(path, table, key)
        if each.run_id in stops
    ]
    look_at = functools.partial(look, stops=stops)
    return spread(session, found, [each.size for each in found], look_at)


def parts(rolled: Iterable[RolledRow]) -> dict[str, tuple[Numbers, Numbers]]:
    """Of every run, from what is rolled back."""
    victims: dict[tuple[str, int, int, int], int] = {}
    for row in rolled:
        record = (row.run_id, row.node, row.generation, row.by)
        victims[record] = min(row.index, victims.get(record, row.index))
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
