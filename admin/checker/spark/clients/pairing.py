"""Pairs lines of a history into operations, thousands at a time: the begin with its end."""

import json
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from admin.checker.kernels.arrays import Numbers
from admin.checker.operation import ANOTHER, ANSWERS, difference
from admin.checker.readers.pairing import HistoryEvent
from admin.evidence.tables import Row

SCHEMA = pa.schema(
    [
        ("run_id", pa.string()),
        ("part", pa.string()),
        ("key", pa.string()),
        ("number", pa.int64()),
        ("process", pa.int64()),
        ("f", pa.string()),
        ("value", pa.string()),
        ("ended", pa.int64()),
        ("kind", pa.string()),
        ("session", pa.string()),
        ("seq", pa.int64()),
        ("place", pa.int64()),
        ("term", pa.int64()),
        ("floor", pa.int64()),
        ("floor_term", pa.int64()),
        ("date", pa.int64()),
        ("said", pa.binary()),
    ]
)
"""An operation: `number` is its begin, `place` and `term` are its log position.

JSON values are text. Operations of one `part` are checked together. `date` is the log position of
the write that was read; `said` has verdicts that are passed on.
"""
DDL = (
    "run_id string, part string, key string, number bigint, process bigint, f string, "
    "value string, ended bigint, kind string, session string, seq bigint, place bigint, "
    "term bigint, floor bigint, floor_term bigint, date bigint, said binary"
)
APPENDS = "appends"
"""The part of list-append transactions; it is not JSON, so it is different from every key."""
_FLOOR = ("floor", "floor_term")
_STARTS = ("run_id", "index", "key", "process", "f", "value", "session", "seq", *_FLOOR)
_ENDS = ("index", "type", "value", "term", "lsn", "log_index")
_KEPT = ("run_id", "key", "process", "f", "value", "session", "seq", *_FLOOR)
GROWTH = 3
"""How many lines are read before unfinished operations are paired again with them."""
_TERM = 1 << 48
"""A term has one origin, and the lsn of an origin only grows: together they order the log."""


def paired(tables: Iterable[pa.Table], *, logged: bool) -> Iterator[pa.Table]:
    """Operations of one history whose lines come in order. Without an end: unknown.

    `logged`: lines name log positions; otherwise terms and lsns do. Raises ValueError when a
    process begins something before its last operation ended, or ends another one than it began.
    """
    held: list[pa.Table] = []
    lines, waiting = 0, 0
    for table in tables:
        held.append(table)
        lines += table.num_rows
        if lines >= GROWTH * waiting:
            found, open_ = _some(pa.concat_tables(held), logged=logged)
            yield found
            held, lines, waiting = [open_], 0, open_.num_rows
    if held:
        found, open_ = _some(pa.concat_tables(held), logged=logged)
        yield found
        yield _operations(open_, None, logged=logged)


def _some(lines: pa.Table, *, logged: bool) -> tuple[pa.Table, pa.Table]:
    """The operations that ended in these lines, and the lines of those that did not."""
    whole = lines.combine_chunks()
    begun, ended, open_ = _pairs(whole)
    _refuse_others(whole.take(begun), whole.take(ended))
    ends = whole.select([name for name in _ENDS if name in whole.schema.names])
    starts = whole.select([name for name in _STARTS if name in whole.schema.names])
    found = _operations(starts.take(begun), ends.take(ended), logged=logged)
    return found, whole.take(open_)


def _pairs(table: pa.Table) -> tuple[Numbers, Numbers, Numbers]:
    """Positions of beginnings, of their ends, and of beginnings without an end."""
    process = table.column("process").to_numpy()
    starts = pc.equal(table.column("type"), "invoke").to_numpy()
    order = np.argsort(process, kind="stable")
    same = np.diff(process[order]) == 0
    first = starts[order]
    _refuse(table, order[1:][same & first[1:] & first[:-1]], "begins twice")
    before = np.concatenate(([False], same & first[:-1]))
    _refuse(table, order[~first & ~before], "ends what it never began")
    at = np.flatnonzero(same & first[:-1])
    last = np.concatenate((~same, [True])) if len(order) else np.empty(0, dtype=np.bool_)
    return order[at], order[at + 1], np.sort(order[first & last])


def _refuse(table: pa.Table, at: Numbers, what: str) -> None:
    if len(at):
        process, line = (table.column(name)[int(at[0])] for name in ("process", "index"))
        raise ValueError(f"process {process} {what}, at line {line}")


def _refuse_others(begun: pa.Table, ended: pa.Table) -> None:
    """Refuse ends of other operations than those that began, as far as the columns tell."""
    there = [name for name in ("f", "key", "value") if name in begun.schema.names]
    unlike = np.zeros(begun.num_rows, dtype=np.bool_)
    for name in there:
        begin, end = begun.column(name), ended.column(name)
        # An end need not repeat anything, and what began without a value is told at the end.
        same = pc.or_(pc.fill_null(pc.equal(begin, end), pa.scalar(value=False)), pc.is_null(end))
        unlike |= ~(pc.or_(same, pc.is_null(begin)) if name == "value" else same).to_numpy()
    at = pa.array(np.flatnonzero(unlike))
    lines = [each.select(["index", "process", "type", *there]).take(at) for each in (begun, ended)]
    for first, last in zip(*(each.to_pylist() for each in lines), strict=True):
        what = difference(_event(first), _event(last), ok=last["type"] == "ok")
        if what is not None:
            where = f"at line {last['index']}"
            raise ValueError(f"process {last['process']} {ANOTHER}, {where}: {what}")


def _event(row: Row) -> HistoryEvent:
    """Return a line whose JSON is read."""
    texts = {name: row.get(name) for name in ("key", "value")}
    known = {name: json.loads(str(text)) for name, text in texts.items() if text is not None}
    return HistoryEvent(line=0, process=None, type=str(row["type"]), f=str(row["f"]), **known)


def _operations(begun: pa.Table, ended: pa.Table | None, *, logged: bool) -> pa.Table:
    size = begun.num_rows
    there = begun.schema.names
    columns = {name: begun.column(name) for name in _KEPT if name in there}
    columns |= {"number": begun.column("index")}
    if "key" in there:
        columns["part"] = begun.column("key")
    if ended is None:
        columns["kind"] = pa.repeat(pa.scalar("info"), size)
    else:
        columns["kind"] = ended.column("type")
        columns |= _told(begun, ended, logged=logged) if "value" in there else {}
    filled = [columns.get(each.name, pa.nulls(size, each.type)) for each in SCHEMA]
    return pa.table(filled, schema=SCHEMA)


def _told(begun: pa.Table, ended: pa.Table, *, logged: bool) -> dict[str, pa.ChunkedArray]:
    """The data of an end: the value, the time, and the log position."""
    type_, numbers = ended.column("type"), pa.nulls(ended.num_rows, pa.int64())
    ok = pc.equal(type_, "ok")
    answers = pc.is_in(begun.column("f"), pa.array(sorted(ANSWERS)))
    told = pc.and_(ok, pc.or_(answers, pc.is_null(begun.column("value"))))
    place = ended.column("log_index") if logged else _by_lsn(ended)
    term = ended.column("term") if logged else numbers
    return {
        "value": pc.if_else(told, ended.column("value"), begun.column("value")),
        "ended": pc.if_else(pc.equal(type_, "info"), numbers, ended.column("index")),
        "place": pc.if_else(ok, place, numbers),
        "term": pc.if_else(pc.and_(ok, place.is_valid()), term, numbers),
    }


def _by_lsn(ended: pa.Table) -> pa.ChunkedArray:
    return pc.add(pc.multiply(ended.column("term"), _TERM), ended.column("lsn"))
