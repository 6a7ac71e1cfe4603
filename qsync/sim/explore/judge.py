"""Checks properties of several nodes of a world; every combination is checked once."""

from qsync.sim.explore import rules
from qsync.sim.explore.cast import StateTable
from qsync.sim.explore.world import ExploredWorld


class Judge:
    """Remembers which pairs of nodes, and which whole clusters, passed."""

    def __init__(self, cast: StateTable, quorum: int | None) -> None:
        self._cast = cast
        self._quorum = quorum
        self._sound: set[tuple[int, ...]] = set()
        self._pairs: set[tuple[int, int]] = set()

    def check(self, world: ExploredWorld) -> None:
        """Raises Violation."""
        cast = self._cast
        views = tuple([cast.view_of(state) for state in world.hosts])
        if views in self._sound:
            return
        seen = [cast.views[each] for each in views]
        for place, one in enumerate(views):
            for other in range(place + 1, len(views)):
                pair = (one, views[other])
                if pair not in self._pairs:
                    rules.pair(seen[place], seen[other])
                    self._pairs.add(pair)
            if self._quorum is None:
                rules.confirmed_by_voters(seen[place], seen)
            else:
                rules.confirmed_on_quorum(seen[place], seen, self._quorum)
        self._sound.add(views)
