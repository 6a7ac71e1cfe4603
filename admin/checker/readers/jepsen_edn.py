"""Jepsen's histories in EDN: one vector of maps, or a map a line.

`fail` means: definitely did not happen. Operations whose process is not a number belong to the
nemesis, and are skipped.
"""

from collections.abc import Iterator, Sequence

from admin.checker.operation import Frozen, Operation, freeze
from admin.checker.readers.edn import Edn, Keyword, parse
from admin.checker.readers.pairing import HistoryEvent, paired

TYPES = frozenset({"invoke", "ok", "fail", "info"})


def read(text: str) -> list[Operation]:
    """The operations of a history. Raises ValueError with the first invalid entry."""
    return paired(_keyed(list(_events(_maps(parse(text))))))


def _maps(values: Sequence[Edn]) -> list[Edn]:
    if len(values) == 1 and isinstance(values[0], list):
        return values[0]
    return list(values)


def _events(maps: Sequence[Edn]) -> Iterator[HistoryEvent]:
    for number, each in enumerate(maps):
        if not isinstance(each, dict):
            raise ValueError(f"entry {number + 1} is {each!r}, not a map")  # noqa: TRY004 - the text's fault
        process = each.get("process")
        if process is not None and not isinstance(process, int):
            continue
        kind = each.get("type")
        if kind not in TYPES:
            raise ValueError(f"entry {number + 1} has the type {kind!r}")
        f = each.get("f")
        yield HistoryEvent(
            line=number,
            process=process,
            type=str(kind),
            f="txn" if f is None else str(f),
            key=freeze(_plain(each.get("key"))),
            value=_plain(each.get("value")),
            error=each.get("error"),
        )


def _keyed(events: list[HistoryEvent]) -> list[HistoryEvent]:
    """If all values are `[key value]`, there are many objects, each with its own history."""
    if not events or not all(_has_key(each) for each in events):
        return events
    if not any(each.f != "cas" or _is_pair(_pair(each)[1]) for each in events):
        return events
    return [
        HistoryEvent(
            line=each.line,
            process=each.process,
            type=each.type,
            f=each.f,
            key=freeze(_pair(each)[0]),
            value=_pair(each)[1],
            error=each.error,
        )
        for each in events
    ]


def _has_key(event: HistoryEvent) -> bool:
    return event.key is None and event.f != "txn" and _is_pair(event.value)


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2  # noqa: PLR2004 - a pair


def _pair(event: HistoryEvent) -> tuple[Frozen, object]:
    assert isinstance(event.value, list)
    key, value = event.value
    return freeze(key), value


def _plain(value: Edn) -> object:
    """Keywords as texts, so that values of all formats look alike."""
    if isinstance(value, Keyword):
        return str(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return value
