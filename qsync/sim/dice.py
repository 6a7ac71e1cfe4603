"""Seeded dice, a pair for every concern: what one of them throws does not change another."""

from collections.abc import Callable
from math import log
from random import Random
from typing import Final

from typing_extensions import override

HASTE: Final = 0.02
"""The part of a timer's range that is used when everybody is in a hurry."""


class RandomStream(Random):
    """Random numbers from text, equal everywhere and under any hash seed."""

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def about(self, mean: float) -> float:
        """An exponential delay, cut at ten times its mean."""
        # As `expovariate(1.0)`, which is called for every packet.
        return min(-log(1.0 - self.random()), 10.0) * mean

    def chance(self, probability: float) -> bool:
        """True with that probability; throws no dice for zero."""
        return probability > 0 and self.random() < probability


class Jitter(RandomStream):
    """A process's dice for timers; in a hurry they fall on the earliest side."""

    def __init__(self, name: str, in_a_hurry: Callable[[], bool]) -> None:
        super().__init__(name)
        self._in_a_hurry = in_a_hurry

    @override
    def uniform(self, a: float, b: float) -> float:
        """Between both."""
        spread = (b - a) * HASTE if self._in_a_hurry() else b - a
        return a + spread * self.random()
