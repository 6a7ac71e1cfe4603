"""A bundle of evidence: a folder with a manifest, and tables in parts that are whole or absent."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from admin.evidence.manifest import MANIFEST, Manifest, NoEvidence
from admin.evidence.tables import RUN, TABLES, Row

LINES = ".jsonl"
PARQUET = ".parquet"


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a table. Where the name tells, what it holds: entries `first..last` of a node."""

    table: str
    path: Path
    node: int | None = None
    generation: int | None = None
    first: int | None = None
    last: int | None = None

    @property
    def is_parquet(self) -> bool:
        """It is read by `admin.checker.parquet`; everything else is JSON lines."""
        return self.path.suffix == PARQUET


@dataclass(frozen=True, slots=True)
class Bundle:
    """What is in a folder."""

    path: Path
    manifest: Manifest

    @classmethod
    def open(cls, path: Path) -> "Bundle":
        """Raises NoEvidence."""
        return cls(path, Manifest.load(path))

    def parts(self, table: str) -> list[Part]:
        """The files of a table: `wal.jsonl`, `wal.parquet` or any such in the folder `wal`."""
        assert table in TABLES, table
        found = [self.path / f"{table}{suffix}" for suffix in (LINES, PARQUET)]
        if table == "ops" and not any(path.is_file() for path in found):
            found.append(self.path / "history.jsonl")
        below = self.path / table
        if below.is_dir():
            found += sorted(p for p in below.rglob("*") if p.suffix in {LINES, PARQUET})
        return [_part(table, path, below) for path in found if path.is_file()]

    def rows(self, table: str) -> Iterator[Row]:
        """All rows of a table that is kept as JSON lines."""
        for part in self.parts(table):
            yield from rows_of(part, self.manifest.run_id)


def is_bundle(path: Path) -> bool:
    """It has a manifest."""
    return (path / MANIFEST).is_file()


def rows_of(part: Part, run_id: str) -> Iterator[Row]:
    """The rows of one file of JSON lines, every column there. Raises NoEvidence."""
    columns = dict.fromkeys(TABLES[part.table].columns)
    needed = TABLES[part.table].needed
    with part.path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                members = json.loads(line)
                missing = needed - members.keys()
            except (ValueError, AttributeError) as error:
                raise NoEvidence(f"{part.path}:{number} is no row: {error}") from error
            if missing:
                raise NoEvidence(f"{part.path}:{number} lacks {', '.join(sorted(missing))}")
            yield {**columns, RUN: run_id, **{k: v for k, v in members.items() if k in columns}}


def write_part(path: Path, rows: Iterable[Row]) -> int:
    """Write a file in one step, so that what is there is whole; returns how many rows it has."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    count = 0
    with fresh.open("w", encoding="utf-8") as file:
        for row in rows:
            shown = {name: value for name, value in row.items() if value is not None}
            file.write(json.dumps(shown, separators=(",", ":")) + "\n")
            count += 1
    fresh.replace(path)
    return count


def write(folder: Path, manifest: Manifest, tables: dict[str, Iterable[Row]]) -> Bundle:
    """A small bundle at once: a file a table."""
    folder.mkdir(parents=True, exist_ok=True)
    counted = {name: write_part(folder / f"{name}{LINES}", rows) for name, rows in tables.items()}
    known = _with_rows(manifest, counted)
    known.save(folder)
    return Bundle(folder, known)


def log_part(folder: Path, node: int, generation: int, first: int, last: int) -> Path:
    """Where the entries `first..last` of a node's log are kept."""
    return folder / "wal" / f"{node}.{generation}" / f"{first:012d}-{last:012d}{LINES}"


def _with_rows(manifest: Manifest, counted: dict[str, int]) -> Manifest:
    return replace(manifest, rows={**manifest.rows, **counted})


def _part(table: str, path: Path, below: Path) -> Part:
    if table != "wal" or below not in path.parents:
        return Part(table, path)
    try:
        node, generation = (int(each) for each in path.parent.name.split("."))
        first, last = (int(each) for each in path.stem.split("-"))
    except ValueError:
        return Part(table, path)
    return Part(table, path, node, generation, first, last)
