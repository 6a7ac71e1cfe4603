"""Virtual time: what happens next, and the only dice of a run."""

import heapq
from collections.abc import Callable
from random import Random

Todo = Callable[..., None]


class Clockwork:
    """A heap of things to do. `rng` comes from the seed; nothing else in a run is random."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.now = 0.0
        self._heap: list[tuple[float, int, Todo, tuple[object, ...]]] = []
        self._count = 0

    def after(self, delay: float, todo: Todo, *args: object) -> None:
        """Call `todo(*args)` in `delay` seconds of virtual time."""
        self._count += 1
        heapq.heappush(self._heap, (self.now + delay, self._count, todo, args))

    def step(self) -> bool:
        """Let time run to the next thing and do it. False when there is nothing left to do."""
        if not self._heap:
            return False
        self.now, _, todo, args = heapq.heappop(self._heap)
        todo(*args)
        return True

    def about(self, mean: float) -> float:
        """An exponential delay, cut at ten times its mean."""
        return min(self.rng.expovariate(1.0), 10.0) * mean

    def chance(self, probability: float) -> bool:
        """True with that probability; throws no dice for zero."""
        return probability > 0 and self.rng.random() < probability
