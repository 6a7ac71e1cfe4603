"""What a campaign counts: broken promises, which must all be none, and how much was tried."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

SHOWN_MAX = 20
"""So many of a kind are told in full; all are counted."""


class Broken(StrEnum):
    """A promise that was not kept."""

    LOST = "lost"
    DOUBLED = "doubled"
    STALE = "stale"
    WRONG = "wrong outcomes"
    DIFFERENT = "different nodes"
    ENDED = "nodes ended"
    UNANSWERED = "operations unanswered"
    STUCK = "not healed"


ABOUT = {
    Broken.LOST: "answered as committed, and not there",
    Broken.DOUBLED: "done more than once",
    Broken.STALE: "a read that does not show what it must",
    Broken.WRONG: "told one thing, and another is so",
    Broken.DIFFERENT: "replicas that are not the same at the end",
    Broken.ENDED: "processes that ended though nobody ended them",
    Broken.UNANSWERED: "promotions, demotions and clearings without an answer",
    Broken.STUCK: "rounds after which the cluster took no writes, although all was put right",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One broken promise, in words. `at`: seconds since the campaign began."""

    kind: Broken
    text: str
    at: float = 0.0


@dataclass(slots=True)
class Figures:
    """All that is counted. `violations` holds the first few of each kind."""

    broken: Counter[Broken] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)

    def add(self, kind: Broken, text: str, *, at: float = 0.0) -> None:
        """A promise was broken."""
        self.broken[kind] += 1
        if self.broken[kind] <= SHOWN_MAX:
            self.violations.append(Violation(kind=kind, text=text, at=at))

    @property
    def clean(self) -> bool:
        """Every promise was kept."""
        return not self.broken.total()

    def sentence(self) -> str:
        """`lost 0, doubled 0, ...`."""
        return ", ".join(f"{kind} {self.broken[kind]}" for kind in Broken)

    def described(self) -> str:
        """What was tried, in one line."""
        told = [f"{count} {what}" for what, count in sorted(self.counts.items())]
        return ", ".join(told) or "nothing yet"
