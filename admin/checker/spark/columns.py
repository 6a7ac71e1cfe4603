"""A slice of one log as numpy columns, in order: what the vectorised invariants look at."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from admin.evidence.rows import kind_number
from qsync.record import Kind

Numbers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Whose = tuple[str, int, int]
"""Run, node, generation."""

TXN, CONFIRM, ROLLBACK, PROMOTE = (
    int(Kind.TXN),
    int(Kind.CONFIRM),
    int(Kind.ROLLBACK),
    int(Kind.PROMOTE),
)
NOBODY = -1
"""The session of an entry that no numbered request made."""


class Body(NamedTuple):
    """What the checksum covers beside the place: when, and CRC and length of the body."""

    time: NDArray[np.float64]
    crc: Numbers
    length: Numbers
    known: Flags


class Ref(NamedTuple):
    """Which entry a control entry names."""

    owner: Numbers
    lsn: Numbers
    known: Flags


class Request(NamedTuple):
    """Who asked for an entry: a place in `names`, or NOBODY, and the number of the request."""

    session: Numbers
    seq: Numbers
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Some entries of a log, by index; equal ones by checksum."""

    whose: Whose
    index: Numbers
    term: Numbers
    kind: Numbers
    origin: Numbers
    lsn: Numbers
    flags: Numbers
    crc: Numbers
    body: Body
    ref: Ref
    request: Request

    def __len__(self) -> int:
        return len(self.index)


def slices(run_id: str, tables: Sequence[pa.Table]) -> list[Slice]:
    """A slice for each log that has entries in them."""
    logs: dict[tuple[int, int], list[pa.Table]] = defaultdict(list)
    for table in tables:
        for log, part in _by_log(table):
            logs[log].append(part)
    return [_slice((run_id, *log), parts) for log, parts in sorted(logs.items())]


def _by_log(table: pa.Table) -> Iterator[tuple[tuple[int, int], pa.Table]]:
    node, generation = _numbers(table, "node"), _numbers(table, "generation")
    if (node == node[0]).all() and (generation == generation[0]).all():
        yield (int(node[0]), int(generation[0])), table
        return
    for one, other in sorted(set(zip(node.tolist(), generation.tolist(), strict=True))):
        yield (one, other), table.filter(pa.array((node == one) & (generation == other)))


def _slice(whose: Whose, parts: list[pa.Table]) -> Slice:
    table = pa.concat_tables(parts).unify_dictionaries().combine_chunks()
    index, crc = _numbers(table, "index"), _numbers(table, "crc")
    if (np.diff(index) <= 0).any():
        table = table.take(pa.array(np.lexsort((crc, index))))
        index, crc = _numbers(table, "index"), _numbers(table, "crc")
    session, names = _codes(table, "session")
    kind, kinds = _codes(table, "kind")
    known = [_there(table, name) for name in ("time", "body_crc", "body_len")]
    return Slice(
        whose=whose,
        index=index,
        term=_numbers(table, "term"),
        kind=np.array([kind_number(each) for each in kinds], dtype=np.int64)[kind],
        origin=_numbers(table, "origin"),
        lsn=_numbers(table, "lsn"),
        flags=_numbers(table, "flags"),
        crc=crc,
        body=Body(
            _reals(table, "time"),
            _numbers(table, "body_crc"),
            _numbers(table, "body_len"),
            np.logical_and.reduce(known),
        ),
        ref=Ref(
            _numbers(table, "ref_owner"),
            _numbers(table, "ref_lsn"),
            _there(table, "ref_owner") & _there(table, "ref_lsn"),
        ),
        request=Request(
            np.where(_there(table, "seq"), session, NOBODY), _numbers(table, "seq"), names
        ),
    )


def _column(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _numbers(table: pa.Table, name: str) -> Numbers:
    column = _column(table, name)
    found: Numbers = (column.fill_null(0) if column.null_count else column).to_numpy()
    return found


def _reals(table: pa.Table, name: str) -> NDArray[np.float64]:
    column = _column(table, name)
    found: NDArray[np.float64] = (column.fill_null(0.0) if column.null_count else column).to_numpy()
    return found


def _there(table: pa.Table, name: str) -> Flags:
    column = _column(table, name)
    if not column.null_count:
        return np.ones(len(column), dtype=np.bool_)
    found: Flags = column.is_valid().to_numpy(zero_copy_only=False)
    return found


def _codes(table: pa.Table, name: str) -> tuple[Numbers, tuple[str, ...]]:
    """Texts as places in a list of all of them; NOBODY where there is none."""
    column = _column(table, name)
    codes = column.indices
    codes = codes.fill_null(NOBODY) if codes.null_count else codes
    found: Numbers = codes.to_numpy().astype(np.int64)
    return found, tuple(column.dictionary.to_pylist())
