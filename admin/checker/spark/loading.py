"""Tables of bundles as DataFrames: large ones in Parquet are read by Spark without Python."""

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from admin.checker.spark.source import QsyncSource
from admin.evidence.bundle import Bundle
from admin.evidence.tables import RUN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LARGE_BYTES = 16 << 20
"""A bundle whose files of a table are smaller shares a few tasks with others."""


def load(session: "SparkSession", table: str, paths: Sequence[Path]) -> "DataFrame":
    """A table of all bundles; the data source must be registered."""
    large = [path for path in paths if is_large(path, table)]
    small = [path for path in paths if path not in large]
    found = [_read(session, table, path) for path in large]
    if small or not found:
        given = json.dumps([str(each.absolute()) for each in small])
        source = session.read.format("qsync").option("table", table).option("paths", given)
        found.append(source.load())
    return functools.reduce(lambda one, other: one.unionByName(other), found)


def is_large(path: Path, table: str) -> bool:
    """Worth reading by Spark itself, and in a format that it knows."""
    parts = Bundle.open(path).parts(table)
    size = sum(part.path.stat().st_size for part in parts)
    return size >= LARGE_BYTES and all(part.is_parquet for part in parts)


def _read(session: "SparkSession", table: str, path: Path) -> "DataFrame":
    from pyspark.sql import functions as f  # noqa: PLC0415 - comes with the extra

    bundle = Bundle.open(path)
    files = [str(part.path.absolute()) for part in bundle.parts(table)]
    found = session.read.schema(QsyncSource({"table": table}).schema()).parquet(*files)
    return found.withColumn(RUN, f.coalesce(f.col(RUN), f.lit(bundle.manifest.run_id)))
