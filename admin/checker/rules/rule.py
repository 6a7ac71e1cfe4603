"""What an invariant of evidence is, and what it finds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypedDict, Unpack

from admin.checker.exhibit import EXHIBITS_MAX, EvidenceRow
from admin.checker.rules.run import RunTables
from admin.evidence.manifest import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """One place where an invariant does not hold. `node` 0: it takes several nodes to see it.

    `index`: of which table, the rule says. `witness`: the few rows that prove it.
    """

    invariant: str
    message: str
    node: int = 0
    index: int = 0
    term: int = 0
    witness: tuple[EvidenceRow, ...] = ()

    @property
    def where(self) -> tuple[str, int, int, int]:
        """What both tiers must agree on."""
        return (self.invariant, self.node, self.index, self.term)


class Where(TypedDict, total=False):
    """The place of a breach."""

    node: int
    index: int
    term: int


@dataclass(slots=True)
class RuleFinding:
    """What one invariant made of one run: how much it examined, and what is broken.

    `lacks`: what is missing to examine anything. `doubt`: why even no breach is no pass.
    `reach`: of what is gone by right, and was not examined.
    """

    facts: int = 0
    breaches: list[Breach] = field(default_factory=list)
    lacks: str = ""
    doubt: str = ""
    reach: str = ""

    def broken(
        self, invariant: str, message: str, witness: Iterable[EvidenceRow], **where: Unpack[Where]
    ) -> None:
        """One more place, with the rows that prove it."""
        rows = tuple(witness)[:EXHIBITS_MAX]
        self.breaches.append(Breach(invariant=invariant, message=message, witness=rows, **where))


def no_excuse(_: Manifest) -> str:
    """Every run is to be examined."""
    return ""


KEYS = {"wal": "index", "status": "sample", "events": "number", "ops": "index"}
"""By table: the column that the index of a breach is."""


@dataclass(frozen=True, slots=True)
class Rule:
    """An invariant: its id, what it says, the tables it cannot do without, and the function.

    `counts`: the table by whose rows its breaches are numbered, where they are (see `KEYS`).
    `excuse`: why the run is none to be examined, by its manifest. `idle`: else, why nothing was.
    """

    id: str
    title: str
    needs: tuple[str, ...]
    find: Callable[[RunTables], RuleFinding]
    counts: str = field(default="wal", kw_only=True)
    excuse: Callable[[Manifest], str] = field(default=no_excuse, kw_only=True)
    idle: str = field(default="", kw_only=True)
