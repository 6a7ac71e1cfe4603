"""Calls about a node and its news as values: watching, options, snapshots, traces."""

import sys
from collections.abc import Mapping
from typing import Final

from election.messages import Term
from qsync.client.arguments import table_of
from qsync.client.calls import ClientCall
from qsync.client.changes import Change, ChangeBatch, ChangeKind, Effect
from qsync.client.pending_request import PendingRequest, RetryKind
from qsync.client.rows import decode_row
from qsync.errors import ProtocolError
from qsync.wire import cbor
from qsync.wire.verbs import (
    ChangesRequest,
    Name,
    OptionsRequest,
    PlainRequest,
    RightsRequest,
    TraceRequest,
    Verb,
    WatchRequest,
)

EVERYBODY: Final = "*"
"""As a name of a question about rights."""
_WHATS = frozenset(ChangeKind)


def watch(key: str, known: object, wait: float) -> ClientCall[object]:
    """Return the value of a broadcast key: at once if it is not `known`, else within `wait` s."""
    return ClientCall(
        RetryKind.READ,
        lambda id: WatchRequest(id, key, known, wait),
        lambda ask: _values(ask, 1)[0],
    )


def changes(
    after: int | None, space: Name | None, prefix: list[object], wait: float, *, term: int = 0
) -> ClientCall[ChangeBatch]:
    """Return confirmed transactions after an index; none if there are none for `wait` seconds.

    `term`: of the entry at that index, which must be the one that is confirmed there.
    """
    return ClientCall(
        RetryKind.READ,
        lambda id: ChangesRequest(id, after, space, prefix, wait, Term(term)),
        _batch,
    )


def options(given: Mapping[str, object]) -> ClientCall[dict[str, object]]:
    """Change options; return all of `box.cfg`."""
    changed = table_of("options", given)
    kind = RetryKind.ONCE if changed else RetryKind.READ
    return ClientCall(kind, lambda id: OptionsRequest(id, changed), _map)


def snapshot() -> ClientCall[int]:
    """Store what is confirmed and write it to a file; return the index at which it is exact."""

    def read(ask: PendingRequest) -> int:
        return cbor.Fields(_values(ask, 1), "answer to a snapshot").uint()

    return ClientCall(RetryKind.READ, lambda id: PlainRequest(id, Verb.SNAPSHOT), read)


def trace(at: int, arm: float) -> ClientCall[dict[str, object]]:
    """Return what happened to an entry on this node; it goes on watching for `arm` seconds."""
    return ClientCall(RetryKind.READ, lambda id: TraceRequest(id, at, arm), _map)


def rights(name: str | None) -> ClientCall[dict[str, object]]:
    """Return the rights of ourselves, of another user, or with EVERYBODY of all."""
    return ClientCall(RetryKind.READ, lambda id: RightsRequest(id, name), _map)


def all_rights(told: dict[str, object]) -> dict[str, object]:
    """Return users and roles by name, from the answer about everybody; none without users."""
    found = told.get("all", {})
    if not isinstance(found, dict):
        raise ProtocolError("an answer about everybody that is no map")
    return found


def _values(ask: PendingRequest, size: int) -> list[object]:
    assert ask.answer is not None
    if len(ask.answer) == size:
        return ask.answer
    raise ProtocolError(f"an answer of {len(ask.answer)} fields, not {size}")


def _map(ask: PendingRequest) -> dict[str, object]:
    return cbor.Fields(_values(ask, 1), "answer").table()


def _batch(ask: PendingRequest) -> ChangeBatch:
    fields = cbor.Fields(_values(ask, 4), "answer to changes")
    found = [_change(each) for each in fields.array()]
    return ChangeBatch(
        changes=tuple(found),
        upto=fields.uint(),
        confirmed=fields.uint(),
        space=fields.uint_or_none(),
        seconds=ask.seconds,
    )


def _change(value: object) -> Change:
    if not isinstance(value, list):
        raise ProtocolError("a change that is no array")
    fields = cbor.Fields(value, "change")
    return Change(
        index=fields.uint(),
        term=fields.uint(),
        lsn=fields.uint(),
        origin=fields.uint(),
        time=_number(fields.any()),
        effects=tuple(_effect(each) for each in fields.array()),
    )


def _number(value: object) -> float:
    if isinstance(value, int | float) and abs(value) <= sys.float_info.max:
        return float(value)
    raise ProtocolError("a change whose time is no number")


def _effect(value: object) -> Effect:
    match value:
        case [str(what), (str() | int()) as space, list(key), (bytes() | None) as row] if (
            what in _WHATS
        ):
            return Effect(
                what=ChangeKind(what),
                space=space,
                key=key,
                row=None if row is None else decode_row(row),
            )
        case _:
            raise ProtocolError("an effect of an unknown kind")
