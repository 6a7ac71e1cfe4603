"""Checks the guarantee of the weakest read: it shows a value that a client wrote."""

from collections.abc import Iterable

from admin.checker.operation import CompletionType, Frozen, Operation, freeze
from admin.checker.verdict import Verdict, Violation, conclude

WRITTEN = "reads-were-written"


def check_written(operations: Iterable[Operation]) -> Verdict:
    """Check that no read of a register shows a value that was not requested before it ended."""
    known = sorted(operations, key=lambda each: each.begun)
    begun: dict[tuple[Frozen, Frozen], int] = {}
    for each in known:
        if each.f in {"write", "cas"}:
            value = each.value[1] if isinstance(each.value, list) else each.value
            begun.setdefault((freeze(each.key), freeze(value)), each.begun)
    facts, violations = 0, []
    for each in known:
        if each.f != "read" or each.kind is not CompletionType.OK or each.value is None:
            continue
        assert each.ended is not None
        facts += 1
        written = begun.get((freeze(each.key), freeze(each.value)))
        if written is None or written > each.ended:
            violations.append(
                Violation(
                    invariant=WRITTEN,
                    message=f"{each.value!r} was read, which was never written",
                    key=each.key,
                    witness=(each,),
                    stuck=each.number,
                )
            )
    return conclude(WRITTEN, facts=facts, violations=violations)
