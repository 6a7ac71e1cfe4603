"""One operation of a client: its request and answer, and the positions of begin and end."""

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol, TypeAlias

from admin.checker.clip import clip
from admin.workload.history import HistoryLine, OutcomeType

Frozen: TypeAlias = Hashable
"""A JSON value that can be compared and hashed."""

FOREVER = 1 << 62
"""`ended` of an unanswered operation that did take effect: it may do so at any time."""

NOBODY = -1
"""The process of an operation without a process in the history."""

ANSWERS = frozenset({"read", "r", "get", "txn"})
"""Operations whose value is the answer."""

ANOTHER = "ends another operation than it began"

LOOKS = frozenset({"read", "r", "get", "cas-unequal"})
"""Operations that never change anything; an unanswered one is ignored."""


class CompletionType(StrEnum):
    """How an operation ended. `info`: it is unknown whether it took effect."""

    OK = "ok"
    FAIL = "fail"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of a client.

    `begun` and `ended` are positions in one order of events; `ended` is None if the outcome is
    unknown: it may take effect at any time after `begun`, or never. `value` is the argument, or the
    answer of a read. `index` is a log index: the receipt of a write, or the state that a read
    showed. `term` is the term of the entry there, if known. `floor` and `floor_term` are the
    receipt that a read was given.
    """

    number: int
    process: int
    f: str
    value: object
    begun: int
    ended: int | None
    key: object = None
    kind: CompletionType = CompletionType.OK
    session: object = None
    seq: int | None = None
    index: int | None = None
    term: int | None = None
    floor: int | None = None
    floor_term: int | None = None

    @property
    def whose(self) -> object:
        """The session; the process if no session is named."""
        return self.process if self.session is None else self.session


def describe(operation: Operation) -> str:
    """One operation in one line."""
    if operation.ended is None:
        end = "?"
    elif operation.ended >= FOREVER:
        end = "did happen"
    else:
        end = str(operation.ended)
    failed = " (failed)" if operation.kind is CompletionType.FAIL else ""
    who = "" if operation.process == NOBODY else f"process {operation.process} "
    return f"[{operation.begun}..{end}] {who}{operation.f} {clip(operation.value)}{failed}"


class Members(tuple[tuple[str, Frozen], ...]):
    """The members of an object, by name: not equal to any list, even of such pairs."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Members) and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other


def freeze(value: object) -> Frozen:
    """A hashable JSON value; objects are ordered by member name."""
    if value is None or type(value) is int or type(value) is str:
        return value
    if isinstance(value, Members):
        return value
    if isinstance(value, list | tuple):
        return tuple([freeze(member) for member in value])
    if isinstance(value, Mapping):
        return Members(sorted((str(name), freeze(member)) for name, member in value.items()))
    if isinstance(value, set | frozenset):
        return frozenset(freeze(member) for member in value)
    if isinstance(value, bool):
        return (bool, value)  # Python takes True for 1, JSON does not
    assert isinstance(value, Hashable)
    return value


def by_key(operations: Iterable[Operation]) -> dict[Frozen, list[Operation]]:
    """The operations of each key, in their order."""
    keys: dict[Frozen, list[Operation]] = {}
    for each in operations:
        keys.setdefault(freeze(each.key), []).append(each)
    return keys


def happened(operations: Iterable[Operation]) -> list[Operation]:
    """Operations that took effect or may have: without definite failures and unanswered reads."""
    return [
        each
        for each in operations
        if each.kind is CompletionType.OK
        or (each.kind is CompletionType.INFO and each.f not in LOOKS)
    ]


def operations(lines: Iterable[HistoryLine]) -> list[Operation]:
    """Pair beginnings and ends, by their indexes. An operation without an end is unknown.

    Raises ValueError when two lines have one index, or a process begins something before its last
    operation ended, or ends another operation than it began.
    """
    known = sorted(lines, key=lambda line: line.index)
    for one, next_ in itertools.pairwise(known):
        if one.index == next_.index:
            raise ValueError(f"two lines have the index {one.index}")
    places = any(line.log_index is not None for line in known)
    found: list[Operation] = []
    waiting: dict[int, HistoryLine] = {}
    for line in known:
        if line.type is OutcomeType.INVOKE:
            if line.process in waiting:
                raise ValueError(f"process {line.process} begins twice, at line {line.index}")
            waiting[line.process] = line
            continue
        begun = waiting.pop(line.process, None)
        if begun is None:
            raise ValueError(f"process {line.process} ends what it never began, {line.index}")
        what = difference(begun, line, ok=line.type is OutcomeType.OK)
        if what is not None:
            raise ValueError(f"process {line.process} {ANOTHER}, at line {line.index}: {what}")
        found.append(_ended(begun, line, _place(line, logged=places)))
    found += [_operation(begun, CompletionType.INFO) for begun in waiting.values()]
    return sorted(found, key=lambda each: each.begun)


def _ended(begun: HistoryLine, line: HistoryLine, index: int | None) -> Operation:
    match line.type:
        case OutcomeType.OK:
            value = line.value if begun.f in ANSWERS or begun.value is None else begun.value
            known = replace(_operation(begun, CompletionType.OK), value=value)
            # Without places in the log it is terms and lsns that make one number.
            term = line.term if line.log_index is not None else None
            return replace(known, ended=line.index, index=index, term=term)
        case OutcomeType.FAIL:
            return replace(_operation(begun, CompletionType.FAIL), ended=line.index)
        case _:
            return _operation(begun, CompletionType.INFO)


def _operation(begun: HistoryLine, kind: CompletionType) -> Operation:
    return Operation(
        number=begun.index,
        process=begun.process,
        f=begun.f,
        value=begun.value,
        begun=begun.index,
        ended=None,
        key=freeze(begun.key),
        kind=kind,
        session=begun.session,
        seq=begun.seq,
        floor=begun.floor,
        floor_term=begun.floor_term,
    )


def _place(line: HistoryLine, *, logged: bool) -> int | None:
    """The log position that a line names.

    A term has one origin, and the lsn of an origin only grows: together they order the log too.
    """
    if logged:
        return line.log_index
    if line.term is None or line.lsn is None:
        return None
    return line.term << 48 | line.lsn


class OperationEnd(Protocol):
    """The part of a line that both ends of an operation have."""

    @property
    def f(self) -> str:
        """The operation."""

    @property
    def key(self) -> object:
        """The object; an end need not repeat it."""

    @property
    def value(self) -> object:
        """The argument or the answer; an end need not repeat the argument."""


def difference(begun: OperationEnd, ended: OperationEnd, *, ok: bool) -> str | None:
    """Return what the end says of another operation than the begin, or None.

    The value of a read is the answer, and so are the values of the reads of a transaction. Only an
    `ok` has to repeat the value: with `fail` and `info` some tools note the error there.
    """
    if ended.f != begun.f:
        return _told("f", begun.f, ended.f)
    if ended.key is not None and freeze(ended.key) != freeze(begun.key):
        return _told("key", begun.key, ended.key)
    if ok and begun.value is not None and ended.value is not None and not _same(begun, ended):
        return _told("value", begun.value, ended.value)
    return None


def _told(name: str, begun: object, ended: object) -> str:
    return f"{name} was {clip(begun)} at its begin, and is {clip(ended)} at its end"


def _same(begun: OperationEnd, ended: OperationEnd) -> bool:
    """Return whether the answer is to what was asked."""
    if begun.f == "txn":
        return _same_steps(begun.value, ended.value)
    return begun.f in ANSWERS or freeze(begun.value) == freeze(ended.value)


def _same_steps(begun: object, ended: object) -> bool:
    """Return whether two transactions do the same; what they have read may differ."""
    if not isinstance(begun, Sequence) or not isinstance(ended, Sequence):
        return freeze(begun) == freeze(ended)
    return len(begun) == len(ended) and all(
        freeze(_asked(one)) == freeze(_asked(other))
        for one, other in zip(begun, ended, strict=True)
    )


def _asked(step: object) -> object:
    """The step of a transaction without its answer."""
    if isinstance(step, list | tuple) and step and step[0] in ANSWERS:
        return list(step[:2])
    return step


def until(found: Sequence[Operation], end: int) -> list[Operation]:
    """The history as known at a position: operations that ended later are unknown."""
    kept: list[Operation] = []
    for each in found:
        if each.begun > end:
            continue
        if each.ended is None or each.ended <= end or each.kind is CompletionType.FAIL:
            kept.append(each)
        elif each.f not in LOOKS:
            kept.append(replace(each, ended=None, kind=CompletionType.INFO))
    return kept
