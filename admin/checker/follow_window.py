"""The newest confirmed entries of every node, compared as they arrive.

Checksums chain every entry to all entries before it. So two logs that agree at one entry in the
window agree on all entries before it, even on those that left the window. The window therefore
misses no difference, only the place where an old one began. It keeps `size` entries per node,
however long it runs.
"""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from admin.checker.kernels.logs.between import AGREEMENT, MATCHING, agreement, compare, matching
from admin.checker.kernels.logs.findings import LogFindings
from admin.checker.kernels.logs.names import LSNS, Lsns
from admin.checker.kernels.logs.neighbours import TERMS, pairs
from admin.checker.kernels.logs.outlines import LogOutline, term_stretches
from admin.checker.kernels.logs.slices import Slice
from admin.checker.kernels.restarts import KEPT
from admin.checker.rules.rule import Breach, RuleFinding

WINDOW: Final = 65_536
"""How many entries are kept per node."""

Ints: TypeAlias = npt.NDArray[np.int64]
Whose: TypeAlias = tuple[int, int]
"""A node and its generation."""


class Entries:
    """Confirmed entries of one log, by index without holes."""

    __slots__ = ("crc", "first", "lsn", "origin", "term")
    _COLUMNS = ("term", "crc", "origin", "lsn")

    def __init__(self, first: int, term: Ints, crc: Ints, origin: Ints, lsn: Ints) -> None:
        self.first = first
        self.term = term
        self.crc = crc
        self.origin = origin
        self.lsn = lsn

    @property
    def last(self) -> int:
        """The last index."""
        return self.first + len(self.term) - 1

    def then(self, other: "Entries") -> "Entries":
        """Append the entries that follow."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in self._COLUMNS)
        return Entries(self.first, *(np.concatenate(pair) for pair in pairs))

    def tail(self) -> "Entries":
        """The last one."""
        return Entries(self.last, *(getattr(self, name)[-1:] for name in self._COLUMNS))


class LogWindow:
    """The part of one log in the window."""

    def __init__(self, size: int) -> None:
        self.first = 1
        self.last = 0
        self._size = size
        self._term = np.zeros(size, dtype=np.int64)
        self._crc = np.zeros(size, dtype=np.int64)

    @property
    def oldest(self) -> int:
        """The lowest index that is still held."""
        return max(self.first, self.last - self._size + 1)

    def common(self, entries: Entries) -> tuple[int, Ints, Ints]:
        """First common index, and the terms and checksums held from there on."""
        first, last = max(entries.first, self.oldest), min(entries.last, self.last)
        slots = np.arange(first, max(last + 1, first)) % self._size
        return first, self._term[slots], self._crc[slots]

    def add(self, entries: Entries) -> None:
        """Add these entries; drop the old ones if there is a gap between."""
        if not self.oldest <= entries.first <= self.last + 1:
            self.first = entries.first
        self.last = entries.last
        first = max(entries.first, entries.last - self._size + 1)
        slots = np.arange(first, entries.last + 1) % self._size
        self._term[slots] = entries.term[first - entries.first :]
        self._crc[slots] = entries.crc[first - entries.first :]


class LogShape:
    """One log as far as it was followed without a gap; `last` is its last index."""

    def __init__(self, whose: Whose) -> None:
        self.last = 0
        self._whose = whose
        self._found = LogFindings(*whose)
        self._lsns = Lsns(self._found)
        self._end: Entries | None = None

    def go_on(self, entries: Entries) -> dict[str, RuleFinding]:
        """Take the next entries; return the violations."""
        self._found.by_id.clear()
        self._lsns.next_slice(self._slice(entries), whole=False)
        whole = entries if self._end is None else self._end.then(entries)
        pairs(self._slice(whole), self._found)
        self.last, self._end = entries.last, entries.tail()
        return {id_: self._found.by_id[id_] for id_ in (TERMS, LSNS)}

    def _slice(self, entries: Entries) -> Slice:
        return Slice.plain(
            ("follow", *self._whose),
            index=np.arange(entries.first, entries.last + 1),
            term=entries.term,
            crc=entries.crc,
            origin=entries.origin,
            lsn=entries.lsn,
        )


class Window:
    """Compares every entry with those of all other nodes at the same place."""

    def __init__(self, size: int = WINDOW) -> None:
        self.size = size
        self.facts: dict[str, int] = dict.fromkeys((MATCHING, AGREEMENT, KEPT, TERMS, LSNS), 0)
        self.unseen = 0
        self._kept: dict[int, tuple[int, LogWindow]] = {}
        self._shapes: dict[Whose, LogShape] = {}
        self._parted: set[tuple[str, int, int]] = set()

    def extend(self, whose: Whose, entries: Entries) -> Iterator[Breach]:
        """Take more entries of one log. Entries of the node's earlier generation are dropped."""
        node, generation = whose
        known = self._kept.get(node)
        if known is None or known[0] != generation:
            known = self._kept[node] = generation, LogWindow(self.size)
        mine = known[1]
        yield from self._shape(whose, entries)
        yield from self._still(node, mine, entries)
        for other, (_, theirs) in self._kept.items():
            if other != node:
                yield from self._compare(node, other, theirs, entries)
        if mine.last and entries.first > mine.last + 1:
            self.unseen += entries.first - mine.last - 1
        mine.add(entries)

    def holds(self, node: int) -> tuple[int, int]:
        """The first and the last index that the window has of a node's log."""
        _, kept = self._kept[node]
        return kept.oldest, kept.last

    # -- one log

    def _shape(self, whose: Whose, entries: Entries) -> Iterator[Breach]:
        """Check with kernels that terms never decrease and the lsns of every origin grow by one."""
        shape = self._shapes.get(whose)
        if shape is None or entries.first != shape.last + 1:
            # The entries between are not known.
            shape = self._shapes[whose] = LogShape(whose)
        for id_, finding in shape.go_on(entries).items():
            self.facts[id_] += len(entries.term)
            yield from finding.breaches[:1]

    def _still(self, node: int, mine: LogWindow, entries: Entries) -> Iterator[Breach]:
        """Entries that are read again are the same as before."""
        first, _, crc = mine.common(entries)
        self.facts[KEPT] += len(entries.term)
        odd = self._differing(crc, entries.crc[first - entries.first :])
        if odd is not None:
            yield _breach(KEPT, node, first + odd, "what it had confirmed is another entry now")

    # -- two logs

    def _compare(
        self, node: int, other: int, theirs: LogWindow, entries: Entries
    ) -> Iterator[Breach]:
        """Compare with kernels, up to the first difference, which causes all later ones."""
        first, term, crc = theirs.common(entries)
        start = first - entries.first
        own_term, own_crc = (each[start : start + len(crc)] for each in (entries.term, entries.crc))
        self.facts[MATCHING] += len(crc)
        self.facts[AGREEMENT] += len(crc)
        if not len(crc):
            return
        pair = (min(node, other), max(node, other))
        both = [_plain(other, first, term, crc), _plain(node, first, own_term, own_crc)]
        if (AGREEMENT, *pair) not in self._parted:
            found = agreement([_confirmed(each) for each in both], most=1).breaches
            yield from self._parts(pair, found)
        if (MATCHING, *pair) not in self._parted:
            yield from self._parts(pair, matching(2, len(crc), compare(both)).breaches[:1])

    def _parts(self, pair: tuple[int, int], found: Sequence[Breach]) -> Iterator[Breach]:
        for each in found:
            self._parted.add((each.invariant, *pair))
            yield each

    @staticmethod
    def _differing(one: Ints, two: Ints) -> int | None:
        """Return where two columns differ first."""
        odd = np.flatnonzero(one != two[: len(one)])
        return int(odd[0]) if len(odd) else None


def _plain(node: int, first: int, term: Ints, crc: Ints) -> Slice:
    """The columns in which two logs are compared."""
    index, nothing = np.arange(first, first + len(term)), np.zeros(len(term), dtype=np.int64)
    whose = ("follow", node, 1)
    return Slice.plain(whose, index=index, term=term, crc=crc, origin=nothing, lsn=nothing)


def _confirmed(here: Slice) -> LogOutline:
    """Return only entries that are confirmed."""
    first, last = int(here.index[0]), int(here.index[-1])
    terms = term_stretches(here.index, here.term)
    node = here.whose[1]
    return LogOutline(node=node, generation=1, first=first, last=last, upto=last, terms=terms)


def _breach(invariant: str, node: int, index: int, message: str) -> Breach:
    message = f"node {node}, entry {index}: {message}"
    return Breach(invariant=invariant, message=message, node=node, index=index)
