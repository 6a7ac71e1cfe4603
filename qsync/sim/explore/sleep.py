"""Partial orders: of two arrivals at different nodes one order is enough, the other sleeps.

An arrival at a node changes only that node and adds letters, so it commutes with every act at
another node. When `one` and then `two` may happen in a world, the worlds after `one, two` and `two,
one` are the same, and `one` need not be tried again after `two`: it sleeps there until something
happens at its own node (sleep sets, P. Godefroid 1996). This loses no state, only paths to it. If a
world is reached again with fewer sleepers than before, the acts that no longer sleep are tried
later.
"""

from qsync.sim.explore.alike import Key
from qsync.sim.explore.cast import StateTable
from qsync.sim.explore.world import EVERYWHERE, Transition, originally, place_of, renamed

Names = frozenset[int]
NONE: Names = frozenset()


class SleepSets:
    """Every known world, by the digest of its key, and its sleeping acts."""

    def __init__(self, cast: StateTable) -> None:
        self._cast = cast
        self._known: dict[bytes, Names] = {}
        self._shared: dict[Names, Names] = {NONE: NONE}

    def __len__(self) -> int:
        return len(self._known)

    def new(self, key: Key, asleep: list[int]) -> bool:
        """Enter a world; False when it was entered before."""
        if key.digest in self._known:
            return False
        self._known[key.digest] = self._names(key, asleep)
        return True

    def again(self, key: Key, asleep: list[int]) -> Names:
        """The world is entered again. Returns the acts that no longer sleep."""
        before = self._known[key.digest]
        if not before:
            return NONE
        both = before & self._names(key, asleep)
        if len(both) == len(before):
            return NONE
        self._known[key.digest] = self._shared.setdefault(both, both)
        return before - both

    def bed(self, key: Key, only: Names) -> "SleepSet":
        """For the world that is expanded next. `only`: the acts to try."""
        sleepers = self._known[key.digest]
        if key.renaming:
            cast = self._cast
            sleepers = frozenset([originally(cast, key.renaming, each) for each in sleepers])
            only = frozenset([originally(cast, key.renaming, each) for each in only])
        return SleepSet(self._cast, sleepers, only)

    def _names(self, key: Key, asleep: list[int]) -> Names:
        if not asleep:
            return NONE
        if key.renaming:
            asleep = [renamed(self._cast, key.renaming, each) for each in asleep]
        names = frozenset(asleep)
        return self._shared.setdefault(names, names)


class SleepSet:
    """The sleeping acts in one world, while its steps are tried one after the other."""

    def __init__(self, cast: StateTable, sleepers: Names, only: Names) -> None:
        self._cast = cast
        self._sleepers = sleepers
        self._only = only
        self._asleep = list(sleepers)

    def skip(self, name: int) -> bool:
        """Whether the act need not be tried."""
        return name in self._sleepers or (bool(self._only) and name not in self._only)

    def after(self, step: Transition) -> list[int]:
        """The sleeping acts in the world after that step. The act itself sleeps in later ones."""
        asleep, cast = self._asleep, self._cast
        if step.place == EVERYWHERE or not asleep:
            left = []
        else:
            left = [each for each in asleep if place_of(cast, each) != step.place]
        if step.name:
            asleep.append(step.name)
        return left
