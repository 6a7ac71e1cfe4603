"""The work of one task: the same range of indexes of the logs of all nodes of a run.

Planned from the names of files, or from the statistics in Parquet files, without reading rows. A
run without either is one unit.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
import pyarrow.parquet as pq

from admin.checker.parquet import TYPES
from admin.evidence.arrow import arrow_errors
from admin.evidence.bundle import NAMED, PARQUET, Bundle, BundlePart
from admin.evidence.manifest import Manifest, NoEvidence
from admin.evidence.tables import WAL

COLUMNS = (
    "node",
    "generation",
    "index",
    "term",
    "kind",
    "origin",
    "lsn",
    "flags",
    "crc",
    "ref_owner",
    "ref_lsn",
    "session",
    "seq",
    "time",
    "body_crc",
    "body_len",
)
"""The columns of a log that invariants read."""
_SCHEMA = pa.schema([(name, TYPES[WAL.columns[name]]) for name in COLUMNS])
_WORDS = ("kind", "session")
FOREVER = 1 << 62


@dataclass(frozen=True, slots=True)
class ScanUnit:
    """A file, or some row groups of it, with entries `first..last` and no others."""

    part: BundlePart
    groups: tuple[int, ...] | None = None
    first: int = 0
    last: int = FOREVER

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self.part.path

    @property
    def log(self) -> tuple[int, int] | None:
        """Node and generation, if all entries are known to be of one log."""
        return None if self.part.named is None else self.part.named[:2]


@dataclass(frozen=True, slots=True)
class Unit:
    """Everything of a run with an index in `first..last`."""

    run_id: str
    first: int
    last: int
    pieces: tuple[ScanUnit, ...]


def plan(paths: Sequence[Path], span: int | None = None) -> list[Unit]:
    """All units of all runs, those of a run in order; `span` entries of each log, if given."""
    units = []
    for path in paths:
        bundle = Bundle.open(path)
        size = bundle.manifest.part_entries
        pieces = [one for part in bundle.parts("wal") for one in _pieces(part, size)]
        units += list(_units(bundle.manifest, pieces, span))
    return units


def tables(unit: Unit, columns: Sequence[str] = COLUMNS) -> list[pa.Table]:
    """The entries of a unit, one table per file, in no order; texts are dictionaries.

    Unused columns are empty. Raises NoEvidence.
    """
    found = []
    for piece in unit.pieces:
        table = _parquet(piece, columns) if piece.path.suffix == PARQUET else _lines(piece)
        if piece.first < unit.first or piece.last > unit.last:
            index = table.column("index")
            inside = pc.and_(pc.greater_equal(index, unit.first), pc.less_equal(index, unit.last))
            table = table.filter(inside)
        if table.num_rows:
            found.append(table)
    return found


def _pieces(part: BundlePart, size: int) -> Iterator[ScanUnit]:
    """A part of normal size as one piece; a larger part as one piece per row group."""
    first, last = (0, FOREVER) if part.named is None else part.named[2:]
    if not part.is_parquet or last - first < size:
        yield ScanUnit(part, None, first, last)
        return
    with arrow_errors(part.path):
        footer = pq.read_metadata(part.path)
    at = footer.schema.names.index("index")
    for group in range(footer.num_row_groups):
        known = footer.row_group(group).column(at).statistics
        if known is not None and known.has_min_max:
            yield ScanUnit(part, (group,), max(first, known.min), min(last, known.max))
        elif footer.row_group(group).num_rows:
            yield ScanUnit(part, (group,), first, last)


def _units(manifest: Manifest, pieces: Sequence[ScanUnit], wanted: int | None) -> Iterator[Unit]:
    """Ranges as wide as the widest piece, in whole parts; one if a piece may have any entry."""
    if not pieces:
        return
    if any(piece.last == FOREVER for piece in pieces):
        yield Unit(manifest.run_id, 0, FOREVER, tuple(pieces))
        return
    size = manifest.part_entries
    widest = max(piece.last - piece.first for piece in pieces)
    span = wanted or (widest // size + 1) * size
    ranges: dict[int, list[ScanUnit]] = defaultdict(list)
    for piece in pieces:
        for number in range((piece.first - 1) // span, (piece.last - 1) // span + 1):
            ranges[number].append(piece)
    for number, inside in sorted(ranges.items()):
        first = number * span + 1
        yield Unit(manifest.run_id, first, first + span - 1, tuple(inside))


def _parquet(piece: ScanUnit, columns: Sequence[str]) -> pa.Table:
    words = list(_WORDS)
    with arrow_errors(piece.path):
        file = pq.ParquetFile(piece.path, read_dictionary=words, page_checksum_verification=True)
        there = [name for name in columns if name in file.schema_arrow.names]
        groups = range(file.num_row_groups) if piece.groups is None else piece.groups
        found = file.read_row_groups(list(groups), columns=there, use_threads=False)
    return _checked(found, piece)


def _lines(piece: ScanUnit) -> pa.Table:
    options = pj.ParseOptions(explicit_schema=_SCHEMA, unexpected_field_behavior="ignore")
    if not piece.path.stat().st_size:
        return _checked(_SCHEMA.empty_table(), piece)
    try:
        found = pj.read_json(piece.path, pj.ReadOptions(use_threads=False), options)
    except pa.ArrowInvalid as error:
        raise NoEvidence(f"{piece.path} holds what is no row: {error}") from error
    return _checked(found, piece)


def known_columns(found: pa.Table, where: object = "it") -> pa.Table:
    """All columns, the required ones without nulls. Raises NoEvidence."""
    columns = []
    for name in COLUMNS:
        if name not in found.schema.names:
            column = pa.chunked_array([pa.nulls(found.num_rows, _SCHEMA.field(name).type)])
        else:
            column = found.column(name)
        if name in WAL.needed and column.null_count:
            raise NoEvidence(f"{where} has rows without {name}")
        if name in _WORDS and not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        columns.append(column)
    return pa.table(columns, names=list(COLUMNS))


def _checked(found: pa.Table, piece: ScanUnit) -> pa.Table:
    """Whether it is the file that the plan was made from."""
    table = known_columns(found, piece.path)
    for name in NAMED if piece.part.named is not None and table.num_rows else ():
        held = pc.min_max(table.column(name)).as_py()
        piece.part.check(name, held["min"], held["max"])
    return table
