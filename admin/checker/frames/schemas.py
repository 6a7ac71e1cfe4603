"""The schemas of evidence, verdicts and violations, as Spark has them: types, nulls, comments."""

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from admin.checker.spark.source import table_named
from admin.evidence.column_notes import COLUMN_NOTES
from admin.evidence.tables import RUN, ColumnType

_TYPES: Final = {
    ColumnType.INT: LongType(),
    ColumnType.REAL: DoubleType(),
    ColumnType.TEXT: StringType(),
    ColumnType.BOOL: BooleanType(),
    ColumnType.JSON: StringType(),
}
_WITNESS: Final = ArrayType(
    StructType([StructField("table", StringType()), StructField("row", StringType())])
)


def _always(name: str, type_: DataType, comment: str) -> StructField:
    return StructField(name, type_, nullable=False, metadata={"comment": comment})


def _maybe(name: str, type_: DataType, comment: str) -> StructField:
    return StructField(name, type_, nullable=True, metadata={"comment": comment})


_OF_RUN: Final = (
    _always(RUN, StringType(), "name of the run"),
    _always("source", StringType(), "where the run was read from"),
    _always("invariant", StringType(), "id of the rule"),
    _always("title", StringType(), "what the rule says"),
)
VIOLATIONS: Final = StructType(
    [
        *_OF_RUN,
        _maybe("node", LongType(), "id of the node, where it is about one"),
        _maybe("index", LongType(), "index of the log entry, sample, event or line"),
        _maybe("term", LongType(), "term of that"),
        _maybe("key", StringType(), "JSON: the object that it is about"),
        _maybe("seconds", DoubleType(), "s into the run, where that is known"),
        _always("message", StringType(), "what is wrong"),
        _always("count", LongType(), "how many the run has of this rule"),
        _always("witness", _WITNESS, "rows that prove it: the table, and the row as JSON"),
    ]
)
"""A row for each violation; up to a thousand are kept per rule and run."""
VERDICTS: Final = StructType(
    [
        *_OF_RUN,
        _always("verdict", StringType(), "pass, fail, unknown or skipped"),
        _always("facts", LongType(), "how many facts were examined"),
        _always("violations", LongType(), "how many there are"),
        _maybe("note", StringType(), "why it is unknown or skipped"),
        _always("seconds", DoubleType(), "seconds that it took, or its share of the jobs"),
    ]
)
"""A row for each run and rule."""


def table_schema(table: str) -> StructType:
    """The columns of a table of evidence: `nullable` is False for a column that every row has.

    Each has a comment with its meaning and unit. Raises ConfigError if there is no such table.

    ```python
    frames.table_schema("wal")["crc"].metadata["comment"]
    ```
    """
    known = table_named(table)
    needed = known.needed | {RUN}
    return StructType(
        [
            (_always if name in needed else _maybe)(name, _TYPES[type_], COLUMN_NOTES[table][name])
            for name, type_ in known.columns.items()
        ]
    )
