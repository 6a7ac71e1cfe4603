"""A bundle of evidence: a folder with a manifest, and tables in parts that are whole or absent."""

import contextlib
import itertools
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from admin.evidence import checksums
from admin.evidence.manifest import MANIFEST, Manifest, NoEvidence
from admin.evidence.tables import FITS, RUN, TABLES, Row
from qsync.store.private import FILE_OF_OWNER

DUMPS = ("nodes", "directories")
"""Sources whose manifest counts rows only when everything is there."""
_GO_ON = "`qsync dump` into this folder continues where it stopped"
LINES = ".jsonl"
PARQUET = ".parquet"


HISTORY = "history.jsonl"
"""The file name of the table of operations, chosen for people."""
NAMED = ("node", "generation", "index")
"""Columns of a log that the name of a file tells, too."""
Named: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class BundlePart:
    """One file of a table, with what its name says: entries `first..last` of a node."""

    table: str
    path: Path
    node: int | None = None
    generation: int | None = None
    first: int | None = None
    last: int | None = None

    @property
    def is_parquet(self) -> bool:
        """Whether it is Parquet, for `admin.checker.parquet`; all else is JSON lines."""
        return self.path.suffix == PARQUET

    @property
    def named(self) -> Named | None:
        """The parts of the name of a log file: node, generation, first and last index."""
        if self.node is None or self.generation is None or self.first is None or self.last is None:
            return None
        return (self.node, self.generation, self.first, self.last)

    def check(self, column: str, low: int, high: int) -> None:
        """Check that a column's lowest and highest values fit its name. Raises NoEvidence."""
        if self.named is None or column not in NAMED:
            return
        node, generation, first, last = self.named
        lowest, highest = {"node": (node, node), "generation": (generation, generation)}.get(
            column, (first, last)
        )
        if low < lowest or high > highest:
            odd = low if low < lowest else high
            held = f"entries {low}..{high}" if column == "index" else f"{column} {odd}"
            raise NoEvidence(f"{self.path} holds {held}, which is not what its name says")


@dataclass(frozen=True, slots=True)
class Bundle:
    """A folder of evidence."""

    path: Path
    manifest: Manifest

    @classmethod
    def open(cls, path: Path) -> "Bundle":
        """Open the bundle of a folder. Raises NoEvidence."""
        return cls(path, Manifest.load(path))

    def parts(self, table: str) -> list[BundlePart]:
        """Return the files of a table: `wal.jsonl`, `wal.parquet` or those in the folder `wal`."""
        assert table in TABLES, table
        found = [self.path / f"{table}{suffix}" for suffix in (LINES, PARQUET)]
        if table == "ops" and not any(path.is_file() for path in found):
            found.append(self.path / HISTORY)
        below = self.path / table
        if below.is_dir():
            found += sorted(p for p in below.rglob("*") if p.suffix in {LINES, PARQUET})
        return [_part(table, path, below) for path in found if path.is_file()]

    def check_whole(self) -> None:
        """Check that no file is damaged and no part of a log is missing. Raises NoEvidence.

        A gap proves nothing, and what a disk did is nothing that nodes did.
        """
        self.check_logs()
        for name, wanted in self.manifest.checksums.items():
            checksums.check(self.path / name, wanted)

    def check_part(self, part: BundlePart) -> None:
        """Check that a file is as it was written, if its checksum is known. Raises NoEvidence."""
        wanted = self.manifest.checksums.get(self._name(part))
        if wanted is not None:
            checksums.check(part.path, wanted)

    def seal(self) -> "Bundle":
        """Save the manifest with checksums of all tables: from now on no file may change."""
        parts = [part for table in TABLES for part in self.parts(table)]
        found = {self._name(part): checksums.of(part.path) for part in parts}
        sealed = replace(self.manifest, checksums=found)
        sealed.save(self.path)
        return Bundle(self.path, sealed)

    def _name(self, part: BundlePart) -> str:
        return part.path.relative_to(self.path).as_posix()

    def check_logs(self) -> None:
        """Check that no parts of logs are missing. Raises NoEvidence."""
        if self.manifest.source in DUMPS and not self.manifest.rows:
            raise NoEvidence(f"{self.path} is not whole: its dump was interrupted", hint=_GO_ON)
        parts = self.parts("wal")
        strangers = [each.path for each in parts if each.node is None]
        if strangers and len(strangers) < len(parts):
            problem = f"{strangers[0]} is no part of the logs that lie beside it"
            raise NoEvidence(problem, hint="move it away: it would be judged with them")
        if strangers or not (parts or self.manifest.rows.get("wal")):
            return  # Their names do not tell what they hold; or there were never any.
        for facts in self.manifest.nodes:
            mine = [each for each in parts if (each.node, each.generation) == facts.whose]
            double = _double(mine)
            if double is not None:
                problem = f"{double.path} holds entries that another file has, too"
                raise NoEvidence(problem, hint="move one of them away: they would be judged twice")
            gap = _gap(mine, facts.first, facts.last)
            if gap is not None:
                name = facts.name or f"node {facts.node}"
                lacks = f"of the log of {name} it lacks the entries {gap[0]} to {gap[1]}"
                raise NoEvidence(f"{self.path} is not whole: {lacks}", hint=_GO_ON)

    def rows(self, table: str) -> Iterator[Row]:
        """Return all rows of a table that is kept as JSON lines."""
        for part in self.parts(table):
            yield from rows_of(part, self.manifest.run_id)


def _gap(parts: Iterable[BundlePart], first: int, last: int) -> tuple[int, int] | None:
    """Return the first entries of `first..last` that no file is named after."""
    wanted = first
    for each in sorted(parts, key=lambda part: part.first or 0):
        begins, ends = each.first or 0, each.last or 0
        if begins > wanted:
            return wanted, min(last, begins - 1)
        wanted = max(wanted, ends + 1)
    return (wanted, last) if wanted <= last else None


def _double(parts: Iterable[BundlePart]) -> BundlePart | None:
    """Return a file with entries that the one before it has, too."""
    known = sorted(parts, key=lambda part: part.first or 0)
    for before, each in itertools.pairwise(known):
        if (each.first or 0) <= (before.last or 0):
            return each
    return None


def is_bundle(path: Path) -> bool:
    """Return whether a folder has a manifest."""
    return (path / MANIFEST).is_file()


def rows_of(part: BundlePart, run_id: str) -> Iterator[Row]:
    """Return the rows of one file of JSON lines with every column. Raises NoEvidence."""
    columns: Row = {**dict.fromkeys(TABLES[part.table].columns), RUN: run_id}
    needed = TABLES[part.table].needed
    fits = {name: FITS[type_] for name, type_ in TABLES[part.table].columns.items()}
    named = part.named
    number = 0
    with part.path.open(encoding="utf-8") as file:
        try:
            for number, line in enumerate(file, start=1):
                members = json.loads(line)
                missing = needed - members.keys()
                if missing:
                    raise NoEvidence(f"{part.path}:{number} lacks {', '.join(sorted(missing))}")
                row = columns.copy()
                for name, value in members.items():
                    fit = fits.get(name)
                    if fit is None:
                        continue  # Written by a later version.
                    if not isinstance(value, fit) and (value is not None or name in needed):
                        raise _misfit(part, number, name, value)
                    row[name] = value
                if named is not None:
                    _check_place(part, named, row)
                yield row
        except UnicodeDecodeError as error:
            raise NoEvidence(f"{part.path} is no text: {error}") from error
        except (ValueError, AttributeError) as error:
            raise NoEvidence(f"{part.path}:{number} is no row: {error}") from error


def _check_place(part: BundlePart, named: Named, row: Row) -> None:
    index = row["index"]
    assert isinstance(index, int)
    if (row["node"], row["generation"]) != named[:2] or not named[2] <= index <= named[3]:
        for name, value in ((name, row[name]) for name in NAMED):
            assert isinstance(value, int)
            part.check(name, value, value)


def _misfit(part: BundlePart, number: int, name: str, value: object) -> NoEvidence:
    type_ = TABLES[part.table].columns[name]
    return NoEvidence(f"{part.path}:{number} is no row: {name} is {type_} and not {value!r:.80}")


def write_part(path: Path, rows: Iterable[Row], *, mode: int = FILE_OF_OWNER) -> int:
    """Write a whole file in one step; return how many rows it has."""
    count = 0
    with in_one_step(path, mode=mode) as fresh, fresh.open("w", encoding="utf-8") as file:
        for row in rows:
            shown = {name: value for name, value in row.items() if value is not None}
            file.write(json.dumps(shown, separators=(",", ":")) + "\n")
            count += 1
    return count


@contextlib.contextmanager
def in_one_step(path: Path, *, mode: int = FILE_OF_OWNER) -> Iterator[Path]:
    """Make a file to write, which gets its name when it is complete, or else is removed.

    `mode`: who may read it; its owner alone by default, since rows tell what users stored.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)  # a kill has left it
    try:
        os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        yield fresh
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def write(folder: Path, manifest: Manifest, tables: dict[str, Iterable[Row]]) -> Bundle:
    """Write a small bundle at once, with a file for each table."""
    folder.mkdir(parents=True, exist_ok=True)
    counted = {name: write_part(folder / f"{name}{LINES}", rows) for name, rows in tables.items()}
    return Bundle(folder, _with_rows(manifest, counted)).seal()


def log_part(folder: Path, node: int, generation: int, first: int, last: int) -> Path:
    """Return the path of the entries `first..last` of a node's log."""
    return folder / "wal" / f"{node}.{generation}" / f"{first:012d}-{last:012d}{LINES}"


def _with_rows(manifest: Manifest, counted: dict[str, int]) -> Manifest:
    return replace(manifest, rows={**manifest.rows, **counted})


def _part(table: str, path: Path, below: Path) -> BundlePart:
    if table != "wal" or below not in path.parents:
        return BundlePart(table, path)
    try:
        node, generation = (int(each) for each in path.parent.name.split("."))
        first, last = (int(each) for each in path.stem.split("-"))
    except ValueError:
        return BundlePart(table, path)
    return BundlePart(table, path, node, generation, first, last)
