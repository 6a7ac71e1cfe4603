"""Columns of a table, read by tasks directly from its files: no row goes through Java."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

from admin.checker.spark.arrays import numbers
from admin.checker.spark.job_schema import DDL, FindingRow
from admin.checker.spark.scan_context import Batches, batch
from admin.evidence.arrow import arrow_errors, check_rows, schema
from admin.evidence.arrow import batch as rows_as_columns
from admin.evidence.bundle import Bundle, BundlePart, rows_of
from admin.evidence.manifest import NoEvidence
from admin.evidence.tables import RUN, TABLES, ColumnType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOREVER = 1 << 62
TASK_BYTES = 16 << 20
"""Smaller files share a task: a task costs more than a small file."""
TASKS_MAX = 512
LINES_ROWS = 16_384
"""How many lines are decoded in Python at once."""
WORDS = frozenset({"session", "type", "f", "name", "kind"})
"""Columns with few different texts: read as numbers, with a list of the texts."""

Job = TypeVar("Job")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A file, or a row group of it; a column of it is known to be in `first..last`."""

    run_id: str
    part: BundlePart
    group: int | None = None
    first: int = -FOREVER
    last: int = FOREVER
    share: int = 1
    """The number of groups of the file."""

    def meets(self, first: int, last: int) -> bool:
        """Whether it may have rows with that column in the range."""
        return self.first <= last and self.last >= first

    @property
    def size(self) -> int:
        """The approximate number of bytes."""
        return self.part.path.stat().st_size // self.share


def chunks(path: Path, table: str, key: str) -> list[Chunk]:
    """All chunks of a bundle, without those that have no `key` in any row."""
    bundle = Bundle.open(path)
    run = bundle.manifest.run_id
    return [one for part in bundle.parts(table) for one in _chunks(run, part, key)]


def read(chunk: Chunk, names: Sequence[str]) -> pa.Table:
    """Read these columns. Missing ones are null; `WORDS` are dictionaries. Raises NoEvidence."""
    part, wanted = chunk.part, schema(chunk.part.table)
    if part.is_parquet:
        words = [name for name in names if name in WORDS]
        with arrow_errors(part.path):
            file = pq.ParquetFile(part.path, read_dictionary=words, page_checksum_verification=True)
            there = [name for name in names if name in file.schema_arrow.names]
            groups = range(file.num_row_groups) if chunk.group is None else [chunk.group]
            found = file.read_row_groups(list(groups), columns=there, use_threads=False)
        check_rows(part, found)
    else:
        found = _lines(part, names)
    columns = []
    for name in names:
        type_ = wanted.field(name).type
        known = name in found.schema.names
        column = found.column(name) if known else pa.nulls(found.num_rows, type_)
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        column = column.fill_null(chunk.run_id) if name == RUN else column
        if name in WORDS:
            column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        else:
            column = column.cast(type_)
        columns.append(column)
    return pa.table(columns, names=list(names))


def in_order(found: Sequence[Chunk], key: str, names: Sequence[str]) -> Iterator[pa.Table]:
    """Tables in the order of a numeric column: each continues where the last one ended.

    Chunks that overlap, or have an unknown range, are sorted together.
    """
    left = sorted(found, key=lambda chunk: chunk.first)
    while left:
        some, last = [left.pop(0)], 0
        last = some[0].last
        while left and left[0].first <= last:
            last = max(last, left[0].last)
            some.append(left.pop(0))
        tables = [read(chunk, names) for chunk in some]
        whole = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
        place = numbers(whole, key)
        if (np.diff(place) < 0).any():
            whole = whole.take(pa.array(np.argsort(place, kind="stable")))
        yield whole


def spread(
    session: "SparkSession",
    jobs: Sequence[Job],
    sizes: Sequence[int],
    look: Callable[[Job], Iterator[FindingRow]],
) -> "DataFrame":
    """The findings of all jobs; each task runs some of them."""
    if not jobs:
        return session.createDataFrame([], DDL)

    def run(batches: Batches) -> Batches:
        for each in batches:
            for number in each.column(0).to_pylist():
                yield batch(look(jobs[number]))

    tasks = min(sum(sizes) // TASK_BYTES + 1, len(jobs), TASKS_MAX)
    return session.range(0, len(jobs), 1, tasks).mapInArrow(run, DDL)


def collected(frame: "DataFrame") -> Iterator[FindingRow]:
    """Collect the findings on the driver, for the next question; queries leave nulls."""
    for row in frame.collect():
        yield FindingRow(
            run_id=row["run_id"] or "",
            what=row["what"],
            invariant=row["invariant"] or "",
            node=row["node"] or 0,
            generation=row["generation"] or 0,
            index=row["index"] or 0,
            term=row["term"] or 0,
            amount=row["amount"] or 0,
            message=row["message"] or "",
        )


def _lines(part: BundlePart, names: Sequence[str]) -> pa.Table:
    """A file of JSON lines; with JSON inside, row by row."""
    table = TABLES[part.table]
    if any(table.columns[name] is ColumnType.JSON for name in names):
        rows, tables = rows_of(part, ""), []
        while some := list(itertools.islice(rows, LINES_ROWS)):
            tables.append(pa.Table.from_batches([rows_as_columns(part.table, some)]).select(names))
        return pa.concat_tables(tables) if tables else schema(part.table).empty_table()
    wanted = pa.schema([schema(part.table).field(name) for name in names])
    if not part.path.stat().st_size:
        return wanted.empty_table()
    options = pj.ParseOptions(explicit_schema=wanted, unexpected_field_behavior="ignore")
    try:
        found = pj.read_json(part.path, pj.ReadOptions(use_threads=False), options)
    except pa.ArrowInvalid as error:
        raise NoEvidence(f"{part.path} holds what is no row: {error}") from error
    for name in table.needed & set(names):
        if found.column(name).null_count:
            raise NoEvidence(f"{part.path} has rows without {name}")
    return found


def _chunks(run: str, part: BundlePart, key: str) -> Iterator[Chunk]:
    if part.first is not None and part.last is not None and key == "index":
        yield Chunk(run, part, None, part.first, part.last)
        return
    if not part.is_parquet:
        yield Chunk(run, part)
        return
    footer = pq.read_metadata(part.path)
    if key not in footer.schema.names:
        return
    at, groups = footer.schema.names.index(key), footer.num_row_groups
    for group in range(groups):
        found = footer.row_group(group).column(at).statistics
        if found is not None and found.has_min_max:
            yield Chunk(run, part, group, found.min, found.max, groups)
        elif found is None or found.null_count != footer.row_group(group).num_rows:
            yield Chunk(run, part, group, share=groups)
