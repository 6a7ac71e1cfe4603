"""Converts the history of a simulated run to the operations of the checker."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from admin.checker.operation import CompletionType, Operation
from qsync.sim.history import RecordedLine

_KINDS = {"ok": CompletionType.OK, "fail": CompletionType.FAIL, "info": CompletionType.INFO}
_ALSO = 1 << 40
"""Added to the number of an operation that also appears in a second space."""
_SETUP = frozenset({"open", "create", "expire", "tune", "resolve"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedOperation:
    """One operation of a client and what it was done to.

    `consistency`: what a read claims; empty for a write, and for reads inside of a transaction,
    which claim what the transaction does.
    """

    operation: Operation
    space: str
    consistency: str


def observe(lines: Iterable[RecordedLine]) -> list[ObservedOperation]:
    """Pair begins and ends, in the order of begins. Operations without an end are unknown."""
    found: list[ObservedOperation] = []
    waiting: dict[int, RecordedLine] = {}
    for line in lines:
        if line.type == "invoke":
            assert line.process not in waiting
            waiting[line.process] = line
        else:
            found += _observed(waiting.pop(line.process), line)
    for begun in waiting.values():
        found += _observed(begun, None)
    kept = [each for each in found if each.operation.f not in _SETUP]
    return sorted(kept, key=lambda each: each.operation.begun)


def _observed(begun: RecordedLine, ended: RecordedLine | None) -> list[ObservedOperation]:
    last = ended or begun
    kind = _KINDS.get(last.type, CompletionType.INFO)
    operation = Operation(
        number=begun.index,
        process=begun.process,
        f=begun.f,
        value=_value(last, kind),
        begun=begun.index,
        ended=None if kind is CompletionType.INFO else last.index,
        key=_key(begun),
        kind=kind,
        session=last.session or None,
        seq=last.seq or None,
        index=last.at,
        term=last.term,
        floor=last.floor or None,
        floor_term=last.floor_term or None,
    )
    one = ObservedOperation(operation=operation, space=begun.space, consistency=last.consistency)
    if begun.name != "mixed":
        return [one]
    # It wrote a note of the same value, in the same transaction.
    note = replace(operation, number=operation.number + _ALSO, key=f"notes {begun.key}")
    return [one, replace(one, operation=note, space="notes")]


def _value(last: RecordedLine, kind: CompletionType) -> object:
    """Return the value of an operation; without an answer, only what it would write."""
    if last.f == "txn" and kind is not CompletionType.OK and isinstance(last.value, list):
        return [step for step in last.value if step[0] != "r"]
    return last.value


def _key(begun: RecordedLine) -> object:
    """Return the key; a list goes by its number, as in transactions on several lists."""
    if begun.space == "lists" or begun.key is None:
        return begun.key
    return f"{begun.space} {begun.key}"
