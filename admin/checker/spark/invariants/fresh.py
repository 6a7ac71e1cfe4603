"""A read shows at least what had been answered to anybody before it was asked."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from admin.checker.spark.arrays import among, known, numbers
from admin.checker.spark.invariants.queries import Tables
from admin.checker.spark.job_schema import BREACH, FACTS, FindingRow
from admin.checker.spark.loading import bundles
from admin.checker.spark.reading import Chunk, chunks, read, spread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ID = "reads-fresh"
_COLUMNS = ("name", "node", "number", "index", "floor")


def fresh(tables: Tables) -> "DataFrame":
    """Of every read: where it was served from, and what it had to show."""
    events = tables["events"]
    parts = [each for path in bundles(events) for each in chunks(path, "events", "number")]
    return spread(events.sparkSession, parts, [each.size for each in parts], look)


def look(chunk: Chunk) -> Iterator[FindingRow]:
    """At some of them."""
    events = read(chunk, _COLUMNS)
    node, number, index, floor = (numbers(events, name) for name in _COLUMNS[1:])
    served = among(events, "name", ("served",)) & known(events, "floor")
    yield FindingRow(chunk.run_id, FACTS, _ID, amount=int(served.sum()))
    for at in np.flatnonzero(served & (index < floor)).tolist():
        text = f"node {node[at]} served a read at {index[at]}, not {floor[at]}"
        yield FindingRow(chunk.run_id, BREACH, _ID, int(node[at]), 0, int(number[at]), message=text)
