"""Seeded dice, a pair for every concern: what one of them throws does not change another."""

from random import Random


class RandomStream(Random):
    """Random numbers from text, equal everywhere and under any hash seed."""

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def about(self, mean: float) -> float:
        """An exponential delay, cut at ten times its mean."""
        return min(self.expovariate(1.0), 10.0) * mean

    def chance(self, probability: float) -> bool:
        """True with that probability; throws no dice for zero."""
        return probability > 0 and self.random() < probability
