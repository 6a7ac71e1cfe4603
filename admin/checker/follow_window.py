"""The newest confirmed entries of every node, as much as fits into a window, compared as they come.

Checksums chain every entry to all before it: two logs that agree at one entry in the window agree
on everything before it, also on what the window no longer holds. So a window loses no difference,
only the place where an old one began. What is kept is `size` entries a node, however long it runs.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from admin.checker.rules.rule import Breach

WINDOW: Final = 65_536
"""Entries a node that are kept."""
MATCHING, AGREEMENT, KEPT = "log-matching", "confirmed-agree", "confirmed-kept"
TERMS, LSNS = "log-terms", "log-lsns"

Ints: TypeAlias = npt.NDArray[np.int64]
Whose: TypeAlias = tuple[int, int]
"""A node and its generation."""


class Entries:
    """Confirmed entries of one log, by index without holes."""

    __slots__ = ("crc", "first", "lsn", "origin", "term")

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


class LogWindow:
    """What the window holds of one log."""

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
        """Hold these; what is not followed by them without a hole goes."""
        if not self.oldest <= entries.first <= self.last + 1:
            self.first = entries.first
        self.last = entries.last
        first = max(entries.first, entries.last - self._size + 1)
        slots = np.arange(first, entries.last + 1) % self._size
        self._term[slots] = entries.term[first - entries.first :]
        self._crc[slots] = entries.crc[first - entries.first :]


class Window:
    """Compares every entry with those of all other nodes at the same place."""

    def __init__(self, size: int = WINDOW) -> None:
        self.size = size
        self.facts: dict[str, int] = dict.fromkeys((MATCHING, AGREEMENT, KEPT, TERMS, LSNS), 0)
        self.unseen = 0
        self._kept: dict[int, tuple[int, LogWindow]] = {}
        self._ends: dict[Whose, tuple[int, int]] = {}
        self._lsns: dict[Whose, dict[int, int]] = {}
        self._parted: set[tuple[str, int, int]] = set()

    def extend(self, whose: Whose, entries: Entries) -> Iterator[Breach]:
        """More of one log. A node's former generation is forgotten."""
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
        """From where to where a node's log is held."""
        _, kept = self._kept[node]
        return kept.oldest, kept.last

    # -- one log

    def _shape(self, whose: Whose, entries: Entries) -> Iterator[Breach]:
        """Terms only grow, and so do the lsns of every origin, by one."""
        index, term = self._ends.get(whose, (0, 0))
        follows = entries.first == index + 1
        before = np.concatenate(([term if follows else 0], entries.term[:-1]))
        for at in np.flatnonzero(entries.term < before)[:1]:
            yield _breach(
                TERMS,
                whose[0],
                entries.first + int(at),
                f"term {entries.term[at]} follows {before[at]}",
            )
        self.facts[TERMS] += len(entries.term)
        self._ends[whose] = entries.last, int(entries.term[-1])
        lsns = self._lsns.setdefault(whose, {}) if follows else {}
        self._lsns[whose] = lsns
        for origin in np.unique(entries.origin):
            at = np.flatnonzero(entries.origin == origin)
            own = entries.lsn[at]
            begun = lsns.get(int(origin), int(own[0]) - 1)
            odd = np.flatnonzero(np.diff(own, prepend=begun) != 1)
            for place in odd[:1]:
                yield _breach(
                    LSNS,
                    whose[0],
                    entries.first + int(at[place]),
                    f"lsn {own[place]} of origin {origin} does not follow",
                )
            lsns[int(origin)] = int(own[-1])
        self.facts[LSNS] += len(entries.term)

    def _still(self, node: int, mine: LogWindow, entries: Entries) -> Iterator[Breach]:
        """What was read before is what is read again."""
        first, _, crc = mine.common(entries)
        self.facts[KEPT] += len(entries.term)
        odd = self._differing(crc, entries.crc[first - entries.first :])
        if odd is not None:
            yield _breach(KEPT, node, first + odd, "what it had confirmed is another entry now")

    # -- two logs

    def _compare(
        self, node: int, other: int, theirs: LogWindow, entries: Entries
    ) -> Iterator[Breach]:
        first, term, crc = theirs.common(entries)
        start = first - entries.first
        own_term, own_crc = (each[start : start + len(crc)] for each in (entries.term, entries.crc))
        self.facts[MATCHING] += len(crc)
        self.facts[AGREEMENT] += len(crc)
        pair = (min(node, other), max(node, other))
        odd = self._differing(np.where(term == own_term, 0, 1), np.zeros(len(term), np.int64))
        if odd is not None and (AGREEMENT, *pair) not in self._parted:
            self._parted.add((AGREEMENT, *pair))
            index = first + odd
            message = (
                f"entry {index} is confirmed on node {other} with term {term[odd]}, "
                f"but on node {node} with term {own_term[odd]}"
            )
            yield Breach(invariant=AGREEMENT, message=message, index=index)
        odd = self._differing(np.where(term == own_term, crc, own_crc), own_crc)
        if odd is not None and (MATCHING, *pair) not in self._parted:
            self._parted.add((MATCHING, *pair))
            index = first + odd
            message = (
                f"nodes {other} and {node} have different entries at {index} of term {term[odd]}"
            )
            yield Breach(invariant=MATCHING, message=message, index=index, term=int(term[odd]))

    @staticmethod
    def _differing(one: Ints, two: Ints) -> int | None:
        """Where two columns differ first: everything after it differs for that reason."""
        odd = np.flatnonzero(one != two[: len(one)])
        return int(odd[0]) if len(odd) else None


def _breach(invariant: str, node: int, index: int, message: str) -> Breach:
    message = f"node {node}, entry {index}: {message}"
    return Breach(invariant=invariant, message=message, node=node, index=index)
