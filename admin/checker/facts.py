"""Invariants that need no order of operations: total balance, and failed writes."""

from collections.abc import Iterable, Mapping

from admin.checker.clip import clip
from admin.checker.linear.models import pair
from admin.checker.operation import CompletionType, Frozen, Operation, freeze
from admin.checker.verdict import Verdict, Violation, conclude, skipped

BANK_TOTAL = "bank-total"
FAILURES = "failures-have-no-effect"
NOBODY_READ = "nobody read where a write had failed for certain"


def check_bank_total(operations: Iterable[Operation], *, total: int | None = None) -> Verdict:
    """Every read of a bank shows the same sum; without `total`, that of the first."""
    facts, violations = 0, []
    first: Operation | None = None
    for each in operations:
        if (
            each.f != "read"
            or each.kind is not CompletionType.OK
            or not isinstance(each.value, Mapping)
        ):
            continue
        facts += 1
        found = sum(each.value.values())
        if total is None:
            total, first = found, each
        elif found != total:
            message = f"the balances add up to {found}, not to {total}"
            witness = (each,) if first is None else (first, each)
            violations.append(
                Violation(
                    invariant=BANK_TOTAL,
                    message=message,
                    key=each.key,
                    witness=witness,
                    stuck=each.number,
                )
            )
    if facts == 0:
        return skipped(BANK_TOTAL, "nobody read a bank")
    return conclude(BANK_TOTAL, facts=facts, violations=violations)


def check_failures(operations: Iterable[Operation], *, initial: object = None) -> Verdict:
    """No read of a register shows a value of which every write failed for certain."""
    known = list(operations)
    failed: dict[tuple[Frozen, Frozen], Operation] = {}
    possible: set[tuple[Frozen, Frozen]] = set()
    for each in known:
        if each.f in {"write", "cas"}:
            value = pair(each.value)[1] if each.f == "cas" else freeze(each.value)
            name = (freeze(each.key), value)
            if each.kind is CompletionType.FAIL:
                failed[name] = each
            else:
                possible.add(name)
    keys = {key for key, _ in failed}
    facts, violations = 0, []
    for each in known:
        if each.kind is not CompletionType.OK or each.f != "read" or each.value == initial:
            continue
        name = (freeze(each.key), freeze(each.value))
        facts += name[0] in keys
        if name in failed and name not in possible:
            violations.append(
                Violation(
                    invariant=FAILURES,
                    message=f"{clip(each.value)} was read, whose write had failed",
                    key=each.key,
                    witness=(failed[name], each),
                    stuck=each.number,
                )
            )
    if not facts:
        return skipped(FAILURES, NOBODY_READ)
    return conclude(FAILURES, facts=facts, violations=violations)
