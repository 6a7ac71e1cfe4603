"""The progress of a soak: seeds a second, and the time for the rest."""

from collections.abc import Callable
from dataclasses import dataclass, field

from admin.cluster.short import lasting
from admin.soak.judge import JudgedSeed, SeedConclusion


@dataclass(slots=True, kw_only=True)
class SoakProgress:
    """The progress through `total` seeds, of which `known` are done. `now`: monotonic clock."""

    total: int
    known: int
    now: Callable[[], float]
    done: int = 0
    broken: int = 0
    inconclusive: int = 0
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.now()

    def add(self, judged: JudgedSeed) -> None:
        """Count one more seed."""
        self.done += 1
        self.broken += judged.conclusion is SeedConclusion.BROKEN
        self.inconclusive += judged.conclusion is SeedConclusion.INCONCLUSIVE

    @property
    def rate(self) -> float:
        """Return seeds a second since the start."""
        passed = self.now() - self._began
        return self.done / passed if passed > 0 else 0.0

    def describe(self) -> str:
        """Describe the progress in one line."""
        left = self.total - self.known - self.done
        rate = self.rate
        eta = f", {lasting(left / rate)} left" if left and rate else ""
        known = f" ({self.known} known before)" if self.known else ""
        return (
            f"{self.known + self.done}/{self.total} seeds{known}, {rate:.1f}/s, "
            f"{self.broken} broken, {self.inconclusive} inconclusive{eta}"
        )
