"""States of the whole cluster: a number for each node, the letters under way, and what is left."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from election.messages import Index
from qsync.sim.explore.acts import Act, Read
from qsync.sim.explore.cast import Broken, Cast, Turn
from qsync.sim.explore.clients import ADD, ONCE
from qsync.sim.explore.menu import Menu
from qsync.sim.explore.roll import last_term
from qsync.sim.explore.scope import Scope

Numbers = tuple[int, ...]

EVERYWHERE = -1
"""Said of an act that is not of one node alone."""


class World(NamedTuple):
    """`left`: how often things may still happen, in the order of the menu's bounds."""

    hosts: Numbers
    left: Numbers
    net: Numbers


class Step(NamedTuple):
    """One thing that can happen, and the world after it. `place`: the node, or EVERYWHERE.

    `name`: of an act that commutes with what happens at other nodes, else NAMELESS.
    """

    act: int
    world: World
    happened: tuple[str, ...]
    place: int
    name: int


NAMELESS = 0
_NTH = 2
_LETTER = 64
"""The name of an arrival: its letter, which of several like it, and whether after a silence."""
_PLACE = 8
"""Other names are negative: the place, and one of the few kinds of free moves."""


def renamed(cast: Cast, renaming: int, name: int) -> int:
    """What an act is called when the nodes have other names."""
    if name < 0:
        place, kind = divmod(-name, _PLACE)
        return -(cast.renamings[renaming][place] * _PLACE + kind)
    letter, rest = divmod(name, _LETTER)
    return cast.letter_renamed(renaming, letter) * _LETTER + rest


def originally(cast: Cast, renaming: int, name: int) -> int:
    """The act that `renamed` made that one of."""
    if name < 0:
        place, kind = divmod(-name, _PLACE)
        return -(cast.renamings[renaming].index(place) * _PLACE + kind)
    letter, rest = divmod(name, _LETTER)
    return cast.letter_originally(renaming, letter) * _LETTER + rest


def place_of(cast: Cast, name: int) -> int:
    """Where the act of that name happens."""
    if name < 0:
        return -name // _PLACE - 1
    return cast.letters[name // _LETTER].receiver - 1


What = tuple[int, int, int]
"""Act, place and name."""
Skip = Callable[[int], bool]
"""Whether the act of that name need not be tried."""


class Unsound(Exception):
    """An act breaks a property within the node that it happens to."""

    def __init__(self, act: int, broken: Broken) -> None:
        super().__init__(broken.text)
        self.act = act
        self.broken = broken


class Worlds:
    """What follows from a world."""

    def __init__(self, scope: Scope, cast: Cast, menu: Menu) -> None:
        self._scope = scope
        self._cast = cast
        self._menu = menu
        self._duplicates = menu.bound("duplicates")
        self._floors: dict[int, int] = {}
        self._ears: dict[int, tuple[int, int]] = {}

    def steps(self, world: World, skip: Skip, *, bounded: bool = True) -> Iterator[Step]:
        """Everything that can happen next; without `bounded` only free acts. Raises Unsound."""
        yield from self._arrivals(world, skip, bounded=bounded)
        left = world.left
        for place, state in enumerate(world.hosts):
            for bound, act, kind in self._menu.moves(state):
                if bound < 0:
                    name = -((place + 1) * _PLACE + kind)
                    if not skip(name):
                        yield self._alone(world, (act, place, name), left)
                elif bounded and left[bound]:
                    yield self._alone(world, (act, place, NAMELESS), _less(left, bound))
        if bounded:
            yield from self._clients(world)
            yield from self._accidents(world)

    # -- one node

    def _arrivals(self, world: World, skip: Skip, *, bounded: bool) -> Iterator[Step]:
        hosts, left, net = world
        again = bounded and self._duplicates >= 0 and left[self._duplicates] > 0
        for at, letter in enumerate(net):
            rest = self._rest(net, at)
            if rest is None:
                continue
            place = self._ear(letter)[0]
            first = letter * _LETTER + net[:at].count(letter) * _NTH
            for late, act in enumerate(self._menu.deliveries(letter)):
                if not skip(first + late):
                    turn = self._turn(hosts[place], act)
                    after = World(hosts, left, rest)
                    yield self._after((act, place, first + late), turn, after)
                if again:
                    turn = self._turn(hosts[place], act)
                    fewer = _less(left, self._duplicates)
                    yield self._after((act, place, NAMELESS), turn, World(hosts, fewer, net))

    def _rest(self, net: Numbers, at: int) -> Numbers | None:
        """What is under way when the letter there has arrived; None for a second like it."""
        if self._scope.ordered:
            # On one connection nothing overtakes: what was sent before it is lost.
            link = self._link(net[at])
            return tuple([each for each in net[:at] if self._link(each) != link]) + net[at + 1 :]
        return None if at and net[at - 1] == net[at] else net[:at] + net[at + 1 :]

    def _alone(self, world: World, what: What, left: Numbers) -> Step:
        turn = self._turn(world.hosts[what[1]], what[0])
        return self._after(what, turn, World(world.hosts, left, world.net))

    def _turn(self, state: int, act: int) -> Turn:
        turn = self._cast.turn(state, act)
        if isinstance(turn, Broken):
            raise Unsound(act, turn)
        return turn

    def _after(self, what: What, turn: Turn, world: World) -> Step:
        act, place, name = what
        hosts, left, net = world
        hosts = (*hosts[:place], turn.state, *hosts[place + 1 :])
        after = World(hosts, left, self._living(hosts, net + turn.letters))
        return Step(act, after, turn.happened, place, name)

    # -- letters

    def _living(self, hosts: Numbers, net: Numbers) -> Numbers:
        """Without letters that their receivers will never take notice of, in one order."""
        if not net:
            return net
        floors = [self._floor(state) for state in hosts]
        kept = []
        for letter in net:
            place, last = self._ear(letter)
            if not 0 < last < floors[place]:
                kept.append(letter)
        kept.sort(key=self._link if self._scope.ordered else None)
        return tuple(kept)

    def _floor(self, state: int) -> int:
        found = self._floors.get(state)
        if found is None:
            found = self._floors[state] = int(self._cast.hosts[state].platter.ballot.term)
        return found

    def _ear(self, letter: int) -> tuple[int, int]:
        found = self._ears.get(letter)
        if found is None:
            _, receiver, message = self._cast.letters[letter]
            found = self._ears[letter] = (receiver - 1, last_term(message, self._scope.unheard))
        return found

    def _link(self, letter: int) -> int:
        return self._cast.link(letter)

    # -- clients

    def _clients(self, world: World) -> Iterator[Step]:
        for name in ("writes", "asyncs"):
            bound = self._menu.bound(name)
            if bound >= 0 and world.left[bound]:
                count = self._scope.bounds[name] - world.left[bound]
                for place, state in enumerate(world.hosts):
                    if self._menu.writable(state):
                        act = self._menu.write(place, count, sync=name == "writes")
                        yield self._alone(world, (act, place, NAMELESS), _less(world.left, bound))
        for name, kinds in (("calls", (ADD,)), ("asks", ONCE)):
            bound = self._menu.bound(name)
            if bound >= 0 and world.left[bound]:
                yield from self._requests(world, bound, kinds)
        bound = self._menu.bound("reads")
        if bound >= 0 and world.left[bound]:
            yield from self._reads(world, bound)

    def _requests(self, world: World, bound: int, kinds: Iterable[str]) -> Iterator[Step]:
        """What is asked again has the same number, what is asked once has its own."""
        count = self._scope.bounds[self._menu.bounds[bound]] - world.left[bound] + 1
        for place, state in enumerate(world.hosts):
            if self._menu.writable(state):
                for kind in kinds:
                    seq = 1 if kind == ADD else count
                    act = self._menu.call(place, kind, seq=seq, ticket=count)
                    yield self._alone(world, (act, place, NAMELESS), _less(world.left, bound))

    def _reads(self, world: World, bound: int) -> Iterator[Step]:
        """What was answered before a read is asked is known of the whole cluster only."""
        views = [self._cast.views[self._cast.view_of(state)] for state in world.hosts]
        told = [index for view in views for index, _ in view.told_ok]
        floor = Index(max([0, *told, *(view.read_to for view in views)]))
        for place, state in enumerate(world.hosts):
            me = self._cast.hosts[state].me
            act = self._cast.act(Act(me, "read", Read(READS + world.left[bound], floor)))
            what = (act, place, NAMELESS)
            step = self._alone(world, what, _less(world.left, bound))
            yield step._replace(place=EVERYWHERE)

    # -- accidents

    def _accidents(self, world: World) -> Iterator[Step]:
        for name, word in (("crashes", "crash"), ("wipes", "wipe")):
            bound = self._menu.bound(name)
            if bound >= 0 and world.left[bound]:
                for place in range(len(world.hosts)):
                    if place + 1 in self._scope.crashing:
                        yield self.fall(world, place, word, _less(world.left, bound))

    def fall(self, world: World, place: int, word: str, left: Numbers) -> Step:
        """A node dies and comes back: what was on its way to it is lost, all connect anew."""
        cast = self._cast
        ends = [cast.hosts[state] for state in world.hosts]
        me = ends[place].me
        peers = [end.greeting() for end in ends if end.me != me]
        act = cast.act(Act(me, word, tuple(peers)))
        turn = self._turn(world.hosts[place], act)
        net = tuple([each for each in world.net if self._ear(each)[0] != place]) + turn.letters
        after = list(world.hosts)
        after[place] = turn.state
        greeting = cast.hosts[turn.state].greeting()
        for other, end in enumerate(ends):
            if other != place:
                again = cast.act(Act(end.me, "reconnect", greeting))
                told = self._turn(world.hosts[other], again)
                after[other] = told.state
                net += told.letters
        hosts = tuple(after)
        done = World(hosts, left, self._living(hosts, net))
        return Step(act, done, turn.happened, EVERYWHERE, NAMELESS)


READS = 200
"""Tickets of reads are above those of writes."""


def _less(left: Numbers, bound: int) -> Numbers:
    return (*left[:bound], left[bound] - 1, *left[bound + 1 :])
