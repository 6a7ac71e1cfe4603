"""Settles unknown outcomes by the confirmed log, before anything is checked.

For an operation without an answer a search must try both outcomes: that it took effect, at any
later time, and that it did not. The log has the outcome.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

from admin.checker.operation import FOREVER, LOOKS, CompletionType, Operation, freeze


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedLog:
    """The content of a confirmed log. `complete`: a request that is not in it did not happen.

    A request is named by `(session, seq)`, or without a number by `(key, value)`, frozen. Values
    that several operations may have written are ambiguous and are not settled.
    """

    applied: frozenset[Hashable]
    complete: bool = False


def resolve(operations: Iterable[Operation], decided: ResolvedLog) -> list[Operation]:
    """Return the history with as few unknown operations as the log allows."""
    known = list(operations)
    once = _once([token(each) for each in known if each.f not in LOOKS])
    return [_settled(each, decided, once) for each in known]


def token(operation: Operation) -> Hashable:
    """The name of an operation in a log."""
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
    """Without the reads of an unanswered transaction: their results are unknown."""
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
