"""The possible next acts in a world, and the bounds that they use."""

from collections.abc import Iterator
from typing import NamedTuple

from election.messages import Index, Position, Term
from qsync.sim.explore.acts import ExplorerAct, ReadAct
from qsync.sim.explore.answers import RECEIPTS
from qsync.sim.explore.cast import StateTable
from qsync.sim.explore.clients import (
    ADD,
    EXPIRE,
    LOWER,
    NEXT,
    ONCE,
    OPEN,
    RAISE,
    RESET,
    CallAttempt,
)
from qsync.sim.explore.menu import ActionMenu
from qsync.sim.explore.scope import Scope
from qsync.sim.explore.world import (
    EVERYWHERE,
    NAMELESS,
    ExploredWorld,
    Numbers,
    less,
    named_arrival,
    named_move,
)

READS = 200
"""Tickets of reads are above those of writes."""
LEASES = 100
"""Tickets of lease reads are above those of reads."""

TICKETS = 10
"""More than there are requests of one kind."""
_REQUESTS = {
    "calls": ((ADD,), True),
    "asks": (ONCE, False),
    "doubts": (("swap",), True),
    "resets": ((RESET,), False),
    "expiries": ((EXPIRE,), False),
    "openings": ((OPEN,), False),
    "nexts": ((NEXT,), False),
    "lowers": ((LOWER,), False),
    "raises": ((RAISE,), False),
}
"""By bound: the request, and whether a repetition has the same number."""


class Option(NamedTuple):
    """An act at a node. `world`: without the arriving letter, with the remaining bounds.

    `reach`: the node, or EVERYWHERE if the act depends on the state of others. `name`: of an act
    that commutes with acts at other nodes.
    """

    act: int
    place: int
    world: ExploredWorld
    reach: int
    name: int = NAMELESS


class NodeActs:
    """All acts of one node, except falls, which also affect the others."""

    def __init__(self, scope: Scope, cast: StateTable, menu: ActionMenu) -> None:
        self._scope = scope
        self._cast = cast
        self._menu = menu
        self._duplicates = menu.bound("duplicates")

    def free(self, world: ExploredWorld) -> Iterator[Option]:
        """Acts without a bound."""
        yield from self._arrivals(world)
        for place, state in enumerate(world.hosts):
            for bound, act, kind in self._menu.moves(state):
                if bound < 0:
                    yield Option(act, place, world, place, named_move(place, kind))

    def bounded(self, world: ExploredWorld) -> Iterator[Option]:
        """Acts with a bound that is not used up."""
        left = world.left
        if self._duplicates >= 0 and left[self._duplicates]:
            fewer = world._replace(left=less(left, self._duplicates))
            for option in self._arrivals(world):
                yield Option(option.act, option.place, fewer, option.place)
        for place, state in enumerate(world.hosts):
            for bound, act, _ in self._menu.moves(state):
                if bound >= 0 and left[bound]:
                    after = world._replace(left=less(left, bound))
                    yield Option(act, place, after, place)
        yield from self._clients(world)
        if bound := self._left(world, "receipts"):
            yield from self._receipts(world, bound - 1)
        if bound := self._left(world, "breaks"):
            yield from self._breaks(world, bound - 1)
        if bound := self._left(world, "refusals"):
            yield from self._refusals(world, bound - 1)

    def _left(self, world: ExploredWorld, name: str) -> int:
        """One more than the position of a bound that is not used up; else 0."""
        bound = self._menu.bound(name)
        return bound + 1 if bound >= 0 and world.left[bound] else 0

    # -- letters

    def _arrivals(self, world: ExploredWorld) -> Iterator[Option]:
        hosts, left, net = world
        for at, letter in enumerate(net):
            rest = self._rest(net, at)
            if rest is not None:
                place = self._cast.letters[letter].receiver - 1
                after, nth = ExploredWorld(hosts, left, rest), net[:at].count(letter)
                for late, act in enumerate(self._menu.deliveries(letter)):
                    name = named_arrival(letter, nth, late)
                    yield Option(act, place, after, place, name)

    def _rest(self, net: Numbers, at: int) -> Numbers | None:
        """The letters in flight after that letter arrived; None for a second equal letter."""
        if self._scope.ordered:
            # Messages of one connection stay in order: those sent before it are lost.
            link = self._cast.link
            mine = link(net[at])
            return tuple([each for each in net[:at] if link(each) != mine]) + net[at + 1 :]
        return None if at and net[at - 1] == net[at] else net[:at] + net[at + 1 :]

    # -- clients

    def _clients(self, world: ExploredWorld) -> Iterator[Option]:
        for name in ("writes", "asyncs"):
            if bound := self._left(world, name):
                count = self._scope.bounds[name] - world.left[bound - 1]
                after = world._replace(left=less(world.left, bound - 1))
                for place in self._writable(world):
                    act = self._menu.write(place, count, sync=name == "writes")
                    yield Option(act, place, after, place)
        for name in _REQUESTS:
            if bound := self._left(world, name):
                yield from self._requests(world, name, bound - 1)
        for name in ("reads", "leases"):
            if bound := self._left(world, name):
                yield from self._reads(world, bound - 1, by_lease=name == "leases")

    def _writable(self, world: ExploredWorld) -> list[int]:
        return [p for p, state in enumerate(world.hosts) if self._menu.writable(state)]

    def _requests(self, world: ExploredWorld, name: str, bound: int) -> Iterator[Option]:
        kinds, again = _REQUESTS[name]
        count = self._scope.bounds[name] - world.left[bound] + 1
        ticket = count + TICKETS * list(_REQUESTS).index(name)
        after = world._replace(left=less(world.left, bound))
        for place in self._writable(world):
            for kind in kinds:
                seq = 1 if again else count
                asked = CallAttempt(kind, seq, ticket, doubted=name == "doubts")
                yield Option(self._menu.call(place, asked), place, after, place)

    def _reads(self, world: ExploredWorld, bound: int, *, by_lease: bool) -> Iterator[Option]:
        """Only the whole cluster shows what was answered before a read."""
        views = [self._cast.views[self._cast.view_of(state)] for state in world.hosts]
        told = [place for view in views for place in view.told_ok]
        index, term = max([(0, 0), *told, *(view.read_to for view in views)])
        floor = Position(Term(term), Index(index))
        after = world._replace(left=less(world.left, bound))
        for place, state in enumerate(world.hosts):
            me = self._cast.hosts[state].me
            if by_lease and not self._menu.leads(state):
                continue  # elsewhere it is a linearizable read
            if int(me) in self._scope.reading:
                ticket = READS + world.left[bound] + (LEASES if by_lease else 0)
                word = "read by lease" if by_lease else "read"
                act = self._cast.act(ExplorerAct(me, word, ReadAct(ticket, floor)))
                yield Option(act, place, after, EVERYWHERE)

    def _receipts(self, world: ExploredWorld, bound: int) -> Iterator[Option]:
        """A client with a receipt may read with it on any node."""
        told = [self._cast.hosts[state].diary.answers.ok for state in world.hosts]
        places = sorted({place for each in told for place in each})
        after = world._replace(left=less(world.left, bound))
        for place, state in enumerate(world.hosts):
            me = self._cast.hosts[state].me
            for index, term in places if int(me) in self._scope.reading else ():
                floor = Position(Term(term), Index(index))
                asked = ReadAct(RECEIPTS[world.left[bound]], floor)
                act = self._cast.act(ExplorerAct(me, "read receipt", asked))
                yield Option(act, place, after, EVERYWHERE)

    def _breaks(self, world: ExploredWorld, bound: int) -> Iterator[Option]:
        """A connection is lost and established again; messages in flight on it may still arrive."""
        after = world._replace(left=less(world.left, bound))
        ends = [self._cast.hosts[state] for state in world.hosts]
        for place, end in enumerate(ends):
            for other in ends:
                if other is not end:
                    act = self._cast.act(ExplorerAct(end.me, "reconnect", other.greeting()))
                    yield Option(act, place, after, EVERYWHERE)

    def _refusals(self, world: ExploredWorld, bound: int) -> Iterator[Option]:
        """A connection to the leader is refused, perhaps by a firewall, and established again."""
        after = world._replace(left=less(world.left, bound))
        ends = [self._cast.hosts[state] for state in world.hosts]
        for place, end in enumerate(ends):
            leader = end.core.machine.raft.leader
            if leader is not None and leader != end.me:
                act = self._cast.act(ExplorerAct(end.me, "refuse", ends[leader - 1].greeting()))
                yield Option(act, place, after, EVERYWHERE)
