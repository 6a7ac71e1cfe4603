"""Tables of bundles as DataFrames, each by the cheapest way there is.

What no bundle has is known to be empty, so that queries about it cost nothing. Large tables in
Parquet are read by Spark without Python. The rest is read by ordinary Python tasks: the data source
gives the same, but plans in a Python process of its own for every query.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from admin.checker.rules.votes import ELECTIONS
from admin.checker.spark.arrays import among, numbers, words
from admin.checker.spark.job_schema import FindingRow
from admin.checker.spark.reading import TASK_BYTES, TASKS_MAX, Chunk, chunks, read, spread
from admin.checker.spark.scanning import Batches
from admin.checker.spark.source import PartitionReader, QsyncSource
from admin.evidence.arrow import TYPES
from admin.evidence.bundle import Bundle
from admin.evidence.tables import RUN, TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ELECTED = (RUN, "node", "generation", "number", "time_mono", "name", "term", "peer")
"""What is looked at of them."""
_BUNDLES = "bundles"
"""What a column of the table knows."""
_VERIFIED = "parquet.page.verify-checksum.enabled"
"""Of Java's reader, which does not look at checksums of pages by itself."""
LARGE_BYTES = 16 << 20
"""A bundle whose files of a table are smaller shares a few tasks with others."""


def load(session: "SparkSession", table: str, paths: Sequence[Path]) -> "DataFrame":
    """A table of all bundles; of `events` only what elections leave, which queries are about."""
    there = [path for path in paths if Bundle.open(path).parts(table)]
    large = [path for path in there if is_large(path, table)]
    small = [path for path in there if path not in large]
    if table == "events":
        large, small = [], []
    found = [_read(session, table, path) for path in large]
    if small:
        found.append(_in_python(session, table, small))
    if table == "events" and there:
        found.append(_elections(session, there))
    if not found:
        found.append(session.createDataFrame([], _ddl(table)))
    whole = functools.reduce(lambda one, other: one.unionByName(other), found)
    return whole.withMetadata(RUN, {_BUNDLES: [str(path.absolute()) for path in there]})


def bundles(table: "DataFrame") -> list[Path]:
    """The bundles that have rows of a table that was loaded: some tasks read files themselves."""
    return [Path(each) for each in table.schema[RUN].metadata[_BUNDLES]]


def named(tables: "Mapping[str, DataFrame]") -> "DataFrame":
    """Which names there are among the events, how often, and how far those reach."""
    parts = _events(tables)

    def look(chunk: Chunk) -> Iterator[FindingRow]:
        table = read(chunk, ("name", "index", "term"))
        codes, texts = words(table, "name")
        index, term = numbers(table, "index"), numbers(table, "term")
        for code, name in enumerate(texts):
            mine = codes == code
            last, newest = (int(each[mine].max(initial=0)) for each in (index, term))
            yield FindingRow(chunk.run_id, "events", name, 0, 0, last, newest, int(mine.sum()))

    sizes = [each.size for each in parts]
    return spread(tables["events"].sparkSession, parts, sizes, look)


def _events(tables: "Mapping[str, DataFrame]") -> list[Chunk]:
    return [e for path in bundles(tables["events"]) for e in chunks(path, "events", "number")]


def is_large(path: Path, table: str) -> bool:
    """Worth reading by Spark itself, and in a format that it knows."""
    parts = Bundle.open(path).parts(table)
    size = sum(part.path.stat().st_size for part in parts)
    return size >= LARGE_BYTES and all(part.is_parquet for part in parts)


def _ddl(table: str) -> str:
    return QsyncSource({"table": table}).schema()


def _in_python(session: "SparkSession", table: str, paths: Sequence[Path]) -> "DataFrame":
    reader = PartitionReader(table, [str(path.absolute()) for path in paths], aligned=False)
    parts = reader.partitions()

    def read(batches: Batches) -> Batches:
        for each in batches:
            for number in each.column(0).to_pylist():
                yield from reader.read(parts[number])

    places = session.range(0, len(parts), 1, len(parts))
    return places.mapInArrow(read, _ddl(table))


def _elections(session: "SparkSession", paths: Sequence[Path]) -> "DataFrame":
    """The rows of some names; what is not wanted stays in the files."""
    parts = [each for path in paths for each in chunks(path, "events", "number")]
    columns = TABLES["events"].columns

    def read_some(batches: Batches) -> Batches:
        for each in batches:
            for number in each.column(0).to_pylist():
                wanted = among(read(parts[number], ("name",)), "name", ELECTIONS)
                if not wanted.any():
                    continue
                rows = read(parts[number], _ELECTED).filter(pa.array(wanted))
                yield from pa.table(
                    [
                        rows.column(name).cast(TYPES[type_])
                        if name in _ELECTED
                        else pa.nulls(len(rows), TYPES[type_])
                        for name, type_ in columns.items()
                    ],
                    names=list(columns),
                ).to_batches()

    tasks = min(sum(each.size for each in parts) // TASK_BYTES + 1, len(parts), TASKS_MAX)
    places = session.range(0, len(parts), 1, max(tasks, 1))
    return places.mapInArrow(read_some, _ddl("events"))


def _read(session: "SparkSession", table: str, path: Path) -> "DataFrame":
    from pyspark.sql import functions as f  # noqa: PLC0415 - comes with the extra

    bundle = Bundle.open(path)
    files = [str(part.path.absolute()) for part in bundle.parts(table)]
    found = session.read.option(_VERIFIED, "true").schema(_ddl(table)).parquet(*files)
    return found.withColumn(RUN, f.coalesce(f.col(RUN), f.lit(bundle.manifest.run_id)))
