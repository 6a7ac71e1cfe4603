"""Receipts beside the entries that they name, a range of the logs at a time."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from admin.checker.kernels.arrays import NOBODY, Flags, Numbers
from admin.checker.spark.arrays import among, known, numbers, words
from admin.checker.spark.chunks import FOREVER, Chunk, chunks, read, spread
from admin.checker.spark.job_schema import BREACH, FACTS, FindingRow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ID = "receipt-own"
SPAN = 1 << 20
"""Entries of each log that a task looks at beside their receipts."""
_LINES = ("type", "session", "seq", "log_index", "term", "key_hash")
_ENTRIES = ("node", "index", "term", "session", "seq", "key_hash")


@dataclass(frozen=True, slots=True)
class OwnedRange:
    """Entries `first..last` of all logs of a run: files of the logs and of the history."""

    first: int
    last: int
    logs: tuple[Chunk, ...]
    lines: tuple[Chunk, ...]


def receipts(session: "SparkSession", paths: Sequence[Path]) -> "DataFrame":
    """A receipt names the entry of the very request that it was given for."""
    ranges = [each for path in paths for each in plan(path)]
    sizes = [sum(chunk.size for chunk in each.logs) for each in ranges]
    return spread(session, ranges, sizes, look)


def plan(path: Path, span: int = SPAN) -> Iterator[OwnedRange]:
    """Ranges of so many entries; one if some file may hold anything."""
    logs, lines = chunks(path, "wal", "index"), chunks(path, "ops", "log_index")
    if not logs or not lines:
        return
    spans = [(-FOREVER, FOREVER)]
    if all(each.last < FOREVER for each in logs):
        places = {n for each in logs for n in range(each.first // span, each.last // span + 1)}
        spans = [(place * span, (place + 1) * span - 1) for place in sorted(places)]
    for first, last in spans:
        its_lines = tuple(each for each in lines if each.meets(first, last))
        if its_lines:
            yield OwnedRange(first, last, tuple(e for e in logs if e.meets(first, last)), its_lines)


class Receipts:
    """By place and term the request that has the receipt, and where several have the same."""

    def __init__(self, tables: Sequence[pa.Table], first: int, last: int) -> None:
        self._names: dict[str, int] = {}
        columns = [self._told(table, first, last) for table in tables]
        whole = [np.concatenate(each) for each in zip(*columns, strict=True)]
        index, term, session, seq, hashes, hashed = whole
        self._terms = np.unique(term)
        key = self._key(index, term)
        order = np.argsort(key, kind="stable")
        key, session, seq = key[order], session[order], seq[order]
        starts: Flags = np.append(True, key[1:] != key[:-1])[: len(key)]
        self._keys, self._session, self._seq = key[starts], session[starts], seq[starts]
        # Of two requests with a receipt of one place, one is another's whatever is there.
        same = (session[1:] == session[:-1]) & (seq[1:] == seq[:-1])
        self._shared: Flags = np.isin(self._keys, key[1:][~starts[1:] & ~same])
        # Where several lines have one receipt, those that say which key it is of are asked.
        says = hashed[order].astype(np.bool_)
        self._hashed, self._hashes = key[says], hashes[order][says]

    def odd(self, table: pa.Table) -> tuple[int, Flags]:
        """How many entries are named and have a request, and which have another one's."""
        index, term, seq = (numbers(table, name) for name in ("index", "term", "seq"))
        codes, texts = words(table, "session")
        asked = (codes != NOBODY) & known(table, "seq") & np.isin(term, self._terms)
        wrong = np.zeros(len(index), dtype=np.bool_)
        at = np.flatnonzero(asked)
        if not len(self._keys) or not len(at):
            return 0, wrong
        key = self._key(index[at], term[at])
        place = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        named = self._keys[place] == key
        session = np.array([*(self._names.get(text, NOBODY) for text in texts), NOBODY])[codes[at]]
        differs = (self._session[place] != session) | (self._seq[place] != seq[at])
        differs |= self._shared[place]
        differs |= self._of_another_key(table, at, key)
        wrong[at[named & differs]] = True
        return int(named.sum()), wrong

    def _of_another_key(self, table: pa.Table, at: Numbers, key: Numbers) -> Flags:
        """Of which some line says that it is of another key."""
        hashes, says = numbers(table, "key_hash")[at], known(table, "key_hash")[at]
        first, end = (np.searchsorted(self._hashed, key, side=side) for side in ("left", "right"))
        odd = np.zeros(len(at), dtype=np.bool_)
        for ahead in range(int((end - first).max(initial=0))):
            there = first + ahead < end
            place = np.where(there, first + ahead, 0)
            odd |= there & says & (self._hashes[place] != hashes)
        return odd

    def _told(self, table: pa.Table, first: int, last: int) -> tuple[Numbers, ...]:
        index, seq = numbers(table, "log_index"), numbers(table, "seq")
        told = among(table, "type", ("ok",)) & (seq != 0) & (index != 0)
        told &= (index >= first) & (index <= last)
        codes, texts = words(table, "session")
        code = np.array(
            [*(self._code(str(json.loads(text))) for text in texts), self._code("None")]
        )
        hashed = known(table, "key_hash").astype(np.int64)
        columns = (
            *(index, numbers(table, "term"), code[codes], seq),
            *(numbers(table, "key_hash"), hashed),
        )
        return tuple(each[told] for each in columns)

    def _code(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names))

    def _key(self, index: Numbers, term: Numbers) -> Numbers:
        key: Numbers = index * max(len(self._terms), 1) + np.searchsorted(self._terms, term)
        return key


def look(range_: OwnedRange) -> Iterator[FindingRow]:
    """At a range."""
    lines = [read(each, _LINES) for each in range_.lines]
    told = Receipts(lines, range_.first, range_.last)
    facts = 0
    for chunk in range_.logs:
        table = read(chunk, _ENTRIES)
        index = numbers(table, "index")
        if chunk.first < range_.first or chunk.last > range_.last:
            table = table.filter(pa.array((index >= range_.first) & (index <= range_.last)))
            index = numbers(table, "index")
        count, odd = told.odd(table)
        facts += count
        for place in np.flatnonzero(odd).tolist():
            node, at = int(numbers(table, "node")[place]), int(index[place])
            text = f"a receipt names {at}, which is of another request"
            yield FindingRow(chunk.run_id, BREACH, _ID, node, 0, at, message=text)
    yield FindingRow(range_.lines[0].run_id, FACTS, _ID, amount=facts)
