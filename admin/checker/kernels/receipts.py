"""Client receipts against the logs: the entry is permanent and belongs to the request.

The outline of a log shows whether the entry exists. The entry itself shows its request.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from admin.checker.kernels import proofs
from admin.checker.kernels.arrays import NOBODY, Flags, Numbers
from admin.checker.kernels.columns import Whose
from admin.checker.kernels.kernel import PartKernel
from admin.checker.kernels.logs.outlines import LogOutline
from admin.checker.kernels.tables import ColumnTable, among
from admin.checker.rules.rule import Breach, RuleFinding

KEPT, OWN = "receipts-kept", "receipt-own"
LOOKS = ("read", "r", "get", "txn", "cas-unequal")
"""Operations that write nothing, except a transaction with a request number."""
LINES = ("index", "type", "f", "log_index", "term", "session", "seq", "key_hash")
"""Columns of the history that are read."""
ENTRIES = ("node", "generation", "index", "term", "session", "seq", "key_hash")
"""Columns of logs that are read."""


@dataclass(frozen=True, slots=True)
class ConfirmedTerms:
    """The terms of a log up to its confirmed index, and its rolled-back ranges."""

    whose: Whose
    first: int
    last: int
    firsts: Numbers
    lasts: Numbers
    terms: Numbers
    gone: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, log: LogOutline) -> "ConfirmedTerms":
        """The looked-up data of a log."""
        firsts, lasts, terms = np.array(log.terms, dtype=np.int64).reshape(-1, 3).T
        gone = tuple((each.first, each.last) for each in log.rolled)
        return cls(log.whose, log.first, log.confirmed, firsts, lasts, terms, gone)

    def look(self, index: Numbers, term: Numbers, line: Numbers) -> RuleFinding:
        """Examine receipts: indexes, the terms that they name, and the lines of the history."""
        inside = (index >= self.first) & (index <= self.last)
        index, term, line = index[inside], term[inside], line[inside]
        at = np.searchsorted(self.firsts, index, side="right") - 1
        lost = (index > self.lasts[at]) | (self.terms[at] != term)
        rolled: Flags = np.zeros(len(index), dtype=np.bool_)
        for first, last in self.gone:
            rolled |= (index >= first) & (index <= last)
        found = RuleFinding(facts=len(index))
        odd = np.flatnonzero(lost | rolled)
        odd = odd[np.lexsort((line[odd], index[odd]))]
        node, _ = self.whose
        for each in odd[np.append(True, np.diff(index[odd]) != 0)[: len(odd)]].tolist():
            place, told = int(index[each]), int(line[each])
            why = "is not in" if lost[each] else "was rolled back in"
            message = (
                f"entry {place} of term {term[each]} {why} the log of node {node}, "
                f"and line {told} of the history was told ok"
            )
            rows = (proofs.line(told), proofs.entry(*self.whose, place))
            found.broken(KEPT, message, rows, node=node, index=place)
        return found


def kept(logs: Iterable[ConfirmedTerms], lines: ColumnTable) -> RuleFinding:
    """A write with a receipt is at its index in every log that has confirmed it."""
    index = lines.numbers("log_index")
    writes = ~among(lines, "f", LOOKS)
    writes |= among(lines, "f", ("txn",)) & (lines.numbers("seq") != 0)
    told = among(lines, "type", ("ok",)) & writes & (index > 0)
    columns = (index[told], lines.numbers("term")[told], lines.numbers("index")[told])
    found = RuleFinding()
    for log in logs:
        own = log.look(*columns)
        found.facts += own.facts
        found.breaches += own.breaches
    return found


def first_lines(finding: RuleFinding) -> RuleFinding:
    """All receipts of a run: only the first line with a wrong receipt for an entry is reported."""
    first: dict[tuple[str, int, int, int], Breach] = {}
    for each in sorted(finding.breaches, key=_line):
        first.setdefault(each.where, each)
    return RuleFinding(facts=finding.facts, breaches=list(first.values()))


def _line(breach: Breach) -> int:
    number = breach.witness[0].row["index"]
    assert isinstance(number, int)
    return number


class Receipts:
    """Receipts of entries `first..last`: by index and term the history lines."""

    def __init__(self, tables: Sequence[ColumnTable], first: int, last: int) -> None:
        self._names: dict[str, int] = {}
        columns = [self._told(table, first, last) for table in tables]
        whole = [np.concatenate(each) for each in zip(*columns, strict=True)]
        index, term, *_ = whole
        self._terms = np.unique(term)
        key = self._key(index, term)
        order = np.lexsort((whole[-1], key))
        self._keys = key[order]
        _, _, session, seq, hashes, hashed, line = (each[order] for each in whole)
        self._session, self._seq, self._line = session, seq, line
        self._hashes, self._hashed = hashes, hashed.astype(np.bool_)

    def look(self, entries: ColumnTable) -> RuleFinding:
        """Check that the entry that a receipt names has the request of the operation.

        The first row that it changes must be that of the operation, if the client recorded it.
        """
        found = RuleFinding()
        index, term = entries.numbers("index"), entries.numbers("term")
        codes, names = entries.coded("session")
        asked = (codes != NOBODY) & entries.known("seq") & np.isin(term, self._terms)
        at = np.flatnonzero(asked)
        if not len(self._keys) or not len(at):
            return found
        key = self._key(index[at], term[at])
        first, end = (np.searchsorted(self._keys, key, side=side) for side in ("left", "right"))
        own = np.array([self._names.get(str(name), NOBODY) for name in names], dtype=np.int64)
        session, seq = own[codes[at]], entries.numbers("seq")[at]
        hashes, says = entries.numbers("key_hash")[at], entries.known("key_hash")[at]
        found.facts = int((end > first).sum())
        other = np.full((2, len(at)), NOBODY, dtype=np.int64)
        for ahead in reversed(range(int((end - first).max(initial=0)))):
            place = np.where(first + ahead < end, first + ahead, 0)
            there = first + ahead < end
            strange = (self._session[place] != session) | (self._seq[place] != seq)
            keyed = self._hashed[place] & says & (self._hashes[place] != hashes)
            for number, odd in enumerate((there & strange, there & keyed)):
                other[number, odd] = self._line[place[odd]]
        nodes, generations = entries.numbers("node")[at], entries.numbers("generation")[at]
        for each in np.flatnonzero((other != NOBODY).any(axis=0)).tolist():
            row, (stranger, keyed) = int(at[each]), other[:, each].tolist()
            line, why = keyed, "changes another key"
            if stranger != NOBODY:
                line, why = stranger, f"is request {seq[each]} of session {names[codes[row]]}"
            node, generation, at_ = int(nodes[each]), int(generations[each]), int(index[row])
            message = (
                f"line {line} of the history has a receipt of {at_}, which {why} on node {node}"
            )
            rows = (proofs.line(line), proofs.entry(node, generation, at_))
            found.broken(OWN, message, rows, node=node, index=at_)
        return found

    def _told(self, table: ColumnTable, first: int, last: int) -> tuple[Numbers, ...]:
        index, seq = table.numbers("log_index"), table.numbers("seq")
        told = among(table, "type", ("ok",)) & (seq != 0) & (index != 0)
        told &= (index >= first) & (index <= last)
        codes, names = table.coded("session")
        code = np.array([*(self._code(str(name)) for name in names), self._code("None")])
        columns = (
            *(index, table.numbers("term"), code[codes], seq, table.numbers("key_hash")),
            *(table.known("key_hash").astype(np.int64), table.numbers("index")),
        )
        return tuple(each[told] for each in columns)

    def _code(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names))

    def _key(self, index: Numbers, term: Numbers) -> Numbers:
        key: Numbers = index * max(len(self._terms), 1) + np.searchsorted(self._terms, term)
        return key


KERNELS = (
    PartKernel(
        KEPT,
        "an acknowledged write is confirmed at the index of its receipt",
        needs=("wal", "ops"),
        idle="no receipt of a write names an entry that is known to be confirmed",
    ),
    PartKernel(
        OWN,
        "a receipt names the entry of its request and key",
        needs=("wal", "ops"),
        idle="no receipt names an entry that has a number",
    ),
)
