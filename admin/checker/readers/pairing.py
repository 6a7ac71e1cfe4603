"""Pairs beginnings and ends of a history in another format, by process."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from admin.checker.operation import (
    ANOTHER,
    ANSWERS,
    NOBODY,
    CompletionType,
    Frozen,
    Operation,
    difference,
    freeze,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEvent:
    """One line: `type` is invoke, ok, fail or info. `process` is None if none is named."""

    line: int
    process: int | None
    type: str
    f: str
    key: Frozen = None
    value: object = None
    error: object = None


def paired(events: Iterable[HistoryEvent]) -> list[Operation]:
    """Operations in the order of their begin, with lines as positions. Without an end: unknown.

    Raises ValueError where a process begins something before its last operation ended, or ends
    another operation than it began.
    """
    found: list[Operation] = []
    waiting: dict[int | None, HistoryEvent] = {}
    for event in events:
        if event.type == "invoke":
            if event.process in waiting:
                raise ValueError(f"line {event.line}: process {event.process} begins twice")
            waiting[event.process] = event
        else:
            found.append(_ended(waiting.pop(event.process, None), event))
    found += [_begun(each, CompletionType.INFO) for each in waiting.values()]
    return sorted(found, key=lambda each: each.begun)


def _ended(begun: HistoryEvent | None, event: HistoryEvent) -> Operation:
    if begun is None:
        # Some transactional histories have only answers: the operation then has no duration.
        if event.f != "txn":
            raise ValueError(f"line {event.line}: process {event.process} ends what never began")
        begun = event
    what = difference(begun, event, ok=event.type == "ok")
    if what is not None:
        raise ValueError(f"line {event.line}: process {event.process} {ANOTHER}: {what}")
    match event.type:
        case "ok":
            value = event.value if event.f in ANSWERS or begun.value is None else begun.value
            known = replace(_begun(begun, CompletionType.OK), value=value)
            return replace(known, ended=event.line)
        case "fail":
            return replace(_begun(begun, CompletionType.FAIL), ended=event.line)
        case "info":
            return _begun(begun, CompletionType.INFO)
        case other:
            raise ValueError(f"line {event.line}: there is no type {other!r}")


def _begun(event: HistoryEvent, kind: CompletionType) -> Operation:
    return Operation(
        number=event.line,
        process=NOBODY if event.process is None else event.process,
        f=event.f,
        value=event.value,
        begun=event.line,
        ended=None,
        key=freeze(event.key),
        kind=kind,
    )
