"""Writes rows of evidence to files: in a format, and as they are or redacted."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from admin.evidence import parts, rows
from admin.evidence.bundle import LINES, PARQUET, write_part
from admin.evidence.manifest import Manifest
from admin.evidence.parts import EntryPart, Whose
from admin.evidence.redacting import Redactor
from admin.evidence.tables import Row
from qsync.store.private import FILE_OF_ALL, FILE_OF_OWNER, make_private


class PartFormat(StrEnum):
    """The format for parts of logs and events; other tables are small, and always lines."""

    JSONL = "jsonl"
    PARQUET = "parquet"

    @property
    def suffix(self) -> str:
        """The suffix of a file."""
        return PARQUET if self is PartFormat.PARQUET else LINES


@dataclass(frozen=True, slots=True)
class EvidenceWriter:
    """Writes files. With a redactor it never writes data that users stored."""

    kept: PartFormat = PartFormat.JSONL
    redactor: Redactor | None = None

    @property
    def opening(self) -> int:
        """How many bytes of every body to ask for first."""
        return parts.opening_of(self.kept is PartFormat.PARQUET and self.redactor is None)

    def make_folder(self, folder: Path) -> None:
        """Make the folder of a bundle; one that is there stays as it is. Raises OSError."""
        if self.redactor is not None:
            folder.mkdir(parents=True, exist_ok=True)
        elif not folder.exists():
            make_private(folder)

    @property
    def _mode(self) -> int:
        return FILE_OF_OWNER if self.redactor is None else FILE_OF_ALL

    def write_log(self, place: Path, part: EntryPart, whose: Whose) -> None:
        """Write a part of a log in one step. Raises TooShort."""
        if self.redactor is None:
            parts.write(place, part, whose)
            return
        found = rows.packed_rows(part.rows, node=whose.node, generation=whose.generation)
        self._write(place, "wal", self.redactor.rows("wal", found))

    def write_events(self, place: Path, found: Iterable[Row]) -> None:
        """Write a part of the events; `place` without a suffix."""
        if self.redactor is not None:
            found = self.redactor.rows("events", found)
        self._write(place.with_suffix(self.kept.suffix), "events", found)

    def write_table(self, folder: Path, table: str, found: Iterable[Row]) -> int:
        """Write a small table as lines; return how many rows it has."""
        if self.redactor is not None:
            found = self.redactor.rows(table, found)
        return write_part(folder / f"{table}{LINES}", found, mode=self._mode)

    def manifest_of(self, manifest: Manifest) -> Manifest:
        """Return the manifest as it is written: redacted, if the rows are."""
        return manifest if self.redactor is None else self.redactor.manifest(manifest)

    def _write(self, place: Path, table: str, found: Iterable[Row]) -> None:
        if place.suffix == LINES:
            write_part(place, found, mode=self._mode)
            return
        from admin.evidence import arrow  # noqa: PLC0415 - comes with the extra

        arrow.write_rows(place, table, found, mode=self._mode)
