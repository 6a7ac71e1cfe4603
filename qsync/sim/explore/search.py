"""Breadth-first search of all states of the cluster, so that the first violation is shortest."""

import time
from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from qsync.sim.canon import PropertyViolation
from qsync.sim.explore.alike import Alike, Key
from qsync.sim.explore.cast import BrokenProperty, StateTable
from qsync.sim.explore.ids import renamings
from qsync.sim.explore.judge import Judge
from qsync.sim.explore.menu import ActionMenu
from qsync.sim.explore.prelude import Prelude
from qsync.sim.explore.scope import Scope
from qsync.sim.explore.sleep import NONE, Names, SleepSets
from qsync.sim.explore.steps import Unsound, Worlds
from qsync.sim.explore.world import ExploredWorld

STATES_MAX = 20_000_000
"""The default limit of states of an exploration."""
REPORT_EVERY = 1 << 12
"""Worlds between two reports of progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchProgress:
    """The progress. `waiting`: worlds that were found and not expanded yet."""

    scope: str
    states: int
    transitions: int
    depth: int
    waiting: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The result. `exhausted`: there is no state left, and no state violates a property."""

    scope: str
    mutant: str | None
    states: int
    transitions: int
    depth: int
    node_states: int
    turns: int
    seconds: float
    exhausted: bool
    broken: BrokenProperty | None
    trace: tuple[int, ...]
    """Numbers of acts: the shortest path from the first state to the violation."""
    happened: dict[str, int]
    """The number of transitions in which it happened."""


class OpenState(NamedTuple):
    """A world whose steps are to be tried: all that are awake, or `only` some free acts."""

    way: int
    """The position of the path to it, in the list of all paths."""
    world: ExploredWorld
    key: Key
    only: Names


class Ways:
    """How every world was reached: the path before the last act, and that act."""

    def __init__(self) -> None:
        self._before = array("I", [0])
        self._acts = array("I", [0])

    def add(self, before: int, act: int) -> int:
        """Add an act to a path."""
        self._before.append(before)
        self._acts.append(act)
        return len(self._acts) - 1

    def acts(self, way: int) -> tuple[int, ...]:
        """All of them, from the first state on."""
        found: list[int] = []
        while way:
            found.append(self._acts[way])
            way = self._before[way]
        return tuple(reversed(found))


class StateSearch:
    """One scope, from its first state on. Call `run` once."""

    def __init__(
        self,
        scope: Scope,
        mutant: str | None = None,
        *,
        cast: StateTable | None = None,
        reduce: bool = True,
    ) -> None:
        self.scope = scope
        self.mutant = mutant
        self.cast = cast or StateTable(renamings(scope.nodes, scope.alike), leases=scope.tick > 0)
        self.menu = ActionMenu(scope, self.cast)
        self.worlds = Worlds(scope, self.cast, self.menu)
        self._alike = Alike(self.cast, ordered=scope.ordered)
        self._judge = Judge(self.cast, scope.quorum)
        self._known = SleepSets(self.cast)
        self._ways = Ways()
        self._tally = _Tally()
        self._reduce = reduce
        self.prelude = Prelude(scope, mutant)

    def first(self) -> ExploredWorld:
        """The state after the prelude. Raises Violation if a mutant fails in the prelude."""
        self.prelude = Prelude(self.scope, self.mutant)
        self.prelude.play()
        hosts = self.prelude.hosts.values()
        left = tuple([self.scope.bounds[name] for name in self.menu.bounds])
        states = tuple([self.cast.state(host) for host in hosts])
        net = tuple([self.cast.letter(each) for each in self.prelude.held])
        return ExploredWorld(states, left, self.worlds.living(states, net))

    def run(
        self,
        *,
        states_max: int = STATES_MAX,
        progress: Callable[[SearchProgress], None] | None = None,
    ) -> SearchResult:
        """Run until no state is left, a violation, or more than `states_max` states."""
        tally = self._tally
        tally.began = time.perf_counter()
        found: list[OpenState] = []
        try:
            layer = self._start()
            while layer and len(self._known) <= states_max:
                tally.depth += 1
                found = []
                for count, waiting in enumerate(layer):
                    self._expand(waiting, found)
                    if len(self._known) > states_max:
                        break
                    if progress is not None and count % REPORT_EVERY == 0:
                        progress(self._progress(len(layer) - count + len(found)))
                layer = found
        except _Found as broken:
            return self._explored(broken)
        return self._explored(None, exhausted=not layer)

    def _start(self) -> list[OpenState]:
        try:
            first = self.first()
            key = self._alike.key(first)
            self._known.new(key, [])
            self._judge.check(first)
        except PropertyViolation as violation:
            raise _Found(BrokenProperty(violation.number, str(violation)), 0) from None
        return [OpenState(0, first, key, NONE)]

    def _expand(self, waiting: OpenState, found: list[OpenState]) -> None:
        known, tally, ways = self._known, self._tally, self._ways
        before, world, here, only = waiting
        bed = known.bed(here, only)
        try:
            for step in self.worlds.steps(world, bed.skip, bounded=not only):
                tally.transitions += 1
                if step.happened:
                    tally.happened.update(step.happened)
                key = self._alike.key(step.world)
                asleep = bed.after(step) if self._reduce else []
                if known.new(key, asleep):
                    way = ways.add(before, step.act)
                    self._check(way, step.world)
                    found.append(OpenState(way, step.world, key, NONE))
                    continue
                awake = known.again(key, asleep)
                if awake:
                    found.append(OpenState(ways.add(before, step.act), step.world, key, awake))
        except Unsound as unsound:
            tally.transitions += 1
            raise _Found(unsound.broken, ways.add(before, unsound.act)) from None

    def _check(self, way: int, world: ExploredWorld) -> None:
        try:
            self._judge.check(world)
        except PropertyViolation as violation:
            raise _Found(BrokenProperty(violation.number, str(violation)), way) from None

    def _progress(self, waiting: int) -> SearchProgress:
        return SearchProgress(
            scope=self.scope.name,
            states=len(self._known),
            transitions=self._tally.transitions,
            depth=self._tally.depth,
            waiting=waiting,
            seconds=time.perf_counter() - self._tally.began,
        )

    def _explored(self, found: "_Found | None", *, exhausted: bool = False) -> SearchResult:
        tally = self._tally
        return SearchResult(
            scope=self.scope.name,
            mutant=self.mutant,
            states=len(self._known),
            transitions=tally.transitions,
            depth=tally.depth,
            node_states=len(self.cast.hosts),
            turns=self.cast.turns,
            seconds=time.perf_counter() - tally.began,
            exhausted=exhausted,
            broken=found.broken if found is not None else None,
            trace=self._ways.acts(found.way) if found is not None else (),
            happened=dict(tally.happened),
        )


class _Tally:
    """The counts of the search."""

    def __init__(self) -> None:
        self.transitions = 0
        self.depth = 0
        self.began = 0.0
        self.happened: Counter[str] = Counter()


class _Found(Exception):
    """A property is violated at the end of a path."""

    def __init__(self, broken: BrokenProperty, way: int) -> None:
        super().__init__(broken.text)
        self.broken = broken
        self.way = way
