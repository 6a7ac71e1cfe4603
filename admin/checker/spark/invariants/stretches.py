"""What samples and events say to be confirmed, a file of them at a time."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from admin.checker.exhibit import EvidenceRow
from admin.checker.kernels import proofs
from admin.checker.kernels.arrays import Numbers
from admin.checker.kernels.columns import Samples
from admin.checker.kernels.logs.outlines import LogOutline
from admin.checker.kernels.stops import STOPS, RolledBackStretches, stopped
from admin.checker.spark.arrays import among, numbers
from admin.checker.spark.chunks import Chunk, chunks, read, spread
from admin.checker.spark.job_schema import FindingRow
from admin.checker.spark.kernels import finding_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Stretches = Mapping[str, RolledBackStretches]
"""By run."""


def stretches(
    session: "SparkSession", paths: Sequence[Path], logs: Mapping[str, Sequence[LogOutline]]
) -> "DataFrame":
    """Of runs in which something is rolled back for good."""
    known = {run: RolledBackStretches.of(own) for run, own in logs.items()}
    by_run = {run: own for run, own in known.items() if len(own)}
    found = [
        each
        for table, key in (("events", "number"), ("status", "sample"))
        for path in paths
        for each in chunks(path, table, key)
        if each.run_id in by_run
    ]
    look_at = functools.partial(look, stretches=by_run)
    return spread(session, found, [each.size for each in found], look_at)


def look(chunk: Chunk, stretches: Stretches) -> Iterator[FindingRow]:
    """At some events, or at some samples."""
    claims = _events if chunk.part.table == "events" else _samples
    found = stopped(stretches[chunk.run_id], *claims(chunk))
    yield from finding_rows(chunk.run_id, STOPS, found)


def _events(chunk: Chunk) -> tuple[Numbers, Numbers, Callable[[int], EvidenceRow]]:
    table = read(chunk, ("name", "node", "index", "number"))
    table = table.filter(among(table, "name", ("confirmed",)))
    number = numbers(table, "number")
    columns = (numbers(table, "node"), numbers(table, "index"))
    return *columns, lambda at: proofs.event(int(number[at]))


def _samples(chunk: Chunk) -> tuple[Numbers, Numbers, Callable[[int], EvidenceRow]]:
    table = read(chunk, Samples.names())
    table = table.filter(numbers(table, "confirmed") != 0)
    status = Samples.of({name: table.column(name).to_pylist() for name in Samples.names()})
    return numbers(table, "node"), numbers(table, "confirmed"), lambda at: status.shows(at)[0]
