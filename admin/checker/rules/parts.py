"""Rows of a bundle, in any file format."""

from collections.abc import Iterator
from pathlib import Path

from admin.evidence.bundle import Bundle, BundlePart, rows_of
from admin.evidence.manifest import ANEW, MANIFEST, NoEvidence
from admin.evidence.tables import TABLES, Row

_CHUNK = 1 << 20


def rows(bundle: Bundle, table: str) -> Iterator[Row]:
    """All rows of a table."""
    for part in bundle.parts(table):
        if part.is_parquet:
            from admin.checker.parquet import rows_of_parquet  # noqa: PLC0415 - needs the extra

            yield from rows_of_parquet(part, bundle.manifest.run_id)
        else:
            yield from rows_of(part, bundle.manifest.run_id)


def check_counts(bundle: Bundle) -> None:
    """Raises NoEvidence unless each table has all rows that the manifest states.

    Otherwise a lost table would look like a table that never existed. Extra rows, in a file that
    was added later, are checked too.
    """
    for table, wanted in bundle.manifest.rows.items():
        found = sum(map(_count, bundle.parts(table))) if table in TABLES else wanted
        if found < wanted:
            told = f"{bundle.path} is not whole: {MANIFEST} says {wanted} rows of {table}"
            hint = f"{ANEW}; if it was changed on purpose, say so in `rows` in {MANIFEST}"
            raise NoEvidence(f"{told}, and there are {found}", hint=hint)


def _count(part: BundlePart) -> int:
    if part.is_parquet:
        from admin.evidence.arrow import count  # noqa: PLC0415 - needs the extra

        return count(part)
    return _lines(part.path)


def _lines(path: Path) -> int:
    """Count lines, including a last line without a newline."""
    found, last = 0, b"\n"
    with path.open("rb") as file:
        while some := file.read(_CHUNK):
            found, last = found + some.count(b"\n"), some[-1:]
    return found + (last != b"\n")
