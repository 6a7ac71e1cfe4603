"""Virtual time: a queue of events, and the source of all random draws of a run."""

import heapq
from collections.abc import Callable

from qsync.sim.dice import RandomStream

Todo = Callable[..., None]


class VirtualClock:
    """A heap of events. All random draws come from the seed; nothing else in a run is random."""

    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self._seed = seed
        self._dice: dict[str, RandomStream] = {}
        self._heap: list[tuple[float, int, Todo, tuple[object, ...]]] = []
        self._count = 0

    def dice(self, name: str) -> RandomStream:
        """The random generator of that name, the same one at every call."""
        found = self._dice.get(name)
        if found is None:
            found = self._dice[name] = RandomStream(f"{self._seed} {name}")
        return found

    def forget(self, concerns: Callable[[str], bool]) -> None:
        """Remove the generators of these names, because a long run always makes new ones."""
        self._dice = {name: dice for name, dice in self._dice.items() if not concerns(name)}

    def after(self, delay: float, todo: Todo, *args: object) -> None:
        """Call `todo(*args)` in `delay` seconds of virtual time."""
        self._count += 1
        heapq.heappush(self._heap, (self.now + delay, self._count, todo, args))

    def step(self) -> bool:
        """Advance time to the next event and run it. False if no event is left."""
        if not self._heap:
            return False
        self.now, _, todo, args = heapq.heappop(self._heap)
        todo(*args)
        return True
