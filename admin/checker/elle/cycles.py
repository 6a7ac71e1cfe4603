"""Cycles of dependencies by their class: Adya's G0, G1c, G-single and G2, and what is between.

A class asks how many edges of a cycle say "did not see it yet" (rw), and whether two of them meet.
With edges of sessions or of time added the same classes mean less: that only a stronger promise
was broken.
"""

from collections import deque
from collections.abc import Callable, Collection, Container, Iterator
from dataclasses import dataclass

from admin.checker.elle.graph import FREE, Edge, Graph

VISITS_MAX = 1_000_000
"""How many edges are walked in search of one class before no more of its cycles are named."""

EXAMPLES_MAX = 8
"""So many components are searched for each class; one cycle of each is shown."""

Walk = tuple[int, ...]
"""Numbers along a cycle, without the first one again."""

CLASSES = ("G0", "G1c", "G-single", "G-nonadjacent", "G2-item")
"""The worst first: what allows one allows all that come after it."""

SUFFIXES: dict[str, int] = {"": 0, "-process": Edge.PROCESS, "-realtime": Edge.REALTIME}
"""What is added to a class whose cycles need such edges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """One cycle of a class. `arrows[i]` is the kind of edge from `walk[i]` to the one after it."""

    name: str
    walk: Walk
    arrows: tuple[Edge, ...]

    @property
    def edges(self) -> list[tuple[int, int, int]]:
        """Start, end and kind, all around."""
        ends = (*self.walk[1:], self.walk[0])
        return [(a, b, int(kind)) for a, b, kind in zip(self.walk, ends, self.arrows, strict=True)]


def cycles(graph: Graph) -> Iterator[Cycle]:
    """Cycles of every class that there is, up to the limits. The plain classes come first."""
    found: set[str] = set()
    if not graph.components(FREE | Edge.RW | Edge.PROCESS | Edge.REALTIME):
        return
    for suffix, extra in SUFFIXES.items():
        every = graph.components(FREE | Edge.RW | extra)
        fresh = False
        for name in CLASSES if every else ():
            if name in found:
                continue  # with the edges of time it would say less than it says already
            for walk, masks in _Search(graph, extra).of_class(name, every):
                if len(set(walk)) < len(walk) and "G-single" in found:
                    continue  # the same cycle, gone around twice
                found.add(name)
                fresh = True
                yield _cycle(graph, name + suffix, walk, masks)
        if every and not fresh and not found:
            # The limits were too low to name a cycle, but there is one.
            walk, masks = _Search(graph, extra).some(every[0])
            yield _cycle(graph, CLASSES[-1] + suffix, walk, masks)


def _cycle(graph: Graph, name: str, walk: Walk, masks: list[int]) -> Cycle:
    arrows = tuple(_arrow(graph, walk, at, mask) for at, mask in enumerate(masks))
    return Cycle(name=name, walk=walk, arrows=arrows)


Found = tuple[Walk, list[int]]
"""A cycle, and for each of its edges the kinds that the class allows there."""

Place = tuple[int, bool, bool]
"""A number, whether it was come to by an rw edge, and whether there was one more of them."""


class _Search:
    """The search for cycles of one class, with edges of time or without."""

    def __init__(self, graph: Graph, extra: int) -> None:
        self._graph = graph
        self._extra = extra
        self._free = FREE | extra
        self._left = VISITS_MAX
        self._finders: dict[str, Callable[[Collection[int]], Found | None]] = {
            "G0": lambda inside: self._closed_by(inside, Edge.WW, Edge.WW | extra),
            "G1c": lambda inside: self._closed_by(inside, Edge.WR, self._free),
            "G-single": lambda inside: self._closed_by(inside, Edge.RW, self._free),
            "G-nonadjacent": self._nonadjacent,
            "G2-item": self._g2,
        }
        self._ranks: list[int] = []

    def of_class(self, name: str, every: list[frozenset[int]]) -> Iterator[Found]:
        """A cycle from each of the first components that have one."""
        if name in {"G0", "G1c"}:
            # Without rw edges the components are smaller, and often there is none.
            mask = (Edge.WW if name == "G0" else FREE) | self._extra
            every = self._graph.components(mask)
        if every and name in {"G0", "G1c", "G-single"}:
            self._ranks = self._graph.ranks(Edge.WW | self._extra if name == "G0" else self._free)
        for inside in every[:EXAMPLES_MAX]:
            found = self._finders[name](inside)
            if found is not None:
                yield found

    def some(self, inside: frozenset[int]) -> Found:
        """Any cycle of a component."""
        mask = self._free | Edge.RW
        self._left = sum(map(len, self._graph.kinds))
        start, end = next(self._graph.edges(mask, inside))
        path = self._path(end, start, mask, inside)
        assert path is not None, "a component has a way back"
        return (start, *path[:-1]), [mask] * len(path)

    def _closed_by(self, inside: Collection[int], first: Edge, rest: int) -> Found | None:
        """The shortest cycle of one edge of a kind and a way back by others."""
        best: Walk | None = None
        ranks = self._ranks
        for start, end in self._graph.edges(first, inside):
            if ranks[end] > ranks[start]:
                continue  # there is no way back by the others
            path = self._path(end, start, rest, _Between(inside, ranks, ranks[start]))
            if path is not None and (best is None or len(path) < len(best)):
                best = (start, *path[:-1])
                if len(best) == 2:  # noqa: PLR2004 - there is no shorter cycle
                    break
            if self._left <= 0:
                break
        return None if best is None else (best, [int(first)] + [rest] * (len(best) - 1))

    def _path(self, start: int, end: int, mask: int, inside: Container[int]) -> Walk | None:
        """A shortest way along edges of some kinds, both ends included."""
        came_from: dict[int, int] = {start: start}
        todo = deque([start])
        while todo and self._left > 0:
            node = todo.popleft()
            if node == end:
                return _back(came_from, end)
            self._left -= len(self._graph.kinds[node])
            for after, kinds in self._graph.kinds[node].items():
                if kinds & mask and after not in came_from and after in inside:
                    came_from[after] = node
                    todo.append(after)
        return None

    def _nonadjacent(self, inside: Collection[int]) -> Found | None:
        """Two rw edges or more, none after another."""
        for start, second in self._graph.edges(Edge.RW, inside):
            found = self._apart(start, second, inside)
            if found is not None or self._left <= 0:
                return found
        return None

    def _apart(self, start: int, second: int, inside: Collection[int]) -> Found | None:
        """A shortest way back to where an rw edge starts, over others that are apart."""
        begin, goal = (second, True, False), (start, False, True)
        came_from: dict[Place, Place] = {begin: begin}
        todo = deque([begin])
        while todo and self._left > 0 and goal not in came_from:
            at = todo.popleft()
            for place in self._places(at):
                if place not in came_from and place[0] in inside:
                    came_from[place] = at
                    todo.append(place)
        if goal not in came_from:
            return None
        places = [goal]
        while places[-1] != begin:
            places.append(came_from[places[-1]])
        places.reverse()
        masks = [int(Edge.RW) if by_rw else self._free for _, by_rw, _ in places]
        return (start, *(node for node, _, _ in places[:-1])), masks

    def _places(self, at: Place) -> Iterator[Place]:
        node, by_rw, more = at
        self._left -= len(self._graph.kinds[node])
        for after, kinds in self._graph.kinds[node].items():
            if kinds & self._free:
                yield after, False, more
            if kinds & Edge.RW and not by_rw:
                yield after, True, True

    def _g2(self, inside: Collection[int]) -> Found | None:
        """Two rw edges in a row, and any way back that does not cross the place where they meet."""
        every = self._free | Edge.RW
        for start, middle in self._graph.edges(Edge.RW, inside):
            for end, kinds in self._graph.kinds[middle].items():
                if not kinds & Edge.RW or end not in inside:
                    continue
                if end == start:
                    return (start, middle), [int(Edge.RW)] * 2
                path = self._path(end, start, every, frozenset(inside) - {middle})
                if path is not None:
                    masks = [int(Edge.RW)] * 2 + [every] * (len(path) - 1)
                    return (start, middle, *path[:-1]), masks
                if self._left <= 0:
                    return None
        return None


@dataclass(frozen=True, slots=True)
class _Between:
    """Numbers of a component from which a rank may still be reached."""

    inside: Collection[int]
    ranks: list[int]
    last: int

    def __contains__(self, number: object) -> bool:
        assert isinstance(number, int)
        return self.ranks[number] <= self.last and number in self.inside


def _back(came_from: dict[int, int], end: int) -> Walk:
    path = [end]
    while came_from[path[-1]] != path[-1]:
        path.append(came_from[path[-1]])
    return tuple(reversed(path))


def _arrow(graph: Graph, walk: Walk, at: int, mask: int) -> Edge:
    """The strongest kind of an edge that the class allows at this place."""
    kinds = graph.kinds[walk[at]][walk[(at + 1) % len(walk)]] & mask
    return next(kind for kind in Edge if kinds & kind)
