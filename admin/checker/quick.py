"""All checks that need only a history, without Spark: one file, one report."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from admin.checker import facts, sessions
from admin.checker.elle import IsolationLevel, check_appends
from admin.checker.kinds import Hints, ObjectKind, is_list_append, kinds_of, model_of
from admin.checker.linear import LINEARIZABLE, STEPS_MAX, check
from admin.checker.operation import LOOKS, Frozen, Operation, happened
from admin.checker.readers import HistoryFormat, read
from admin.checker.verdict import Result, Verdict, merge, overall
from admin.evidence.bundle import HISTORY, Bundle, BundlePart, is_bundle

TITLES: dict[str, str] = {
    LINEARIZABLE: "every answer is explained by one order of the operations, key by key",
    facts.BANK_TOTAL: "the total balance never changes",
    facts.FAILURES: "values of failed writes are never read",
    sessions.READ_YOUR_WRITES: "a read that was given a receipt shows at least that entry",
    sessions.MONOTONIC_READS: "what a session reads never goes back",
    **{
        level.value: f"transactions show nothing that {level.value} prohibits"
        for level in IsolationLevel
    },
}
"""The statement of each invariant."""

OF_OBJECTS = frozenset({"write", "cas", "cas-unequal", "put", "get", "add", "transfer"})
"""Operations that a list does not have."""

OF_NO_KIND = "no kind of object has all of these operations: "


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedInvariant:
    """One invariant of one history, with its verdict and duration."""

    verdict: Verdict
    seconds: float
    says: str = ""

    @property
    def title(self) -> str:
        """The statement of the invariant."""
        return self.says or TITLES.get(self.verdict.invariant, self.verdict.invariant)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryReport:
    """The report on one history."""

    file: str
    format: HistoryFormat
    kinds: tuple[ObjectKind, ...]
    operations: Sequence[Operation] = field(repr=False)
    checked: tuple[CheckedInvariant, ...]

    @property
    def result(self) -> Result:
        """Fails if any invariant does; unknown if any is, or nothing was examined."""
        return overall(each.verdict.result for each in self.checked)

    @property
    def empty(self) -> bool:
        """There are operations, but all failed for certain."""
        return bool(self.operations) and not happened(self.operations)

    @property
    def seconds(self) -> float:
        """The duration of all checks."""
        return sum(each.seconds for each in self.checked)


def check_file(
    path: Path,
    hints: Hints | None = None,
    *,
    level: IsolationLevel = IsolationLevel.STRICT_SERIALIZABLE,
    steps_max: int = STEPS_MAX,
) -> HistoryReport:
    """Read a history and check all of it.

    Raises ValueError if it is not a history, OSError if the file does not exist, and NoEvidence if
    it belongs to a bundle and was changed after it was written.
    """
    known = hints or Hints()
    place = path / HISTORY if path.is_dir() else path
    if place.name == HISTORY and is_bundle(place.parent):
        Bundle.open(place.parent).check_part(BundlePart("ops", place))
    history = read(_text_of(place), known.format)
    try:
        kinds, checked = check_operations(history.operations, known, level, steps_max)
    except TypeError as error:
        # A value that an operation of that name cannot have: an error in the file, not in the
        # checker.
        raise ValueError(str(error)) from error
    return HistoryReport(
        file=str(path),
        format=history.format,
        kinds=kinds,
        operations=history.operations,
        checked=checked,
    )


def _text_of(place: Path) -> str:
    try:
        return place.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is no text: byte {error.start} is not UTF-8") from error


def summary(reports: Iterable[HistoryReport]) -> list[CheckedInvariant]:
    """The invariants of several histories as one list."""
    found: dict[str, list[CheckedInvariant]] = {}
    for report in reports:
        for each in report.checked:
            found.setdefault(each.verdict.invariant, []).append(each)
    return [
        CheckedInvariant(
            verdict=merge(name, [each.verdict for each in all_]),
            seconds=sum(each.seconds for each in all_),
            says=all_[0].says,
        )
        for name, all_ in found.items()
    ]


def check_operations(
    operations: Sequence[Operation], hints: Hints, level: IsolationLevel, steps_max: int
) -> tuple[tuple[ObjectKind, ...], tuple[CheckedInvariant, ...]]:
    """The kinds of objects that they are about, and all their invariants."""
    by_list = hints.kind is ObjectKind.LIST_APPEND
    if by_list or (hints.kind is None and is_list_append(operations)):
        others = [] if by_list else [each for each in operations if each.f != "txn"]
        if not others or is_list_append(others) or not {each.f for each in others} & OF_OBJECTS:
            return (ObjectKind.LIST_APPEND,), (_appends(operations, level),)
        # Transactions on lists, and operations on other objects.
        txns = [each for each in operations if each.f == "txn"]
        kinds_, checked_ = check_operations(others, hints, level, steps_max)
        return (*kinds_, ObjectKind.LIST_APPEND), (*checked_, _appends(txns, level))
    kinds = kinds_of(operations)
    if hints.kind is not None:
        kinds = dict.fromkeys(kinds, hints.kind)
    # A read at a given receipt shows at least that state, and may show nothing newer.
    bound = [each for each in operations if each.floor is None or each.f not in LOOKS]
    checked = [_timed(lambda: _linearizable(bound, kinds, hints.initial, steps_max))]
    found = {kind for kind in kinds.values() if kind is not None}
    registers = [
        e for e in operations if kinds.get(e.key) in {ObjectKind.REGISTER, ObjectKind.CAS_REGISTER}
    ]
    if registers:
        checked.append(_timed(lambda: facts.check_failures(registers, initial=hints.initial)))
    banks = [e for e in operations if kinds.get(e.key) is ObjectKind.BANK]
    if banks:
        checked.append(_timed(lambda: facts.check_bank_total(banks)))
    checked += _sessions(operations)
    return tuple(sorted(found)), tuple(checked)


def _appends(operations: Sequence[Operation], level: IsolationLevel) -> CheckedInvariant:
    alone = [replace(each, session=None) for each in operations]
    known = alone if sessions.side_by_side(operations) else operations
    return _timed(lambda: check_appends(known, level=level))


def _sessions(operations: Sequence[Operation]) -> list[CheckedInvariant]:
    """Return the verdicts on sessions; only operations with a session or receipt are covered."""
    checked: list[CheckedInvariant] = []
    if any(each.floor is not None for each in operations):
        checked.append(_timed(lambda: sessions.check_read_your_writes(operations)))
    looks = {"read", "get"}
    named = [each for each in operations if each.f not in looks or each.session is not None]
    if any(each.f in looks for each in named):
        checked.append(_timed(lambda: sessions.check_monotonic_reads(named)))
    return checked


def _linearizable(
    operations: Sequence[Operation],
    kinds: dict[Frozen, ObjectKind | None],
    initial: object,
    steps_max: int,
) -> Verdict:
    models = {key: None if kind is None else model_of(kind, initial) for key, kind in kinds.items()}
    verdict = check(operations, models.get, steps_max=steps_max)
    odd = [key for key, kind in kinds.items() if kind is None]
    if not odd:
        return verdict
    fs = sorted({each.f for each in operations if each.key in odd})
    note = f"{OF_NO_KIND}{', '.join(fs)} (key {odd[0]!r})"
    undecided = Verdict(invariant=LINEARIZABLE, result=Result.UNKNOWN, facts=0, note=note)
    return merge(LINEARIZABLE, [verdict, undecided])


def _timed(run: Callable[[], Verdict]) -> CheckedInvariant:
    begun = time.perf_counter()
    verdict = run()
    return CheckedInvariant(verdict=verdict, seconds=time.perf_counter() - begun)
