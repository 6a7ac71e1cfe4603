"""Unknown outcomes settled by what the confirmed log says, before anything is checked.

An operation of which nobody heard makes a search try both: that it happened, at any later time,
and that it never did. The log knows.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

from admin.checker.operation import FOREVER, LOOKS, CompletionType, Operation, freeze


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedLog:
    """What a confirmed log holds. `complete`: what is not in it never happened.

    A request is named by `(session, seq)`, or where it has no number by `(key, value)`, frozen;
    values that more than one operation may have written name nothing and are not settled.
    """

    applied: frozenset[Hashable]
    complete: bool = False


def resolve(operations: Iterable[Operation], decided: ResolvedLog) -> list[Operation]:
    """Return the history with as few unknown operations as the log allows."""
    known = list(operations)
    once = _once([token(each) for each in known if each.f not in LOOKS])
    return [_settled(each, decided, once) for each in known]


def token(operation: Operation) -> Hashable:
    """What names an operation in a log."""
    if operation.seq is not None:
        return (freeze(operation.whose), operation.seq)
    return (freeze(operation.key), freeze(operation.value))


def _settled(operation: Operation, decided: ResolvedLog, once: set[Hashable]) -> Operation:
    if operation.kind is not CompletionType.INFO or operation.f in LOOKS:
        return operation
    name = token(operation)
    if name not in once:
        return operation
    if name in decided.applied:
        return replace(operation, kind=CompletionType.OK, ended=FOREVER, value=_told(operation))
    if decided.complete:
        return replace(operation, kind=CompletionType.FAIL)
    return operation


def _told(operation: Operation) -> object:
    """Without the reads of a transaction that was never answered: nobody knows what they saw."""
    steps = operation.value
    if operation.f != "txn" or not isinstance(steps, list):
        return steps
    return [step for step in steps if step[0] != "r"]


def _once(names: list[Hashable]) -> set[Hashable]:
    seen: set[Hashable] = set()
    twice: set[Hashable] = set()
    for name in names:
        (twice if name in seen else seen).add(name)
    return seen - twice
