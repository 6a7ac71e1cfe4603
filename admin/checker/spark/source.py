"""The Spark data source `qsync`: the tables of bundles of evidence, in partitions, as Arrow."""

import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)

from admin.evidence.arrow import batch, schema
from admin.evidence.bundle import Bundle, Part, rows_of
from admin.evidence.tables import RUN, TABLES, Type

BATCH_ROWS = 16_384
PARTITION_BYTES = 16 << 20
"""Smaller files are read by one task: a task costs more than a small file."""
_SQL = {
    Type.INT: "bigint",
    Type.REAL: "double",
    Type.TEXT: "string",
    Type.BOOL: "boolean",
    Type.JSON: "string",
}


@dataclass
class Files(InputPartition):
    """Files that are read together, each with its run: small ones, or those of one range."""

    parts: list[tuple[str, Part]]


@dataclass(slots=True)
class Bounds:
    """What pushed filters leave of the parts of logs; the names of the files tell."""

    node: int | None = None
    run_id: str | None = None
    first: int = 0
    last: int = 1 << 62

    def take(self, filter_: Filter) -> None:
        """Narrow by one filter, if it is of use."""
        match filter_:
            case EqualTo(("node",), int(value)):
                self.node = value
            case EqualTo(("run_id",), str(value)):
                self.run_id = value
            case EqualTo(("index",), int(value)):
                self.first, self.last = max(self.first, value), min(self.last, value)
            case GreaterThan(("index",), int(value)) | GreaterThanOrEqual(("index",), int(value)):
                self.first = max(self.first, value)
            case LessThan(("index",), int(value)) | LessThanOrEqual(("index",), int(value)):
                self.last = min(self.last, value)
            case _:
                pass

    def admit(self, run_id: str, part: Part) -> bool:
        """The part may hold rows that are wanted."""
        if self.run_id not in {None, run_id}:
            return False
        if part.node is None or part.first is None or part.last is None:
            return True
        asked = self.node in {None, part.node}
        return asked and part.first <= self.last and part.last >= self.first


class QsyncSource(DataSource):
    """Options: `table`; `path` (or `paths`, a JSON list); `align`: one range of all nodes."""

    @classmethod
    def name(cls) -> str:
        """As in `spark.read.format("qsync")`."""
        return "qsync"

    def schema(self) -> str:
        """The columns of the table."""
        columns = TABLES[self._table].columns
        return ", ".join(f"`{name}` {_SQL[type_]}" for name, type_ in columns.items())

    def reader(self, schema: object) -> "Reader":  # noqa: ARG002 - it is always ours
        """For a batch."""
        given = self.options.get("paths")
        paths = json.loads(given) if given else [self.options["path"]]
        aligned = self.options.get("align", "false").lower() == "true"
        return Reader(self._table, [str(each) for each in paths], aligned=aligned)

    @property
    def _table(self) -> str:
        return str(self.options.get("table", "wal"))


class Reader(DataSourceReader):
    """Plans partitions on the driver, reads them where Spark likes."""

    def __init__(self, table: str, paths: list[str], *, aligned: bool) -> None:
        self._table = table
        self._paths = paths
        self._aligned = aligned
        self._bounds = Bounds()

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Leaves out files; Spark still filters the rows."""
        for each in filters:
            self._bounds.take(each)
            yield each

    def partitions(self) -> list[InputPartition]:
        """Small files together; aligned, the files of one range of a run."""
        found: list[tuple[str, Part]] = []
        for path in self._paths:
            bundle = Bundle.open(Path(path))
            run_id = bundle.manifest.run_id
            parts = bundle.parts(self._table)
            found += [(run_id, part) for part in parts if self._bounds.admit(run_id, part)]
        if not self._aligned:
            return list(_packed(found))
        found.sort(key=_range)
        same = itertools.groupby(found, key=_range)
        return [Files(list(parts)) for _, parts in same] or [Files([])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows, in batches."""
        assert isinstance(partition, Files)
        for run_id, part in partition.parts:
            if part.is_parquet:
                yield from _parquet(part, run_id)
                continue
            rows = rows_of(part, run_id)
            while some := list(itertools.islice(rows, BATCH_ROWS)):
                yield batch(part.table, some)


def _packed(found: list[tuple[str, Part]]) -> Iterator[Files]:
    """As many as make up `PARTITION_BYTES`; at least one, though it be empty."""
    some: list[tuple[str, Part]] = []
    size = 0
    for run_id, part in found:
        here = part.path.stat().st_size
        if some and size + here > PARTITION_BYTES:
            yield Files(some)
            some, size = [], 0
        some.append((run_id, part))
        size += here
    yield Files(some)


def _range(found: tuple[str, Part]) -> tuple[str, int]:
    run_id, part = found
    return run_id, part.first or 0


def _parquet(part: Part, run_id: str) -> Iterator[pa.RecordBatch]:
    wanted = schema(part.table)
    for found in pq.ParquetFile(part.path).iter_batches(BATCH_ROWS):
        columns = []
        for field in wanted:
            if field.name in found.schema.names:
                column = found.column(field.name).cast(field.type)
            else:
                column = pa.nulls(found.num_rows, field.type)
            if field.name == RUN:
                column = pc.fill_null(column, run_id)
            columns.append(column)
        yield pa.RecordBatch.from_arrays(columns, schema=wanted)
