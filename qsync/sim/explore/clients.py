"""Clients with sessions: one retries its request, others send one conditional request."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import cbor2

from election.messages import Index
from qsync import refusing
from qsync.core.replicated_log import ReplicatedLog
from qsync.core.trimming import start_at, trim_log
from qsync.data import body, keys, sessions
from qsync.data.fold import at_once
from qsync.data.keys import FieldType, KeyPart
from qsync.data.operation_kinds import Op, ReadKind
from qsync.data.request import KnownRequest, Request
from qsync.data.schema import SESSION
from qsync.data.sessions import PLACE_BYTES
from qsync.error_details import RECORDED
from qsync.errors import ConfigError, Conflict, QsyncError, SessionExpired, WrongTuple
from qsync.record import EntryKind
from qsync.sim import properties
from qsync.sim.canon import PropertyViolation, ReferenceLog, ReferenceRecords
from qsync.sim.explore.answers import OpenQuestion, Place
from qsync.sim.explore.host import ExploredNode
from qsync.store.memory import MemorySpaces

SPACE = 512
ROWS_MAX = 100
"""The limit of a folded slice."""
_ROW, _NOTES = 1, 2
_VALUE = 2
"""The field that changes."""
_START = cbor2.dumps([_ROW, 0])
_KEY = (KeyPart(field=0, type=FieldType.UNSIGNED),)
_THE_ROW = (SPACE, keys.encode(_KEY, (_ROW,)))

ADD = "add"
"""Adds one; its client retries until it has the outcome."""
ONCE = ("swap", "edit", "note")
"""Sent once. `swap` sets the row if it has its first value, `edit` if it was not written since it
was read at the start, `note` writes another row.
"""
RESET = "reset"
"""Sets the row to its first value."""
_KINDS = (ADD, *ONCE, RESET)
NEXT = "next"
"""Its client has the outcome of the request before, releases that number, and adds one."""
OPEN, EXPIRE = "open", "expire"
"""A copy of the request that opened the session of `add`; and its end, by an entry in the log."""
LOWER, RAISE = "lower", "raise"
"""A quorum for the whole cluster: one that could split, and all voters."""


class CallAttempt(NamedTuple):
    """One attempt. `seq` numbers the request within the session; a retry has the same.

    `doubted`: its client sent it before and does not know the outcome.
    """

    kind: str
    seq: int
    ticket: int
    doubted: bool = False


def create(host: ExploredNode, _what: object) -> None:
    """The space, the row, a session for each kind of request."""
    host.begin()
    options: dict[str, object] = {"id": SPACE, "is_sync": True, "primary": [[1, "unsigned"]]}
    ops: list[list[object]] = [
        [Op.CREATE_SPACE, "rows", options],
        [Op.REPLACE, SPACE, _START],
        *[[Op.OPEN_SESSION, kind.encode()] for kind in _KINDS],
    ]
    host.core.submit(None, Request(ops=ops))


def call(host: ExploredNode, what: object) -> None:
    """A request is taken, attached to what it repeats, or refused."""
    assert isinstance(what, CallAttempt)
    host.begin()
    if host.core.machine.reasons():
        return  # only in a batch: what came before it took the leadership
    request = _REQUESTS[what.kind](host, what.seq)
    if what.kind == NEXT:
        seq = what.seq + 1
        request = replace(request, session=_session(host, ADD), seq=seq, low=seq)
    elif what.kind in _KINDS:
        session = _session(host, what.kind)
        request = replace(request, session=session, seq=what.seq, low=1, doubted=what.doubted)
    submit(host, what.ticket, request)


def submit(host: ExploredNode, ticket: int, request: Request) -> None:
    """Whether the node accepts it."""
    answers = host.diary.answers
    try:
        submitted = host.core.submit(ticket, request)
    except (Conflict, WrongTuple) as error:
        _refuse(host, ticket, request, error)
    except (SessionExpired, ConfigError) as error:
        host.happened(error.code.lower())
    else:
        refused = submitted.refusal is not None
        if request.session:
            answers.asked[ticket] = OpenQuestion(request.session, request.seq, refused)
        word = "recorded" if refused else "called"
        host.happened("attached" if submitted.duplicate else word)


# -- refusals


class Refused(NamedTuple):
    """A refusal that waits like a read. `again`: only a pending entry refuses it, for now."""

    request: Request
    recorded: bool
    again: bool
    visible: int
    """The visible index when it was requested."""


def _refuse(host: ExploredNode, ticket: int, request: Request, error: QsyncError) -> None:
    waiting = refusing.waiting(host.core, request, error)
    recorded = bool(error.details.get(RECORDED))
    again = waiting is not None and waiting.error is None
    refused = Refused(request, recorded, again, host.replicated_log.visible)
    if waiting is None:
        _tell(host, refused)
        return
    host.diary.answers.refusals[ticket] = refused
    host.happened("refusal waits")
    host.step(waiting.read(ticket))


def refusal_due(host: ExploredNode, ticket: int, refused: str | None) -> None:
    """The wait of a refusal ended: it is final, or its client gets an unknown outcome."""
    waited = host.diary.answers.refusals.pop(ticket)
    assert isinstance(waited, Refused)
    if waited.again:
        if not host.core.machine.reasons():
            submit(host, ticket, waited.request)
    elif refused is None:
        _tell(host, waited)


def _tell(host: ExploredNode, refused: Refused) -> None:
    request = refused.request
    if request.doubted and not refused.recorded:
        host.happened("doubt")  # another attempt may still succeed: its client continues to retry
        return
    _examine_refusal(host, refused)
    host.diary.answers.refuses((request.session, request.seq))
    host.happened("refused")


def _examine_refusal(host: ExploredNode, refused: Refused) -> None:
    """Property 8: the rows that are visible, now or since the request, justify the refusal."""
    replicated_log, books, kind = host.replicated_log, _books(host), _kind(refused.request.session)
    moments = range(refused.visible, replicated_log.visible + 1)
    if kind == "swap":
        fits = all(books.expected(replicated_log, _THE_ROW, each) == _START for each in moments)
    else:
        newest = _written_at(books, replicated_log, replicated_log.visible)
        fits = kind == "edit" and newest == refused.request.snapshot
    if fits:
        properties.refused_by_what_is_shown(host.me, kind, replicated_log.visible)


def _written_at(books: ReferenceRecords, replicated_log: ReplicatedLog, upto: int) -> int:
    """The index of the last visible write of the row."""
    shown = (
        index
        for index, term, _ in books.writes[_THE_ROW]
        if index <= upto and properties.shows(replicated_log, index, term)
    )
    return max(shown)


def _session(host: ExploredNode, kind: str) -> bytes:
    """The first session for this kind of request: its client knows no other."""
    found = []
    for (space, key), writes in _books(host).writes.items():
        if space == SESSION and _kind(sessions.name_of(key)) == kind:
            index, term, _ = writes[0]
            found.append((index, term, sessions.name_of(key)))
    return min(found)[2]


def _kind(session: bytes) -> str:
    return session[:-PLACE_BYTES].decode()


def _add(_host: ExploredNode, _seq: int) -> Request:
    return Request(ops=[[Op.UPDATE, SPACE, 0, [_ROW], [["+", _VALUE, 1]]]])


def _swap(_host: ExploredNode, seq: int) -> Request:
    return Request(ops=[[Op.REQUIRE_EQUAL, SPACE, 0, [_ROW], _START], _put(_ROW, seq)])


def _edit(host: ExploredNode, seq: int) -> Request:
    read_at = _books(host).writes[_THE_ROW][0][0]
    return Request(
        ops=[_put(_ROW, seq)], snapshot=read_at, reads=[[ReadKind.KEY, SPACE, 0, [_ROW]]]
    )


def _note(_host: ExploredNode, seq: int) -> Request:
    return Request(ops=[_put(_NOTES, seq)])


def _open(_host: ExploredNode, _seq: int) -> Request:
    return Request(ops=[[Op.OPEN_SESSION, ADD.encode()]])


def _expire(host: ExploredNode, _seq: int) -> Request:
    return Request(ops=[[Op.EXPIRE_SESSION, _session(host, ADD)]])


def _lower(_host: ExploredNode, _seq: int) -> Request:
    return _quorum("1")


def _raise(_host: ExploredNode, _seq: int) -> Request:
    return _quorum("N")


def _quorum(text: str) -> Request:
    return Request(ops=[[Op.CHANGE_SETTINGS, {"replication.synchro_quorum": text}]])


def _reset(_host: ExploredNode, _seq: int) -> Request:
    return Request(ops=[[Op.REPLACE, SPACE, _START]])


_REQUESTS: dict[str, Callable[[ExploredNode, int], Request]] = {
    ADD: _add,
    "swap": _swap,
    "edit": _edit,
    "note": _note,
    RESET: _reset,
    OPEN: _open,
    EXPIRE: _expire,
    NEXT: _add,
    LOWER: _lower,
    RAISE: _raise,
}


def _put(key: int, value: int) -> Sequence[object]:
    return [Op.REPLACE, SPACE, cbor2.dumps([key, value])]


def fold(host: ExploredNode, _what: object) -> None:
    """Fold confirmed entries into the spaces on disk. Property 10."""
    host.begin()
    spaces = host.platter.spaces
    assert isinstance(spaces, MemorySpaces)
    slice_ = at_once(host.core.folding(ROWS_MAX))
    if slice_ is not None:
        spaces.fold(slice_)
        host.core.folded_to(slice_)
        host.happened("folded")
    if spaces.folded > host.replicated_log.confirmed:
        raise PropertyViolation(10, f"node {host.me} folded above its confirmed index")


# -- after each turn


def trim(host: ExploredNode, _what: object) -> None:
    """Write the confirmed index, and trim the entries that a crash leaves confirmed."""
    host.begin()
    host.core.machine.disk.write_confirmed()
    replicated_log = host.replicated_log
    upto = min(replicated_log.durable_confirmed, replicated_log.confirmed, replicated_log.written)
    start = start_at(replicated_log, upto)
    if start.index > replicated_log.log.start.index:
        trim_log(replicated_log, start)
        host.platter.start = start
        host.happened("trimmed")


def examine(host: ExploredNode) -> None:
    """Properties 8 and 10, and that confirmed requests are serializable."""
    replicated_log, books = host.replicated_log, _books(host)
    if _THE_ROW not in books.writes:
        return
    known = host.core.state.spaces()
    found = host.core.state.get(SPACE, 0, [_ROW]) if "rows" in known else None
    wanted = books.expected(replicated_log, _THE_ROW, replicated_log.visible)
    if found != wanted:
        raise PropertyViolation(
            8, f"node {host.me} at {replicated_log.visible} shows {found!r}, not {wanted!r}"
        )
    _examine_folded(host, books)
    _examine_sessions(host, books)
    canon = ReferenceLog(books)
    canon.extend(replicated_log.log, replicated_log.confirmed)
    _examine_order(host, books, canon)


def _examine_folded(host: ExploredNode, books: ReferenceRecords) -> None:
    spaces = host.platter.spaces
    assert isinstance(spaces, MemorySpaces)
    canon = ReferenceLog(books)
    canon.extend(host.replicated_log.log, spaces.folded)
    wanted = canon.row_at(_THE_ROW, spaces.folded)
    found = spaces.get(keys.prefix(*_PRIMARY) + _THE_ROW[1])
    if found != wanted:
        raise PropertyViolation(
            10, f"folded at {spaces.folded}: {found!r}, the replay has {wanted!r}"
        )


def _examine_sessions(host: ExploredNode, books: ReferenceRecords) -> None:
    """Property 9: the table of numbered requests equals the one derived from the log."""
    log, wanted = host.replicated_log.log, dict[tuple[bytes, int], tuple[int, int]]()
    refused: dict[tuple[bytes, int], int] = {}
    for entry in host.replicated_log.entries(Index(1), log.last):
        if entry.kind == EntryKind.TXN:
            session, seq, low, _ = body.decode(entry.body)[:4]
            ended = {*_ended(books, (entry.index, entry.term))}
            wanted = {
                name: place
                for name, place in wanted.items()
                if name[0] not in ended and (name[0] != session or name[1] >= low)
            }
            if seq:
                wanted[session, seq] = (int(entry.index), int(entry.term))
                refusal = body.refusal(entry.body)
                refused[session, seq] = 0 if refusal is None else refusal.number
    known = {
        (name, seq): (index, term)
        for name, session in host.core.state.sessions.head.items()
        if session is not None
        for seq, (index, term, _) in session.outcomes.items()
    }
    properties.requests_known(host.me, known, wanted)
    for name in wanted:
        seen = host.core.state.known_request(*name)
        if isinstance(seen, KnownRequest) and not seen.rolled_back:
            properties.refusal_known(host.me, name[1], by=seen.refused, wanted=refused[name])


def _ended(books: ReferenceRecords, place: Place) -> list[bytes]:
    """Sessions that the entry there ends."""
    sessions_of = [key for key in books.places[place].keys if key[0] == SESSION]
    gone = (*place, None)
    return [sessions.name_of(key[1]) for key in sessions_of if gone in books.writes[key]]


def _examine_order(host: ExploredNode, books: ReferenceRecords, canon: ReferenceLog) -> None:
    for (session, seq), index in _effective(books, canon):
        kind = _kind(session)
        if kind in _CONDITIONAL and canon.row_at(_THE_ROW, index - 1) != _START:
            raise PropertyViolation(
                12, f"{kind} {seq} at {index} took effect, and its condition was false"
            )
        if session:
            host.diary.effective |= {(session, seq)}


def _effective(books: ReferenceRecords, canon: ReferenceLog) -> list[tuple[tuple[bytes, int], int]]:
    found = []
    for index in range(1, canon.last + 1):
        place = books.places[index, canon.terms[index]]
        request = place.request
        if request[1] and not place.refused and not canon.rolled_back[index]:
            found.append((request, index))
    return found


def _books(host: ExploredNode) -> ReferenceRecords:
    books, replicated_log = ReferenceRecords(), host.replicated_log
    for entry in replicated_log.entries(Index(1), replicated_log.log.last):
        books.enter(host.me, entry, replicated_log.log)
    return books


_PRIMARY = (SPACE, 0)
_CONDITIONAL = frozenset({"swap", "edit"})
