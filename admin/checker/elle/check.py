"""The verdict on list-append transactions: the anomalies, and the levels that they violate."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from admin.checker.clip import clip
from admin.checker.elle.anomalies import Anomaly, anomalies_of_reads
from admin.checker.elle.appends import Appends, dependencies, understood
from admin.checker.elle.cycles import Cycle, cycles
from admin.checker.elle.graph import Edge
from admin.checker.elle.levels import PROHIBITED, IsolationLevel
from admin.checker.operation import CompletionType, Operation
from admin.checker.verdict import Result, Verdict, Violation, conclude


def check_appends(
    operations: Iterable[Operation], *, level: str = IsolationLevel.STRICT_SERIALIZABLE
) -> Verdict:
    """Check that a history has no anomaly that the level prohibits.

    A pass means that the reads show no anomaly; values that were never read prove nothing.
    """
    known = list(operations)
    if level == IsolationLevel.READ_UNCOMMITTED:
        # A read of an uncommitted value does not prove that the value was ever committed.
        known = [
            replace(e, kind=CompletionType.FAIL) if e.kind is CompletionType.INFO else e
            for e in known
        ]
    appends = understood(known)
    if appends.twice:
        key, value = appends.twice[0]
        return Verdict(
            invariant=level,
            result=Result.UNKNOWN,
            facts=len(appends.committed),
            note=f"key {clip(key)}: {clip(value)} was appended twice, "
            "so reads do not tell who wrote it",
        )
    prohibited = PROHIBITED[IsolationLevel(level)]
    violations = [
        Violation(
            invariant=level,
            message=f"{each.name}: {each.message}",
            witness=tuple(appends.transactions[at].operation for at in each.transactions),
            names=tuple(f"T{at + 1}" for at in each.transactions),
        )
        for each in _found(appends)
        if each.name in prohibited
    ]
    return conclude(level, facts=len(appends.committed), violations=violations)


def anomalies(operations: Iterable[Operation]) -> Mapping[str, tuple[Anomaly, ...]]:
    """Every anomaly by its name, whichever level it violates."""
    found: dict[str, tuple[Anomaly, ...]] = {}
    for each in _found(understood(list(operations))):
        found[each.name] = (*found.get(each.name, ()), each)
    return found


def _found(appends: Appends) -> list[Anomaly]:
    found = list(cycles(dependencies(appends)))
    if not found:
        return list(anomalies_of_reads(appends))
    asked = [edge for each in found for edge in each.edges]
    reasons = dependencies(appends, asked).reasons
    return [*anomalies_of_reads(appends), *(_told(each, reasons) for each in found)]


def _told(cycle: Cycle, reasons: Mapping[tuple[int, int, int], str]) -> Anomaly:
    """A cycle as text: each number is the transaction's position in the history, from 1."""
    arrows = "".join(f"T{start + 1} -{Edge(kind).word}-> " for start, _, kind in cycle.edges)
    whys = "; ".join(
        f"T{start + 1} before T{end + 1}: {reasons[start, end, kind]}"
        for start, end, kind in cycle.edges
    )
    message = f"{arrows}T{cycle.walk[0] + 1} ({whys})"
    return Anomaly(name=cycle.name, message=message, transactions=cycle.walk)
