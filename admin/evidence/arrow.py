"""Rows and packed rows of evidence in Arrow, for Parquet and Spark (needs pyarrow)."""

import contextlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from admin.evidence import opening
from admin.evidence.bundle import NAMED, Bundle, BundlePart, in_one_step
from admin.evidence.manifest import ANEW, NoEvidence
from admin.evidence.rows import kind_name
from admin.evidence.tables import RUN, TABLES, ColumnType, Row
from qsync.store.private import FILE_OF_OWNER
from qsync.wire import packed

if TYPE_CHECKING:
    from admin.evidence.columns import LogColumns, Maybe

BATCH_ROWS = 65_536
"""How many rows of a file at a time."""
TYPES = {
    ColumnType.INT: pa.int64(),
    ColumnType.REAL: pa.float64(),
    ColumnType.TEXT: pa.string(),
    ColumnType.BOOL: pa.bool_(),
    ColumnType.JSON: pa.string(),
}
_KINDS = pa.array([kind_name(number) for number in range(256)], pa.string())


_LIKE: dict[ColumnType, tuple[Callable[[pa.DataType], bool], ...]] = {
    ColumnType.INT: (pa.types.is_integer,),
    ColumnType.REAL: (pa.types.is_floating, pa.types.is_integer),
    ColumnType.TEXT: (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary),
    ColumnType.BOOL: (pa.types.is_boolean,),
    ColumnType.JSON: (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary),
}
"""The types of columns in files of other programs, besides null."""


def batches(
    part: BundlePart, rows: int = BATCH_ROWS, only: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Read the rows of a Parquet file, or some of its columns. Raises NoEvidence."""
    with arrow_errors(part.path):
        file = pq.ParquetFile(part.path, page_checksum_verification=True)
        there = _fitting(part, file.schema_arrow)
        wanted = there if only is None else [name for name in only if name in there]
        for found in file.iter_batches(rows, columns=wanted):
            check_rows(part, found)
            yield found


def rows(part: BundlePart, run_id: str) -> Iterator[Row]:
    """Read the rows of a Parquet file with every column there is. Raises NoEvidence."""
    types = TABLES[part.table].columns
    columns: Row = {**dict.fromkeys(types), RUN: run_id}
    texts = [name for name, type_ in types.items() if type_ is ColumnType.JSON]
    for found in batches(part):
        for row in found.to_pylist():
            for name in texts:
                if row.get(name) is not None:
                    row[name] = _value(part, name, row[name])
            yield columns | {name: value for name, value in row.items() if value is not None}


def _value(part: BundlePart, name: str, text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise NoEvidence(f"{part.path}: {name} is no JSON: {error}") from error


def check_rows(part: BundlePart, found: pa.RecordBatch | pa.Table) -> None:
    """Check that every needed column is there and the rows are of this file. Raises NoEvidence."""
    for name in found.schema.names:
        column = found.column(name)
        if name in TABLES[part.table].needed and column.null_count:
            raise NoEvidence(f"{part.path} has rows without {name}")
        if part.named is not None and name in NAMED and len(column):
            held = pc.min_max(column).as_py()
            part.check(name, held["min"], held["max"])


def write(place: Path, found: pa.RecordBatch) -> None:
    """Write a Parquet file in one step, its pages with checksums."""
    with in_one_step(place) as fresh:
        table = pa.Table.from_batches([found])
        pq.write_table(table, fresh, compression="zstd", write_page_checksum=True)


def write_rows(place: Path, table: str, rows: Iterable[Row], *, mode: int = FILE_OF_OWNER) -> None:
    """Write rows to a Parquet file atomically, this many at a time."""
    with (
        in_one_step(place, mode=mode) as fresh,
        pq.ParquetWriter(
            fresh, schema(table), compression="zstd", write_page_checksum=True
        ) as writer,
    ):
        left = iter(rows)
        while some := list(itertools.islice(left, BATCH_ROWS)):
            writer.write_batch(batch(table, some))


def check_files(bundle: Bundle) -> None:
    """Read the end of every Parquet file, which says what is in it. Raises NoEvidence."""
    for part in (part for table in TABLES for part in bundle.parts(table) if part.is_parquet):
        with arrow_errors(part.path):
            footer = pq.read_metadata(part.path)
        _fitting(part, footer.schema.to_arrow_schema())
        needed = TABLES[part.table].needed
        for group in map(footer.row_group, range(footer.num_row_groups)):
            for column in map(group.column, range(group.num_columns)):
                known = column.statistics
                if column.path_in_schema in needed and known is not None and known.null_count:
                    raise NoEvidence(f"{part.path} has rows without {column.path_in_schema}")


def count(part: BundlePart) -> int:
    """Return how many rows a Parquet file has. Raises NoEvidence."""
    with arrow_errors(part.path):
        return int(pq.read_metadata(part.path).num_rows)


@contextlib.contextmanager
def arrow_errors(path: Path) -> Iterator[None]:
    """Turn Arrow's errors into NoEvidence, with the name of the file."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise NoEvidence(f"{path} cannot be read: {error}", hint=ANEW) from error


def _fitting(part: BundlePart, found: pa.Schema) -> list[str]:
    """Return the known columns, each of its type. Raises NoEvidence for a missing one."""
    table = TABLES[part.table]
    missing = table.needed.difference(found.names)
    if missing:
        raise NoEvidence(f"{part.path} lacks {', '.join(sorted(missing))}")
    there = [name for name in table.columns if name in found.names]
    for name in there:
        type_ = found.field(name).type
        if not pa.types.is_null(type_) and not any(
            like(type_) for like in _LIKE[table.columns[name]]
        ):
            raise NoEvidence(f"{part.path}: {name} is {table.columns[name]} and not {type_}")
    return there


def schema(table: str) -> pa.Schema:
    """Return the columns of a table in Arrow; JSON is text."""
    return pa.schema([(name, TYPES[type_]) for name, type_ in TABLES[table].columns.items()])


def never_null(table: str, found: pa.RecordBatch) -> pa.RecordBatch:
    """Return the same rows with the schema that Spark has: some columns are never null."""
    needed = TABLES[table].needed | {RUN}
    fields = [field.with_nullable(field.name not in needed) for field in found.schema]
    return pa.RecordBatch.from_arrays(found.columns, schema=pa.schema(fields))


def batch(table: str, rows: Sequence[Row]) -> pa.RecordBatch:
    """Return rows as columns."""
    columns = TABLES[table].columns
    arrays = []
    for name, type_ in columns.items():
        values = [row.get(name) for row in rows]
        if type_ is ColumnType.JSON:
            values = [None if each is None else json.dumps(each) for each in values]
        arrays.append(pa.array(values, TYPES[type_]))
    return pa.RecordBatch.from_arrays(arrays, schema=schema(table))


def entries(raw: bytes, *, run_id: str, node: int, generation: int) -> pa.RecordBatch:
    """Return a batch of a log as rows of `wal`."""
    from admin.evidence.columns import columns  # noqa: PLC0415 - numpy comes with the extra

    found = columns(packed.pack(raw, opening=64).rows)
    if not found.whole:
        found = columns(packed.pack(raw, opening=opening.BYTES_MAX).rows)
    return wal(found, run_id=run_id, node=node, generation=generation)


def wal(found: "LogColumns", *, run_id: str, node: int, generation: int) -> pa.RecordBatch:
    """Return entries of one node's log as rows of `wal`."""
    count = len(found)
    plain = ("index", "term", "origin", "lsn", "flags", "time", "crc", "body_len", "body_crc")
    maybe = ("ref_owner", "ref_lsn", "seq", "effects", "space", "key_hash")
    made: dict[str, pa.Array] = {
        RUN: pa.repeat(pa.scalar(run_id), count),
        "node": pa.repeat(pa.scalar(node, pa.int64()), count),
        "generation": pa.repeat(pa.scalar(generation, pa.int64()), count),
        "kind": _KINDS.take(pa.array(found.kind)),
        "session": _sessions(found),
        **{name: pa.array(getattr(found, name)) for name in plain},
        **{name: _known(getattr(found, name)) for name in maybe},
    }
    wanted = schema("wal")
    arrays = [made.get(each.name, pa.nulls(count, each.type)) for each in wanted]
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)


def _known(maybe: "Maybe") -> pa.Array:
    return pa.array(maybe.numbers, mask=~maybe.known)


def _sessions(found: "LogColumns") -> pa.Array:
    """Return texts that lie one after the other in one buffer; an empty one is null."""
    import numpy as np  # noqa: PLC0415 - comes with the extra

    ends = np.zeros(len(found) + 1, dtype=np.int32)
    np.cumsum(2 * found.session_sizes, out=ends[1:])
    there = found.session_sizes > 0
    valid = pa.array(there).buffers()[1]
    buffers = [valid, pa.py_buffer(ends), pa.py_buffer(found.session_hex)]
    return pa.Array.from_buffers(pa.string(), len(found), buffers)
