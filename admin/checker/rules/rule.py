"""What an invariant of evidence is, and what it finds."""

from collections.abc import Callable
from dataclasses import dataclass, field

from admin.checker.rules.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """One place where an invariant does not hold. `node` 0: it takes several nodes to see it.

    `witness`: the few rows that prove it, as text.
    """

    invariant: str
    message: str
    node: int = 0
    index: int = 0
    term: int = 0
    witness: tuple[str, ...] = ()

    @property
    def where(self) -> tuple[str, int, int, int]:
        """What both tiers must agree on."""
        return (self.invariant, self.node, self.index, self.term)


@dataclass(slots=True)
class Finding:
    """What one invariant made of one run: how much it examined, and what is broken.

    `lacks`: what is missing to examine anything. `doubt`: why even no breach is no pass.
    """

    facts: int = 0
    breaches: list[Breach] = field(default_factory=list)
    lacks: str = ""
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """An invariant: its id, what it says, the tables it cannot do without, and the function."""

    id: str
    title: str
    needs: tuple[str, ...]
    find: Callable[[Run], Finding]
