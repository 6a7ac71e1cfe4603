"""The figures of a campaign: broken promises, which must be 0, and how much was tried."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

SHOWN_MAX = 20
"""How many violations of a kind are shown in full; all are counted."""


class BrokenPromise(StrEnum):
    """A kind of promise that was broken."""

    LOST = "lost"
    DOUBLED = "doubled"
    STALE = "stale"
    WRONG = "wrong outcomes"
    DIFFERENT = "different nodes"
    ENDED = "nodes ended"
    UNANSWERED = "operations unanswered"
    STUCK = "not healed"


ABOUT = {
    BrokenPromise.LOST: "answered as committed, and not there",
    BrokenPromise.DOUBLED: "done more than once",
    BrokenPromise.STALE: "a read that does not show what it must",
    BrokenPromise.WRONG: "told one thing, and another is so",
    BrokenPromise.DIFFERENT: "replicas that are not the same at the end",
    BrokenPromise.ENDED: "processes that ended unexpectedly",
    BrokenPromise.UNANSWERED: "promotions, demotions and clearings without an answer",
    BrokenPromise.STUCK: "rounds after which the cluster took no writes, though all was put right",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseViolation:
    """One broken promise, in words. `at`: seconds since the campaign began."""

    kind: BrokenPromise
    text: str
    at: float = 0.0


@dataclass(slots=True)
class Figures:
    """All figures. `violations` holds the first few of each kind."""

    broken: Counter[BrokenPromise] = field(default_factory=Counter)
    violations: list[PromiseViolation] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)

    def add(self, kind: BrokenPromise, text: str, *, at: float = 0.0) -> None:
        """Count a broken promise."""
        self.broken[kind] += 1
        if self.broken[kind] <= SHOWN_MAX:
            self.violations.append(PromiseViolation(kind=kind, text=text, at=at))

    @property
    def clean(self) -> bool:
        """Return whether every promise was kept."""
        return not self.broken.total()

    def sentence(self) -> str:
        """`lost 0, doubled 0, ...`."""
        return ", ".join(f"{kind} {self.broken[kind]}" for kind in BrokenPromise)

    def described(self) -> str:
        """The attempts, in one line."""
        told = [f"{count} {what}" for what, count in sorted(self.counts.items())]
        return ", ".join(told) or "nothing yet"
