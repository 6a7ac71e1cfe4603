"""Bundles of evidence as Parquet: smaller, and read by Spark without Python (needs the extra)."""

import json
from collections.abc import Iterator
from pathlib import Path

from admin.evidence.arrow import TYPES, batch, batches, write
from admin.evidence.bundle import HISTORY, PARQUET, Bundle, BundlePart, rows_of
from admin.evidence.manifest import NoEvidence
from admin.evidence.tables import RUN, TABLES, ColumnType, Row

__all__ = ["TYPES", "rows_of_parquet", "to_parquet"]


def rows_of_parquet(part: BundlePart, run_id: str) -> Iterator[Row]:
    """The rows of one file. Raises NoEvidence."""
    columns = TABLES[part.table].columns
    jsons = [name for name, type_ in columns.items() if type_ is ColumnType.JSON]
    for found in batches(part):
        for row in found.to_pylist():
            try:
                known = {name: json.loads(row[name]) for name in jsons if row.get(name) is not None}
            except ValueError as error:
                raise NoEvidence(f"{part.path} holds what is no JSON: {error}") from error
            yield {**dict.fromkeys(columns), **row, **known, RUN: row.get(RUN) or run_id}


def to_parquet(bundle: Bundle, folder: Path) -> Bundle:
    """Copy evidence to another folder as Parquet, part by part."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in TABLES:
        for part in bundle.parts(table):
            place = folder / part.path.relative_to(bundle.path)
            name = table if place.name == HISTORY else place.stem
            place = place.with_name(name + PARQUET)
            rows = list(
                rows_of_parquet(part, bundle.manifest.run_id)
                if part.is_parquet
                else rows_of(part, bundle.manifest.run_id)
            )
            write(place, batch(table, rows))
    return Bundle(folder, bundle.manifest).seal()
