"""Clients with sessions: one asks for the same again and again, others once and on conditions."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import cbor2

from election.messages import Index
from qsync.data import keys
from qsync.data.keys import FieldType, Part
from qsync.data.request import Op, Request
from qsync.data.sessions import PLACE_BYTES
from qsync.errors import Conflict, WrongTuple
from qsync.sim.canon import Books, Canon, Violation
from qsync.sim.explore.host import Host
from qsync.store.memory import MemorySpaces

SPACE = 512
ROWS_MAX = 100
"""Of a slice that is folded."""
_ROW, _NOTES = 1, 2
_VALUE = 2
"""The field that changes."""
_START = cbor2.dumps([_ROW, 0])
_KEY = (Part(field=0, type=FieldType.UNSIGNED),)
_THE_ROW = (SPACE, keys.encode(_KEY, (_ROW,)))

ADD = "add"
"""Adds one; its client asks again until it is told."""
ONCE = ("swap", "edit", "note")
"""Asked once. `swap` sets the row if it is as at the start, `edit` if nobody wrote it since it was
read at the start, `note` writes beside it."""


class Call(NamedTuple):
    """One attempt. `seq` numbers the request within the session; a retry has the same."""

    kind: str
    seq: int
    ticket: int


def create(host: Host, _what: object) -> None:
    """The space, the row, a session for each kind of request."""
    host.begin()
    options: dict[str, object] = {"id": SPACE, "is_sync": True, "primary": [[1, "unsigned"]]}
    ops: list[list[object]] = [
        [Op.CREATE_SPACE, "rows", options],
        [Op.REPLACE, SPACE, _START],
        *[[Op.OPEN_SESSION, kind.encode()] for kind in (ADD, *ONCE)],
    ]
    host.core.submit(None, Request(ops=ops))


def call(host: Host, what: object) -> None:
    """A request is taken, attached to what it repeats, or refused."""
    assert isinstance(what, Call)
    host.begin()
    if host.core.machine.reasons():
        return  # only in a batch: what came before it took the leadership
    request = _REQUESTS[what.kind](host, what.seq)
    request = request._replace(session=_session(host, what.kind), seq=what.seq, low=1)
    try:
        submitted = host.core.submit(what.ticket, request)
    except (Conflict, WrongTuple):
        host.diary.answers.refuses((request.session, request.seq))
        host.happened("refused")
    else:
        host.diary.answers.asked[what.ticket] = (request.session, request.seq)
        host.happened("attached" if submitted.duplicate else "called")


def _session(host: Host, kind: str) -> bytes:
    """The one that was opened for this kind of request."""
    (found,) = [each for each in host.core.state.sessions.head if _kind(each) == kind]
    return found


def _kind(session: bytes) -> str:
    return session[:-PLACE_BYTES].decode()


def _add(_host: Host, _seq: int) -> Request:
    return Request(ops=[[Op.UPDATE, SPACE, 0, [_ROW], [["+", _VALUE, 1]]]])


def _swap(_host: Host, seq: int) -> Request:
    return Request(ops=[[Op.REQUIRE_EQUAL, SPACE, 0, [_ROW], _START], _put(_ROW, seq)])


def _edit(host: Host, seq: int) -> Request:
    read_at = _books(host).writes[_THE_ROW][0][0]
    return Request(ops=[_put(_ROW, seq)], snapshot=read_at, reads=[["k", SPACE, 0, [_ROW]]])


def _note(_host: Host, seq: int) -> Request:
    return Request(ops=[_put(_NOTES, seq)])


_REQUESTS: dict[str, Callable[[Host, int], Request]] = {
    ADD: _add,
    "swap": _swap,
    "edit": _edit,
    "note": _note,
}


def _put(key: int, value: int) -> Sequence[object]:
    return [Op.REPLACE, SPACE, cbor2.dumps([key, value])]


def fold(host: Host, _what: object) -> None:
    """What is decided goes to the spaces on disk. Property 10."""
    host.begin()
    spaces = host.platter.spaces
    assert isinstance(spaces, MemorySpaces)
    slice_ = host.core.fold(ROWS_MAX)
    if slice_ is not None:
        spaces.fold(slice_)
        host.core.folded_to(slice_)
        host.happened("folded")
    if spaces.folded > host.ledger.confirmed:
        raise Violation(10, f"node {host.me} folded above its confirmed index")


# -- after each turn


def examine(host: Host) -> None:
    """Properties 8 and 10, and that what is confirmed could have happened one after the other."""
    ledger, books = host.ledger, _books(host)
    if _THE_ROW not in books.writes:
        return
    known = host.core.state.spaces()
    found = host.core.state.get(SPACE, 0, [_ROW]) if "rows" in known else None
    wanted = books.expected(ledger, _THE_ROW, ledger.visible)
    if found != wanted:
        raise Violation(8, f"node {host.me} at {ledger.visible} shows {found!r}, not {wanted!r}")
    _examine_folded(host, books)
    canon = Canon(books)
    canon.extend(ledger, ledger.confirmed)
    _examine_order(host, books, canon)


def _examine_folded(host: Host, books: Books) -> None:
    spaces = host.platter.spaces
    assert isinstance(spaces, MemorySpaces)
    canon = Canon(books)
    canon.extend(host.ledger, spaces.folded)
    wanted = canon.row_at(_THE_ROW, spaces.folded)
    found = spaces.get(keys.prefix(*_PRIMARY) + _THE_ROW[1])
    if found != wanted:
        raise Violation(10, f"folded at {spaces.folded}: {found!r}, the replay has {wanted!r}")


def _examine_order(host: Host, books: Books, canon: Canon) -> None:
    for (session, seq), index in _effective(books, canon):
        kind = _kind(session)
        if kind in _CONDITIONAL and canon.row_at(_THE_ROW, index - 1) != _START:
            raise Violation(12, f"{kind} {seq} at {index} took effect, and its condition was false")
        if session:
            host.diary.effective |= {(session, seq)}


def _effective(books: Books, canon: Canon) -> list[tuple[tuple[bytes, int], int]]:
    found = []
    for index in range(1, canon.last + 1):
        request = books.places[index, canon.terms[index]].request
        if request[1] and not canon.rolled_back[index]:
            found.append((request, index))
    return found


def _books(host: Host) -> Books:
    books, ledger = Books(), host.ledger
    for entry in ledger.entries(Index(1), ledger.log.last):
        books.enter(host.me, entry, ledger.log)
    return books


_PRIMARY = (SPACE, 0)
_CONDITIONAL = frozenset({"swap", "edit"})
