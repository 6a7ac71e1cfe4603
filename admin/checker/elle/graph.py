"""The dependency graph: which transaction must come before which other one, and why."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from admin.checker.operation import FOREVER


class Edge(IntEnum):
    """Kinds of dependency: a transaction overwrote, read, or did not yet see another one."""

    WW = 1
    WR = 2
    RW = 4
    PROCESS = 8
    REALTIME = 16

    @property
    def word(self) -> str:
        """The word for it in an arrow."""
        return self.name.lower()


FREE = Edge.WW | Edge.WR
"""Dependencies on written values; the other kinds are anti-dependencies and real time."""

Span: TypeAlias = tuple[int, int, int | None]
"""The number of a transaction, and the positions of its begin and of its end, if it ended."""

State: TypeAlias = tuple[int, bool]
"""A number, and whether it was reached by an rw edge."""


@dataclass(slots=True)
class Graph:
    """Edges between numbers; `kinds[a][b]` are all kinds from a to b.

    Reasons need more memory than edges, so they are kept only for the edges in `asked`.
    """

    size: int
    asked: frozenset[tuple[int, int, int]] = frozenset()
    kinds: list[dict[int, int]] = field(default_factory=list)
    reasons: dict[tuple[int, int, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kinds = [{} for _ in range(self.size)]

    def add(self, start: int, end: int, kind: int, words: str = "", *about: object) -> None:
        """Add an edge between two different transactions; the text has a placeholder for each."""
        if start != end:
            ends = self.kinds[start]
            ends[end] = ends.get(end, 0) | kind
            if self.asked and (start, end, kind) in self.asked:
                shown = [repr(list(each) if isinstance(each, tuple) else each) for each in about]
                self.reasons.setdefault((start, end, kind), words.format(*shown))

    def edges(self, mask: int, inside: Collection[int]) -> Iterator[tuple[int, int]]:
        """Edges of some kinds between some numbers."""
        for start in inside:
            for end, kinds in self.kinds[start].items():
                if kinds & mask and end in inside:
                    yield start, end

    def components(self, mask: int) -> list[frozenset[int]]:
        """Strongly connected components of two or more numbers, along edges of some kinds."""
        return list(_Tarjan(self._along(mask)).components())

    def ranks(self, mask: int) -> list[int]:
        """Numbers that never fall along edges of some kinds."""
        tarjan = _Tarjan(self._along(mask))
        for _ in tarjan.components():
            pass
        return tarjan.ranks

    def apart(self, free: int, numbers: Collection[int]) -> list[frozenset[State]]:
        """Return the paths between some numbers that have no two adjacent rw edges."""
        along: list[list[int]] = [[] for _ in range(2 * self.size)]
        for number in numbers:
            for end, by_rw in self.steps((number, False), free):
                if end in numbers:
                    along[2 * number].append(2 * end + by_rw)
            along[2 * number + 1] = [each for each in along[2 * number] if not each % 2]
        return [
            frozenset((each // 2, each % 2 == 1) for each in found)
            for found in _Tarjan(along).components()
        ]

    def steps(self, state: State, free: int) -> Iterator[State]:
        """Return the steps from a state: along free edges, or along rw if none came just before."""
        for end, kinds in self.kinds[state[0]].items():
            if kinds & free:
                yield end, False
            if kinds & Edge.RW and not state[1]:
                yield end, True

    def _along(self, mask: int) -> list[list[int]]:
        return [[end for end, kinds in ends.items() if kinds & mask] for ends in self.kinds]


class _Tarjan:
    """Strongly connected components, without recursion; `along[a]` is where a leads."""

    def __init__(self, along: list[list[int]]) -> None:
        self._next = along
        self._index: dict[int, int] = {}
        self._low: dict[int, int] = {}
        self._stack: list[int] = []
        self._on_stack: set[int] = set()
        self.ranks = [0] * len(along)
        self._closed = 0

    def components(self) -> Iterator[frozenset[int]]:
        for start in range(len(self._next)):
            if start not in self._index:
                yield from self._from(start)

    def _from(self, start: int) -> Iterator[frozenset[int]]:
        path: list[tuple[int, Iterator[int]]] = [(start, iter(self._next[start]))]
        self._open(start)
        while path:
            node, ends = path[-1]
            end = next(ends, None)
            if end is None:
                path.pop()
                if path:
                    above = path[-1][0]
                    self._low[above] = min(self._low[above], self._low[node])
                if self._low[node] == self._index[node]:
                    found = self._close(node)
                    if len(found) > 1:
                        yield found
            elif end not in self._index:
                self._open(end)
                path.append((end, iter(self._next[end])))
            elif end in self._on_stack:
                self._low[node] = min(self._low[node], self._index[end])

    def _open(self, node: int) -> None:
        self._index[node] = self._low[node] = len(self._index)
        self._stack.append(node)
        self._on_stack.add(node)

    def _close(self, node: int) -> frozenset[int]:
        found: set[int] = set()
        while node not in found:
            found.add(self._stack.pop())
        # Everything reachable from here was closed before.
        self._closed -= 1
        for each in found:
            self.ranks[each] = self._closed
        self._on_stack -= found
        return frozenset(found)


def add_sessions(graph: Graph, sessions: Iterable[Iterable[Span]]) -> None:
    """A process's earlier operation comes first.

    An unanswered operation may take effect at any later time, even after the next operation of its
    process.
    """
    for session in sessions:
        before: int | None = None
        for number, _, ended in session:
            if before is not None:
                graph.add(before, number, Edge.PROCESS, "the same process did it later")
            if ended is not None and ended < FOREVER:
                before = number


def add_time(graph: Graph, spans: Iterable[Span]) -> None:
    """An operation that ended before another began comes first; implied edges are left out."""
    events: list[tuple[int, int, int]] = []
    for number, begun, ended in spans:
        events.append((begun, 0, number))
        if ended is not None:
            events.append((ended, 1, number))
    newest: set[int] = set()
    before: dict[int, frozenset[int]] = {}
    for _, is_end, number in sorted(events):
        if is_end:
            newest = (newest - before[number]) | {number}
        else:
            before[number] = frozenset(newest)
            for each in newest:
                graph.add(each, number, Edge.REALTIME, "it began after the other had ended")
