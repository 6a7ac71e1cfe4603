"""The successors of a world: all possible acts in it, and the worlds after them."""

from collections.abc import Callable, Iterator

from qsync.sim.explore import falls
from qsync.sim.explore.acts import ExplorerAct, Tick
from qsync.sim.explore.cast import ActResult, BrokenProperty, StateTable
from qsync.sim.explore.host import ExploredNode
from qsync.sim.explore.menu import ActionMenu
from qsync.sim.explore.options import NodeActs, Option
from qsync.sim.explore.roll import last_term
from qsync.sim.explore.scope import DRIFT, Scope
from qsync.sim.explore.world import EVERYWHERE, NAMELESS, ExploredWorld, Numbers, Transition, less

Skip = Callable[[int], bool]
"""Whether the act of that name need not be tried."""
_BATCHED = frozenset({"deliver", "land", "fire", "put", "call"})
"""Acts that may be combined with another one in one turn."""


_FALLS = {
    "crashes": "crash",
    "wipes": "wipe",
    "damages": "damage",
    "forces": "force",
    "upgrades": "upgrade",
    "downgrades": "downgrade",
}
"""By bound: how a node stops, and restarts."""


class Unsound(Exception):
    """An act violates a property within its node."""

    def __init__(self, act: int, broken: BrokenProperty) -> None:
        super().__init__(broken.text)
        self.act = act
        self.broken = broken


class Worlds:
    """Takes the options, one by one."""

    def __init__(self, scope: Scope, cast: StateTable, menu: ActionMenu) -> None:
        self._scope = scope
        self._cast = cast
        self._menu = menu
        self._options = NodeActs(scope, cast, menu)
        self._floors: dict[int, int] = {}
        self._ears: dict[int, tuple[int, int]] = {}

    def steps(
        self, world: ExploredWorld, skip: Skip, *, bounded: bool = True
    ) -> Iterator[Transition]:
        """All possible next acts; without `bounded` only free acts. Raises Unsound."""
        for option in self._options.free(world):
            if not skip(option.name):
                yield self._taken(option)
        if not bounded:
            return
        for option in self._options.bounded(world):
            yield self._taken(option)
        yield from self._falls(world)
        bound = self._menu.bound("ticks")
        if bound >= 0 and world.left[bound]:
            yield from self._ticks(world._replace(left=less(world.left, bound)))
        bound = self._menu.bound("batches")
        if bound >= 0 and world.left[bound]:
            yield from self._batches(world, bound)

    def _falls(self, world: ExploredWorld) -> Iterator[Transition]:
        for name, word in _FALLS.items():
            bound = self._menu.bound(name)
            if bound >= 0 and world.left[bound]:
                for place, state in enumerate(world.hosts):
                    if self._may_fall(place, self._cast.hosts[state], word):
                        yield self.fall(world, place, word, less(world.left, bound))

    def _may_fall(self, place: int, host: ExploredNode, word: str) -> bool:
        if word == "force":
            return place + 1 in self._scope.surviving and falls.survives(host)
        newer = bool(host.diary.release.features)
        needless = word == ("upgrade" if newer else "downgrade")
        return place + 1 in self._scope.crashing and not needless

    def _taken(self, option: Option) -> Transition:
        act, place, world, reach, name = option
        turn = self._turn(world.hosts[place], act)
        hosts = (*world.hosts[:place], turn.state, *world.hosts[place + 1 :])
        net = self.living(hosts, world.net + turn.letters)
        return Transition(act, ExploredWorld(hosts, world.left, net), turn.happened, reach, name)

    def _turn(self, state: int, act: int) -> ActResult:
        turn = self._cast.turn(state, act)
        if isinstance(turn, BrokenProperty):
            raise Unsound(act, turn)
        return turn

    def _ticks(self, world: ExploredWorld) -> Iterator[Transition]:
        """Time passes for all; one clock may drift, in the direction that is worse for a lease."""
        tick = self._scope.tick
        yield self.ticked(world, 0, Tick(tick))
        bound = self._menu.bound("drifts")
        if bound >= 0 and world.left[bound]:
            fewer = world._replace(left=less(world.left, bound))
            for place, state in enumerate(world.hosts):
                if not self._cast.hosts[state].drifted:
                    by = -DRIFT if self._menu.leads(state) else DRIFT
                    yield self.ticked(fewer, place, Tick(tick + by, drifts=True))

    def ticked(self, world: ExploredWorld, place: int, tick: Tick) -> Transition:
        """Every clock advances, the one there with this drift."""
        hosts, net, acts = [], world.net, []
        for at, state in enumerate(world.hosts):
            what = tick if at == place else Tick(self._scope.tick)
            acts.append(self._cast.act(ExplorerAct(self._cast.hosts[state].me, "tick", what)))
            turn = self._turn(state, acts[-1])
            hosts.append(turn.state)
            net += turn.letters
        after = ExploredWorld(tuple(hosts), world.left, self.living(tuple(hosts), net))
        return Transition(acts[place], after, ("tick",), EVERYWHERE, NAMELESS)

    def _batches(self, world: ExploredWorld, bound: int) -> Iterator[Transition]:
        """Two inputs to a node in one turn."""
        world = world._replace(left=less(world.left, bound))
        acts = self._cast.acts
        for first in self._both(world):
            for second in self._both(first.world):
                if second.place != first.place:
                    continue
                one, two = acts[first.act], acts[second.act]
                if one != two or one.name == "deliver":
                    act = self._cast.act(ExplorerAct(one.node, "batch", (one, two)))
                    reach = EVERYWHERE if EVERYWHERE in (first.reach, second.reach) else first.place
                    yield self._taken(Option(act, first.place, second.world, reach))

    def _both(self, world: ExploredWorld) -> Iterator[Option]:
        for options in (self._options.free(world), self._options.bounded(world)):
            for option in options:
                if self._cast.acts[option.act].name in _BATCHED:
                    yield option

    def fall(self, world: ExploredWorld, place: int, word: str, left: Numbers) -> Transition:
        """A node crashes and restarts: messages to it are lost, all connect again."""
        cast = self._cast
        ends = [cast.hosts[state] for state in world.hosts]
        me = ends[place].me
        peers = [end.greeting() for end in ends if end.me != me]
        act = cast.act(ExplorerAct(me, word, tuple(peers)))
        turn = self._turn(world.hosts[place], act)
        net = tuple([each for each in world.net if self._ear(each)[0] != place]) + turn.letters
        after = list(world.hosts)
        after[place] = turn.state
        greeting = cast.hosts[turn.state].greeting()
        for other, end in enumerate(ends):
            # In scopes with clocks no node has noticed it yet: a new connection does not end a
            # lease.
            if other != place and not self._scope.tick:
                again = cast.act(ExplorerAct(end.me, "reconnect", greeting))
                told = self._turn(world.hosts[other], again)
                after[other] = told.state
                net += told.letters
        hosts = tuple(after)
        done = ExploredWorld(hosts, left, self.living(hosts, net))
        return Transition(act, done, turn.happened, EVERYWHERE, NAMELESS)

    # -- letters

    def living(self, hosts: Numbers, net: Numbers) -> Numbers:
        """Sort the letters, without those that their receivers will ignore."""
        if not net:
            return net
        if not self._scope.dead_letters:
            return tuple(sorted(net, key=self._link if self._scope.ordered else None))
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
            _, receiver, message, _ = self._cast.letters[letter]
            found = self._ears[letter] = (receiver - 1, last_term(message, self._scope.unheard))
        return found

    def _link(self, letter: int) -> int:
        return self._cast.link(letter)
