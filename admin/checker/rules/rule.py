"""An invariant of evidence, and its findings."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypedDict, Unpack

from admin.checker.exhibit import EXHIBITS_MAX, EvidenceRow
from admin.checker.rules.run import RunTables
from admin.evidence.manifest import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """One place where an invariant does not hold. `node` 0: several nodes are involved.

    `index`: a number in a table that depends on the rule. `witness`: the few rows that prove it.
    """

    invariant: str
    message: str
    node: int = 0
    index: int = 0
    term: int = 0
    witness: tuple[EvidenceRow, ...] = ()

    @property
    def where(self) -> tuple[str, int, int, int]:
        """The part that both tiers must agree on."""
        return (self.invariant, self.node, self.index, self.term)


class Where(TypedDict, total=False):
    """The place of a breach."""

    node: int
    index: int
    term: int


@dataclass(slots=True)
class RuleFinding:
    """The finding of one invariant on one run: the examined facts, and the breaches.

    `lacks`: why nothing could be examined. `doubt`: why the result is unknown without a breach.
    `reach`: the range that was legally trimmed and not examined.
    """

    facts: int = 0
    breaches: list[Breach] = field(default_factory=list)
    lacks: str = ""
    doubt: str = ""
    reach: str = ""

    def broken(
        self, invariant: str, message: str, witness: Iterable[EvidenceRow], **where: Unpack[Where]
    ) -> None:
        """Add a breach, with the rows that prove it."""
        rows = tuple(witness)[:EXHIBITS_MAX]
        self.breaches.append(Breach(invariant=invariant, message=message, witness=rows, **where))


def no_excuse(_: Manifest) -> str:
    """No run is exempt."""
    return ""


KEYS = {"wal": "index", "status": "sample", "events": "number", "ops": "index"}
"""By table: the column with the index of a breach."""


@dataclass(frozen=True, slots=True)
class Rule:
    """An invariant: its id, its statement, the required tables, and the function.

    `counts`: breaches are numbered by the rows of this table, if any (see `KEYS`). `excuse`: why
    its manifest exempts the run. `idle`: why nothing was examined otherwise.
    """

    id: str
    title: str
    needs: tuple[str, ...]
    find: Callable[[RunTables], RuleFinding]
    counts: str = field(default="wal", kw_only=True)
    excuse: Callable[[Manifest], str] = field(default=no_excuse, kw_only=True)
    idle: str = field(default="", kw_only=True)
