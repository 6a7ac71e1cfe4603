"""Cycles of dependencies by their class: Adya's G0, G1c, G-single and G2, and what is between.

The class of a cycle depends on how many of its edges are anti-dependencies (rw), and on whether two
of these are adjacent. A cycle that needs an edge of a session or of real time only violates a
stronger level.
"""

from collections import deque
from collections.abc import Callable, Collection, Container, Iterator
from dataclasses import dataclass

from admin.checker.elle.graph import FREE, Edge, Graph, State

VISITS_MAX = 1_000_000
"""How many edges are walked in search of the shortest cycles of one class.

The components alone decide whether there is a cycle that a level prohibits. At this limit a longer
cycle that is already known is reported.
"""

EXAMPLES_MAX = 8
"""How many cycles of each class are reported, one per component. All components are searched."""

Walk = tuple[int, ...]
"""Numbers along a cycle, without the first one again."""

GROUPS = (("G0",), ("G1c",), ("G-single", "G-nonadjacent"), ("G2-item",))
"""Classes, the worst first: a level that allows one allows all after it.

A level prohibits or allows all classes of a group, and the components show whether one exists.
"""

SUFFIXES: dict[str, int] = {"": 0, "-process": Edge.PROCESS, "-realtime": Edge.REALTIME}
"""The suffix of a class whose cycles need such edges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """One cycle of a class. `arrows[i]` is the kind of edge from `walk[i]` to the one after it."""

    name: str
    walk: Walk
    arrows: tuple[Edge, ...]

    @property
    def edges(self) -> list[tuple[int, int, int]]:
        """Start, end and kind of every edge."""
        ends = (*self.walk[1:], self.walk[0])
        return [(a, b, int(kind)) for a, b, kind in zip(self.walk, ends, self.arrows, strict=True)]


def cycles(graph: Graph, *, visits_max: int = VISITS_MAX) -> Iterator[Cycle]:
    """Some cycles of every class in the graph, the plain classes first.

    If a group of classes that a level prohibits has a cycle, the result has a cycle of that group
    or of a worse one.
    """
    found: set[str] = set()
    if not graph.components(FREE | Edge.RW | Edge.PROCESS | Edge.REALTIME):
        return
    for suffix, extra in SUFFIXES.items():
        worse: set[str] = set()
        for names in GROUPS:
            worse.update(names)
            search = _Search(graph, extra, visits_max)
            every = search.components(names[0])
            inside = [frozenset(number for number, _ in each) for each in every]
            for name in names if every else ():
                if name in found:
                    continue  # with the edges of real time it would prove less than it already does
                for walk, masks in search.of_class(name, inside):
                    if len(set(walk)) < len(walk) and "G-single" in found:
                        continue  # the same cycle, walked twice
                    found.add(name)
                    yield _cycle(graph, name + suffix, walk, masks)
            if every and found.isdisjoint(worse):
                # The limit was too low to find the shortest of a class, but there is one.
                found.add(names[-1])
                yield _cycle(graph, names[-1] + suffix, *search.some(names[0], every[0]))


def _cycle(graph: Graph, name: str, walk: Walk, masks: list[int]) -> Cycle:
    arrows = tuple(_arrow(graph, walk, at, mask) for at, mask in enumerate(masks))
    return Cycle(name=name, walk=walk, arrows=arrows)


Found = tuple[Walk, list[int]]
"""A cycle, and for each edge the kinds that the class allows there."""

Place = tuple[int, bool, bool]
"""A number, whether it was reached by an rw edge, and whether another rw edge came before."""


class _Search:
    """The search for cycles of one group of classes, with or without edges of real time."""

    def __init__(self, graph: Graph, extra: int, visits_max: int) -> None:
        self._graph = graph
        self._free = FREE | extra
        self._visits_max = self._left = visits_max
        self._masks: dict[str, int] = {
            "G0": Edge.WW | extra,
            "G1c": self._free,
            "G2-item": self._free | Edge.RW,
        }
        self._finders: dict[str, Callable[[Collection[int]], Found | None]] = {
            "G0": lambda inside: self._closed_by(inside, Edge.WW, Edge.WW | extra),
            "G1c": lambda inside: self._closed_by(inside, Edge.WR, self._free),
            "G-single": lambda inside: self._closed_by(inside, Edge.RW, self._free),
            "G-nonadjacent": self._nonadjacent,
            "G2-item": self._g2,
        }
        self._ranks: list[int] = []

    def components(self, name: str) -> list[frozenset[State]]:
        """Return the components that hold all cycles of a class; each holds at least one."""
        plain = self._graph.components(self._masks.get(name, self._free | Edge.RW))
        if name in self._masks:
            return [frozenset((number, False) for number in each) for each in plain]
        # Cerone and Gotsman: snapshot isolation prohibits a cycle without two adjacent rw edges.
        return self._graph.apart(self._free, frozenset().union(*plain))

    def of_class(self, name: str, every: list[frozenset[int]]) -> Iterator[Found]:
        """A cycle from each of the first components that have one."""
        self._left, shown = self._visits_max, 0
        if every and name in {"G0", "G1c", "G-single"}:
            self._ranks = self._graph.ranks(self._masks.get(name, self._free))
        for inside in every:
            found = self._finders[name](inside)
            if found is not None:
                yield found
                shown += 1
            if shown == EXAMPLES_MAX or self._left <= 0:
                return

    def some(self, name: str, inside: frozenset[State]) -> Found:
        """Any cycle of a component, without a search for the shortest."""
        first = next(iter(inside))
        came_from: dict[State, State] = {}
        todo = deque([first])
        while first not in came_from:
            at = todo.popleft()
            for state in self._steps(name, at):
                if state in inside and state not in came_from:
                    came_from[state] = at
                    todo.append(state)
        states = [first]
        while came_from[states[-1]] != first:
            states.append(came_from[states[-1]])
        states.reverse()
        any_ = self._masks.get(name, self._free)
        masks = [int(Edge.RW) if by_rw else any_ for _, by_rw in states]
        return (first[0], *(number for number, _ in states[:-1])), masks

    def _steps(self, name: str, state: State) -> Iterator[State]:
        if name not in self._masks:
            yield from self._graph.steps(state, self._free)
            return
        for end, kinds in self._graph.kinds[state[0]].items():
            if kinds & self._masks[name]:
                yield end, False

    def _closed_by(self, inside: Collection[int], first: Edge, rest: int) -> Found | None:
        """The shortest cycle of one edge of a kind and a path back along other kinds."""
        best: Walk | None = None
        ranks = self._ranks
        for start, end in self._graph.edges(first, inside):
            if ranks[end] > ranks[start]:
                continue  # there is no path back along the others
            path = self._path(end, start, rest, _Between(inside, ranks, ranks[start]))
            if path is not None and (best is None or len(path) < len(best)):
                best = (start, *path[:-1])
                if len(best) == 2:  # noqa: PLR2004 - there is no shorter cycle
                    break
            if self._left <= 0:
                break
        return None if best is None else (best, [int(first)] + [rest] * (len(best) - 1))

    def _path(self, start: int, end: int, mask: int, inside: Container[int]) -> Walk | None:
        """A shortest path along edges of some kinds, both ends included."""
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
        """A cycle with two or more rw edges, of which no two are adjacent."""
        for start, second in self._graph.edges(Edge.RW, inside):
            found = self._apart(start, second, inside)
            if found is not None or self._left <= 0:
                return found
        return None

    def _apart(self, start: int, second: int, inside: Collection[int]) -> Found | None:
        """A shortest path back to the start of an rw edge, along rw edges that are not adjacent."""
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
        """Two adjacent rw edges, and any path back that does not pass the node between them."""
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
    """Numbers of a component from which a rank can still be reached."""

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
