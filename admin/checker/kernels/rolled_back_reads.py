"""No read shows a rolled-back value.

Few entries are rolled back, so the questions are about few requests and few values: which requests
they are, whether a retry is in a log, what they wrote, and which other operations wrote or read the
same value.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from admin.checker.kernels import proofs
from admin.checker.kernels.arrays import NOBODY, Flags, Numbers
from admin.checker.kernels.columns import Whose
from admin.checker.kernels.kernel import PartKernel
from admin.checker.kernels.logs.outlines import LogOutline, Request
from admin.checker.kernels.questions import Asking, TableQuestion
from admin.checker.kernels.tables import ColumnTable, among
from admin.checker.rules.rule import RuleFinding

HIDDEN = "rolled-back-hidden"
ENTRIES = ("node", "generation", "index", "session", "seq")
LINES = ("index", "type", "f", "session", "seq", "key", "value")
WRITES = ("write", "cas", "put")
Answers: TypeAlias = Iterator[list[Any]]
Value: TypeAlias = tuple[str, str]
"""Key and value, as Python shows them."""
Gone: TypeAlias = Mapping[Whose, Numbers]
"""By log, indexes that are rolled back permanently, in order."""


def hidden(logs: Sequence[LogOutline]) -> Asking:
    """No read shows a value whose only writes were rolled back permanently."""
    gone = {log.whose: _places(log) for log in logs if log.rolled}
    if not gone:
        return RuleFinding()
    ends = min(int(each[0]) for each in gone.values()), max(int(each[-1]) for each in gone.values())
    told = yield TableQuestion("wal", ENTRIES, partial(rolled_back, gone=gone), *ends)
    requests: dict[Request, tuple[int, int, int]] = {}
    for node, generation, index, session, seq in sorted(told):
        requests.setdefault((session, seq), (node, generation, index))
    asked = frozenset(requests)
    told = yield TableQuestion("wal", ENTRIES, partial(elsewhere, gone=gone, asked=asked))
    asked -= {(session, seq) for session, seq in told}
    wrote = yield TableQuestion("ops", LINES, partial(written, asked=asked))
    writer = {(key, value): (line, (who, seq)) for line, who, seq, key, value in wrote}
    told = yield TableQuestion("ops", LINES, partial(writers, values=frozenset(writer)))
    count = Counter[Value]()
    for key, value, lines in told:
        count[key, value] += lines
    lost = {value: (line, requests[who]) for value, (line, who) in writer.items()}
    lost = {value: each for value, each in lost.items() if count[value] == 1}
    if not lost:
        return RuleFinding()
    told = yield TableQuestion("ops", LINES, partial(reads, values=frozenset(lost)))
    found = RuleFinding()
    for first, *shown in told:
        if not shown:
            found.facts += first
            continue
        key, value = shown
        line, (node, generation, index) = lost[repr(key), repr(value)]
        message = (
            f"line {first} of the history read {value!r} of {key}, which was written at {index} "
            "and rolled back"
        )
        rows = (proofs.line(line), proofs.entry(node, generation, index), proofs.line(first))
        found.broken(HIDDEN, message, rows, index=first)
    return found


def rolled_back(table: ColumnTable, gone: Gone) -> Answers:
    """The requests of rolled-back entries, and their indexes."""
    which = _is_gone(table, gone) & table.known("seq")
    codes, names = table.coded("session")
    at = np.flatnonzero(which & (codes != NOBODY))
    columns = [table.numbers(name)[at].tolist() for name in ("node", "generation", "index", "seq")]
    for node, generation, index, seq, code in zip(*columns, codes[at].tolist(), strict=True):
        yield [node, generation, index, str(names[code]), seq]


def elsewhere(table: ColumnTable, gone: Gone, asked: Collection[Request]) -> Answers:
    """The requests that are in a log and not rolled back there."""
    for at, who, seq in _asked(table, asked, ~_is_gone(table, gone)):
        del at
        yield [who, seq]


def written(table: ColumnTable, asked: Collection[Request]) -> Answers:
    """The keys and values that the requests wrote, by the history."""
    own = list(_asked(table, asked, _is_write(table)))
    at = np.array([place for place, _, _ in own], dtype=np.int64)
    for (_, who, seq), (line, key, value) in zip(own, _values(table, at), strict=True):
        yield [line, who, seq, repr(key), repr(value)]


def writers(table: ColumnTable, values: Collection[Value]) -> Answers:
    """How many lines wrote each value."""
    some = np.flatnonzero(_is_write(table) & _has_key(table, values))
    count = Counter((repr(key), repr(value)) for _, key, value in _values(table, some))
    for key, value in count.keys() & set(values):
        yield [key, value, count[key, value]]


def reads(table: ColumnTable, values: Collection[Value]) -> Answers:
    """The number of reads, and the reads that show one of the values."""
    read = among(table, "f", ("read",)) & among(table, "type", ("ok",))
    yield [int(read.sum())]
    for line, key, value in _values(table, np.flatnonzero(read & _has_key(table, values))):
        if (repr(key), repr(value)) in values:
            yield [line, key, value]


def _places(log: LogOutline) -> Numbers:
    return np.unique(np.concatenate([np.arange(e.first, e.last + 1) for e in log.rolled]))


def _is_gone(table: ColumnTable, gone: Gone) -> Flags:
    index, node, generation = (table.numbers(name) for name in ("index", "node", "generation"))
    found: Flags = np.zeros(len(index), dtype=np.bool_)
    for (one, other), places in gone.items():
        found |= (node == one) & (generation == other) & np.isin(index, places)
    return found


def _asked(
    table: ColumnTable, asked: Collection[Request], which: Flags
) -> Iterator[tuple[int, str, int]]:
    """The rows that belong to one of the requests, and to which."""
    codes, values = table.coded("session")
    seq, names = table.numbers("seq"), [str(value) for value in values]
    found = which & among(table, "session", {who for who, _ in asked})
    found &= np.isin(seq, np.array(sorted({each for _, each in asked}), dtype=np.int64))
    for at in np.flatnonzero(found).tolist():
        request = names[codes[at]], int(seq[at])
        if request in asked:
            yield at, *request


def _is_write(table: ColumnTable) -> Flags:
    return among(table, "f", WRITES) & ~among(table, "type", ("invoke",))


def _has_key(table: ColumnTable, wanted: Collection[Value]) -> Flags:
    codes, values = table.coded("key")
    keys = {key for key, _ in wanted}
    # The last one is for rows without a session.
    known: Flags = np.array([repr(each) in keys for each in (*values, None)], dtype=np.bool_)
    return known[codes]


def _values(table: ColumnTable, at: Numbers) -> Iterator[tuple[int, Any, Any]]:
    """Return index, key and value of some lines; of a `cas` the new value."""
    columns = (table.cells(name, at) for name in ("f", "key", "value"))
    lines = table.numbers("index")[at].tolist()
    for line, f, key, value in zip(lines, *columns, strict=True):
        yield line, key, value[-1] if f == "cas" and isinstance(value, list) else value


KERNELS = (
    PartKernel(
        HIDDEN,
        "rolled-back values are never read",
        needs=("wal", "ops"),
        counts="ops",
        idle="no value was rolled back permanently, or there are no reads",
    ),
)
