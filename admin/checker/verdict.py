"""The verdict of a checker: pass, fail, unknown or skipped; and the proof."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from admin.checker.clip import clip
from admin.checker.exhibit import EvidenceRow
from admin.checker.operation import Operation, describe

KEPT_MAX = 1000
"""How many violations are kept with their proof; all of them are counted."""
EXAMPLES_MAX = 10
"""How many of them are shown at once."""


class Result(StrEnum):
    """`unknown`: a limit was reached, or there was nothing to examine."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One violation of an invariant.

    `witness`: the few operations that prove it, by time. `opening`: the state before them, if they
    do not prove it alone. `stuck`: the operation that no order explains. `names`: their names in
    the message, if any. `rows`: rows of other tables that prove it. `node`, `index`, `term`: the
    position, as far as it has one; else 0.
    """

    invariant: str
    message: str
    key: object = None
    witness: tuple[Operation, ...] = ()
    stuck: int | None = None
    opening: str = ""
    names: tuple[str, ...] = ()
    rows: tuple[EvidenceRow, ...] = ()
    node: int = 0
    index: int = 0
    term: int = 0

    @property
    def message_of_key(self) -> str:
        """The message, with the key."""
        return self.message if self.key is None else f"key {clip(self.key)}: {self.message}"

    def describe(self) -> list[str]:
        """As text, one line for each operation."""
        mark = "   <- no order explains this"
        said = [self.message_of_key]
        if self.opening:
            said.append(f"  before: {self.opening}")
        said += [f"  {each.describe()}" for each in self.rows]
        names = [f"{name} " for name in self.names] or [""] * len(self.witness)
        return said + [
            f"  {name}{describe(each)}{mark if each.number == self.stuck else ''}"
            for name, each in zip(names, self.witness, strict=True)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict on one invariant. A pass without facts cannot be constructed."""

    invariant: str
    result: Result
    facts: int
    violations: tuple[Violation, ...] = ()
    count: int = 0
    steps: int = 0
    note: str = ""

    def __post_init__(self) -> None:
        if self.result is Result.PASS and self.facts == 0:
            raise ValueError(f"{self.invariant}: a pass on nothing is no pass")
        if (self.result is Result.FAIL) != (self.count > 0):
            raise ValueError(f"{self.invariant}: {self.result} with {self.count} violations")

    def describe(self) -> list[str]:
        """As text: the result, then every kept violation."""
        note = f" ({self.note})" if self.note else ""
        said = [f"{self.invariant}: {self.result}, {self.facts} facts{note}"]
        for each in self.violations[:EXAMPLES_MAX]:
            said += [f"  {line}" for line in each.describe()]
        return said


def conclude(
    invariant: str, *, facts: int, violations: Iterable[Violation], steps: int = 0, note: str = ""
) -> Verdict:
    """Fail if there is a violation, unknown if there was nothing to examine or there is a note."""
    found = tuple(violations)
    if found:
        result = Result.FAIL
    elif facts == 0:
        result, note = Result.UNKNOWN, note or "there was nothing to examine"
    else:
        result = Result.UNKNOWN if note else Result.PASS
    return Verdict(
        invariant=invariant,
        result=result,
        facts=facts,
        violations=found[:KEPT_MAX],
        count=len(found),
        steps=steps,
        note=note,
    )


def skipped(invariant: str, why: str) -> Verdict:
    """Return the verdict `skipped`: something that the invariant needs is missing."""
    return Verdict(invariant=invariant, result=Result.SKIPPED, facts=0, note=why)


def merge(invariant: str, verdicts: Iterable[Verdict]) -> Verdict:
    """Several verdicts on one invariant merged: fail if any is, else unknown if any is."""
    found = list(verdicts)
    facts = sum(each.facts for each in found)
    count = sum(each.count for each in found)
    looked = [each for each in found if each.result is not Result.SKIPPED]
    # The reason of a skipped part is irrelevant if other parts were examined.
    notes = dict.fromkeys(each.note for each in looked or found if each.note)
    if found and not looked:
        return skipped(invariant, "; ".join(notes))
    if count:
        result = Result.FAIL
    elif facts == 0 or any(each.result is Result.UNKNOWN for each in looked):
        result = Result.UNKNOWN
    else:
        result = Result.PASS
    note = "; ".join(notes)
    if result is Result.UNKNOWN and not note:
        note = "there was nothing to examine"
    return Verdict(
        invariant=invariant,
        result=result,
        facts=facts,
        violations=tuple(one for each in found for one in each.violations)[:KEPT_MAX],
        count=count,
        steps=sum(each.steps for each in found),
        note=note,
    )


def overall(results: Iterable[Result]) -> Result:
    """Return the result of a run: skipped invariants count only if there are no others."""
    found = {each for each in results if each is not Result.SKIPPED}
    if Result.FAIL in found:
        return Result.FAIL
    if not found or Result.UNKNOWN in found:
        return Result.UNKNOWN
    return Result.PASS
