"""The Spark data source `qsync`: the tables of bundles and of running nodes, as Arrow."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    Filter,
    InputPartition,
    SimpleDataSourceStreamReader,
)

from admin.checker.spark import options
from admin.checker.spark.bounds import Bounds
from admin.evidence.arrow import batch, batches, never_null, schema
from admin.evidence.bundle import Bundle, BundlePart, rows_of
from admin.evidence.column_notes import COLUMN_NOTES
from admin.evidence.tables import RUN, TABLES, ColumnType, Table
from qsync.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

BATCH_ROWS = 16_384
PARTITION_BYTES = 16 << 20
"""One task reads several smaller files: a task costs more than a small file."""
_SQL = {
    ColumnType.INT: "bigint",
    ColumnType.REAL: "double",
    ColumnType.TEXT: "string",
    ColumnType.BOOL: "boolean",
    ColumnType.JSON: "string",
}


@dataclass
class Files(InputPartition):
    """Files that are read together, each with its run: small files, or files of one range."""

    parts: list[tuple[str, BundlePart]]


def table_named(name: str) -> Table:
    """Raises ConfigError if no source has this name."""
    table = TABLES.get(name)
    if table is None:
        raise ConfigError(f"there is no table {name!r}", hint=f"known are {', '.join(TABLES)}")
    return table


def _ddl(name: str) -> str:
    """The columns of a table with their comments."""
    table = table_named(name)
    needed = table.needed | {RUN}
    return ", ".join(
        f"`{column}` {_SQL[type_]}{' NOT NULL' if column in needed else ''} "
        f"COMMENT '{COLUMN_NOTES[name][column]}'"
        for column, type_ in table.columns.items()
    )


class QsyncSource(DataSource):
    """Options: `table`; `path` (or `paths`, a JSON list), or `nodes`: addresses, by commas.

    `align`: one range of all nodes in one partition. Of nodes: `run` names the run, `span` is how
    many entries a task fetches, and a stream begins behind the index `begin`. How a secured cluster
    is dialled: `ca`, `certificate`, `key`, `host`, `user`, `password_file` (`credentials`).
    """

    @classmethod
    def name(cls) -> str:
        """The name in `spark.read.format("qsync")`."""
        return "qsync"

    def schema(self) -> str:
        """The columns of the table."""
        return _ddl(options.read(self.options).table)

    def reader(self, schema: object) -> DataSourceReader:  # noqa: ARG002 - it is always ours
        """For a batch."""
        asked = options.read(self.options).placed()
        if not asked.nodes:
            return PartitionReader(asked.table, list(asked.paths), aligned=asked.aligned)
        # Only a reader of nodes needs the client.
        from admin.checker.spark.source_live import LiveReader  # noqa: PLC0415

        return LiveReader(
            asked.table,
            asked.nodes,
            run_id=asked.run,
            aligned=asked.aligned,
            span=asked.span,
            variables=asked.variables,
        )

    def streamReader(self, schema: "StructType") -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return the stream of what running nodes confirm."""
        asked = options.read(self.options)
        if asked.table != "wal" or not asked.nodes:
            # Spark uses the simple reader then.
            return super().streamReader(schema)
        from admin.checker.spark.stream import WalStream  # noqa: PLC0415 - talks to nodes

        return WalStream(
            asked.nodes, run_id=asked.run, begin=asked.begin, variables=asked.variables
        )

    def simpleStreamReader(  # noqa: N802 - Spark's name
        self,
        schema: "StructType",  # noqa: ARG002 - it is always ours
    ) -> SimpleDataSourceStreamReader:
        """Return the stream of the status of running nodes."""
        asked = options.read(self.options)
        if asked.table != "status" or not asked.nodes:
            raise ConfigError(
                "the data source qsync streams the tables wal and status of running nodes",
                hint="name them with the option nodes; a bundle is read with spark.read",
            )
        from admin.checker.spark.stream import StatusStream  # noqa: PLC0415 - talks to nodes

        return StatusStream(asked.nodes, run_id=asked.run, variables=asked.variables)


class PartitionReader(DataSourceReader):
    """Plans partitions on the driver, and reads them on executors."""

    def __init__(self, table: str, paths: list[str], *, aligned: bool) -> None:
        self._table = table
        self._paths = paths
        self._aligned = aligned
        self._bounds = Bounds()

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Leaves out files; Spark still filters the rows."""
        return self._bounds.pushed(filters)

    def partitions(self) -> list[InputPartition]:
        """Small files together; aligned, the files of one range of a run."""
        found: list[tuple[str, BundlePart]] = []
        for path in self._paths:
            bundle = Bundle.open(Path(path))
            run_id = bundle.manifest.run_id
            for part in bundle.parts(self._table):
                if self._bounds.admit(run_id, part):
                    bundle.check_part(part)
                    found.append((run_id, part))
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
                for found in _parquet(part, run_id):
                    yield never_null(part.table, found)
                continue
            rows = rows_of(part, run_id)
            while some := list(itertools.islice(rows, BATCH_ROWS)):
                yield never_null(part.table, batch(part.table, some))


def _packed(found: list[tuple[str, BundlePart]]) -> Iterator[Files]:
    """Pack files into partitions of `PARTITION_BYTES`; at least one, even if it is empty."""
    some: list[tuple[str, BundlePart]] = []
    size = 0
    for run_id, part in found:
        here = part.path.stat().st_size
        if some and size + here > PARTITION_BYTES:
            yield Files(some)
            some, size = [], 0
        some.append((run_id, part))
        size += here
    yield Files(some)


def _range(found: tuple[str, BundlePart]) -> tuple[str, int]:
    run_id, part = found
    return run_id, part.first or 0


def _parquet(part: BundlePart, run_id: str) -> Iterator[pa.RecordBatch]:
    wanted = schema(part.table)
    for found in batches(part, BATCH_ROWS):
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
