"""Rows of a bundle, whatever its files are written in."""

from collections.abc import Iterator

from admin.evidence.bundle import Bundle, rows_of
from admin.evidence.tables import Row


def rows(bundle: Bundle, table: str) -> Iterator[Row]:
    """All rows of a table."""
    for part in bundle.parts(table):
        if part.is_parquet:
            from admin.checker.parquet import rows_of_parquet  # noqa: PLC0415 - needs the extra

            yield from rows_of_parquet(part, bundle.manifest.run_id)
        else:
            yield from rows_of(part, bundle.manifest.run_id)
