"""Histories in bundles: one task reads each in order, one batch at a time, at any length."""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from admin.checker.kernels.arrays import Numbers
from admin.checker.operation import FOREVER, LOOKS
from admin.checker.quick import OF_OBJECTS
from admin.checker.spark.clients.boxes import boxed
from admin.checker.spark.clients.pairing import APPENDS, SCHEMA, paired
from admin.checker.spark.scan_context import Batches
from admin.evidence.arrow import batch, batches, schema
from admin.evidence.bundle import Bundle, rows_of
from admin.evidence.tables import Row

BATCH = 131_072
_LIGHT = ("index", "process", "type", "f", "session", "seq")
LINE = (*_LIGHT, "key", "value", "floor", "floor_term", "term", "lsn", "log_index")
"""The columns of an operation; and those that an outline needs."""
_SHIFT = 40
_SEQ = (1 << _SHIFT) - 1
Request = tuple[str, int]
"""Session and number."""


class Lists(Enum):
    """The operations of a history that append to lists and read them."""

    NONE = auto()
    TRANSACTIONS = auto()
    ALL = auto()


@dataclass(slots=True)
class Outline:
    """The facts about a history that are needed before its operations are checked.

    `unknown`: requests with an unknown outcome, if no other operation has the same number.
    `unnamed`: there are unknown operations without a number.
    """

    count: int = 0
    fs: set[str] = field(default_factory=set)
    logged: bool = False
    ordered: bool = True
    sessioned: bool = False
    unknown: set[Request] = field(default_factory=set)
    unnamed: bool = False

    @property
    def lists(self) -> Lists:
        """The operations that are list-append transactions."""
        others = self.fs - {"txn"}
        if not _appends(self.fs):
            return Lists.NONE
        if not others or _appends(others) or not others & OF_OBJECTS:
            return Lists.ALL
        return Lists.TRANSACTIONS


@dataclass(frozen=True, slots=True)
class ResolvedRequests:
    """The log's answer about a history's unknown requests; `complete`: others never happened."""

    unknown: frozenset[Request]
    applied: frozenset[Request]
    complete: bool


def _appends(fs: set[str]) -> bool:
    return "txn" in fs or {"append"} < fs <= {"append", "read", "r"}


def outline(path: Path) -> Outline:
    """Read a history. Raises ValueError if it is not a history."""
    found = _first_look(path)
    sessions: dict[str, int] = {}
    numbers: list[Numbers] = []
    open_: dict[int, Request] = {}
    for table in paired(lines(path, found, _LIGHT), logged=found.logged):
        found.count += table.num_rows
        found.fs.update(pc.unique(table.column("f")).to_pylist())
        reads = pc.is_in(table.column("f"), pa.array(["read", "get"]))
        named = pc.and_(reads, table.column("session").is_valid())
        found.sessioned |= bool(pc.any(named).as_py())
        info = pc.equal(table.column("kind"), "info")
        unnumbered = pc.and_(info, table.column("seq").is_null())
        found.unnamed |= bool(pc.any(unnumbered).as_py())
        numbers.append(_numbered(table, sessions))
        unknown = table.filter(info)
        open_ |= {
            number: (name, number & _SEQ)
            for number in _numbered(unknown, sessions).tolist()
            for name in (list(sessions)[number >> _SHIFT],)
        }
    found.sessioned &= found.lists is not Lists.ALL
    # A number that several operations have identifies none of them.
    wanted = np.array(sorted(open_), dtype=np.int64)
    all_ = np.concatenate(numbers) if numbers else wanted
    seen, times = np.unique(all_[np.isin(all_, wanted)], return_counts=True)
    found.unknown = {open_[number] for number in seen[times == 1].tolist()}
    return found


def _numbered(table: pa.Table, sessions: dict[str, int]) -> Numbers:
    """Session and number as one number, for all numbered operations that may change something."""
    changes = pc.invert(pc.is_in(table.column("f"), pa.array(sorted(LOOKS))))
    named = pc.and_(table.column("seq").is_valid(), table.column("session").is_valid())
    known = table.filter(pc.and_(changes, named))
    coded = known.column("session").combine_chunks().dictionary_encode()
    names = [str(json.loads(each)) for each in coded.dictionary.to_pylist()]
    codes = np.array([sessions.setdefault(n, len(sessions)) for n in names], dtype=np.int64)
    if not known.num_rows:
        return np.empty(0, dtype=np.int64)
    found: Numbers = (codes[coded.indices.to_numpy()] << _SHIFT) | known.column("seq").to_numpy()
    return found


def spread(
    paths: Sequence[Path],
    outlines: Mapping[str, Outline],
    decided: Mapping[str, ResolvedRequests],
    boxes: int,
) -> Callable[[Batches], Batches]:
    """For rows with the number of a bundle: the operations of its history, in boxes."""

    def run(batches: Batches) -> Batches:
        for each in batches:
            for number in each.column(0).to_pylist():
                name = Bundle.open(paths[number]).manifest.run_id
                lists, logged = outlines[name].lists, outlines[name].logged
                known = lines(paths[number], outlines[name])
                for table in paired(known, logged=logged):
                    settled = _settled(table, decided[name])
                    yield from boxed(_parted(settled, lists), boxes)

    return run


def lines(path: Path, known: Outline, names: Sequence[str] = LINE) -> Iterator[pa.Table]:
    """The lines of the history in a bundle, in order; `names` are the columns that are read."""
    bundle = Bundle.open(path)
    wanted = pa.schema([schema("ops").field(name) for name in names])
    tables: Iterable[pa.Table] = _tables(bundle, wanted)
    if not known.ordered:
        whole = pa.concat_tables(tables).sort_by("index")
        index = whole.column("index").to_numpy()
        twice = index[1:][np.diff(index) == 0]
        if len(twice):
            raise ValueError(f"two lines have the index {twice[0]}")
        tables = (whole.slice(at, BATCH) for at in range(0, whole.num_rows, BATCH))
    for table in tables:
        run = pa.repeat(pa.scalar(bundle.manifest.run_id), table.num_rows)
        yield table.append_column("run_id", run)


def _first_look(path: Path) -> Outline:
    """Return whether lines are in order, and whether they name places in the log."""
    found, last = Outline(), -1
    wanted = [schema("ops").field(name) for name in ("index", "log_index")]
    for table in _tables(Bundle.open(path), pa.schema(wanted)):
        found.logged |= table.column("log_index").null_count < table.num_rows
        index = table.column("index").to_numpy()
        found.ordered &= int(index[0]) > last and not (np.diff(index) <= 0).any()
        last = int(index[-1])
    return found


def _tables(bundle: Bundle, wanted: pa.Schema) -> Iterator[pa.Table]:
    for part in bundle.parts("ops"):
        if not part.is_parquet:
            rows = rows_of(part, bundle.manifest.run_id)
            while few := list(itertools.islice(rows, BATCH)):
                yield pa.Table.from_batches([batch("ops", few)]).select(wanted.names)
            continue
        for some in batches(part, BATCH, only=wanted.names):
            there = some.schema.names
            columns = [
                some.column(f.name).cast(f.type)
                if f.name in there
                else pa.nulls(some.num_rows, f.type)
                for f in wanted
            ]
            if some.num_rows:
                yield pa.table(columns, schema=wanted)


def _settled(table: pa.Table, decided: ResolvedRequests) -> pa.Table:
    """Resolve unknown operations by the log where possible."""
    info = pc.equal(table.column("kind"), "info")
    changes = pc.invert(pc.is_in(table.column("f"), pa.array(sorted(LOOKS))))
    at = np.flatnonzero(pc.and_(info, changes).to_numpy())
    fates = [_fate(row, decided) for row in table.take(pa.array(at)).to_pylist()]
    mask = np.zeros(table.num_rows, dtype=np.bool_)
    mask[at[[fate is not None for fate in fates]]] = True
    known = [fate for fate in fates if fate is not None]
    for column, name in enumerate(("kind", "ended", "value")):
        field = SCHEMA.field(name)
        fresh = pa.array([fate[column] for fate in known], field.type)
        told = pc.replace_with_mask(table.column(name), pa.array(mask), fresh)
        table = table.set_column(SCHEMA.get_field_index(name), field, told)
    return table


def _fate(row: Row, decided: ResolvedRequests) -> tuple[str, int | None, str | None] | None:
    """Kind, end and value of an unknown operation, if the log has it."""
    if row["seq"] is None or row["session"] is None:
        return None
    name = (str(json.loads(str(row["session"]))), int(str(row["seq"])))
    value = None if row["value"] is None else str(row["value"])
    if name not in decided.unknown:
        return None
    if name in decided.applied:
        return "ok", FOREVER, _without_reads(value) if row["f"] == "txn" else value
    return ("fail", None, value) if decided.complete else None


def _without_reads(value: str | None) -> str | None:
    """Drop reads of unanswered transactions: their results are unknown."""
    steps = None if value is None else json.loads(value)
    return json.dumps([each for each in steps if each[0] != "r"]) if steps else value


def _parted(table: pa.Table, lists: Lists) -> pa.Table:
    """Transactions of a run are checked together, everything else by key."""
    if lists is Lists.NONE:
        return table
    mine = pc.equal(table.column("f"), "txn")
    part = pc.if_else(mine, APPENDS, table.column("key"))
    if lists is Lists.ALL:
        part = pa.array([APPENDS] * table.num_rows, pa.string())
    return table.set_column(SCHEMA.get_field_index("part"), "part", part)
