"""Every call of the API as a value: its request, its retries, and how its answer is read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, Generic, TypeVar

from election.messages import Index, Position
from qsync.client.arguments import choice_of, count_of
from qsync.client.numbering import Token, parse_token
from qsync.client.pending_request import PendingRequest, RetryKind
from qsync.client.rows import (
    Key,
    Receipt,
    Row,
    Values,
    decode_row,
    encode_row,
    indexed,
    key_of,
)
from qsync.errors import ConfigError, ProtocolError
from qsync.member import MemberAction, MemberRole
from qsync.wire import limits, replies
from qsync.wire.verbs import (
    LINEARIZABLE,
    ChangeMemberRequest,
    ClearRequest,
    CountRequest,
    DemoteRequest,
    DigestRequest,
    DryRunRequest,
    GetRequest,
    InfoRequest,
    LogRequest,
    Name,
    Operations,
    PlainRequest,
    PromoteRequest,
    ReadLevel,
    Request,
    SelectRequest,
    TxGetRequest,
    Verb,
    WriteFlags,
    WriteRequest,
)

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ClientCall(Generic[T_co]):
    """`make` builds the request for an id; `read` turns the answered ask into what is returned.

    `begun` gets the request, which may get another number while it is in progress.
    """

    kind: RetryKind
    make: Callable[[int], Request]
    read: Callable[[PendingRequest], T_co]
    token: Token | None = None
    begun: Callable[[PendingRequest], None] | None = None

    @property
    def token_known(self) -> bool:
        """Whether the caller may know the token of the write, also when it is cancelled."""
        return self.begun is not None or self.token is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """The options of a commit. `is_sync` None: by the setting of its spaces."""

    is_sync: bool | None = None
    wait: str = "complete"
    token: str | None = None

    def __post_init__(self) -> None:
        """Check the options, be it of a transaction that sends nothing. Raises ConfigError."""
        choice_of("wait", self.wait, _WAITS, "complete, submit or none (a text)")
        choice_of("is_sync", self.is_sync, _SYNCS, "true, false or None")

    @property
    def flags(self) -> int:
        """The options as flags of the wire."""
        return _WAITS[self.wait] | _SYNCS[self.is_sync]


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """The read set of a transaction: it is refused if any of it has changed."""

    snapshot: int = 0
    reads: Operations = ()


# Plain integers: combining flags of an enum costs as much as encoding the request.
_WAITS: Final = {
    "complete": int(WriteFlags.NONE),
    "submit": int(WriteFlags.SUBMIT),
    "none": int(WriteFlags.NO_WAIT),
}
_SYNCS: Final = {
    None: int(WriteFlags.NONE),
    True: int(WriteFlags.SYNC),
    False: int(WriteFlags.ASYNC),
}
AS_SPACES_SAY: Final = Commit()
NO_BASIS: Final = Basis()


# -- calls


def write(
    ops: Operations, commit: Commit = AS_SPACES_SAY, basis: Basis = NO_BASIS
) -> ClientCall[Receipt]:
    """Write one transaction."""
    flags, token = commit.flags, None if commit.token is None else parse_token(commit.token)
    kept = list(ops)

    def make(id: int) -> Request:
        return WriteRequest(id, b"", 0, 0, flags, kept, None, basis.snapshot, list(basis.reads))

    return ClientCall(RetryKind.WRITE, make, read_receipt, token)


def get(
    space: Name, key: Key, level: ReadLevel = LINEARIZABLE, index: Name = 0
) -> ClientCall[Row | None]:
    """Get one tuple by a unique index."""
    parts, by = key_of(key), indexed(index)
    return ClientCall(
        RetryKind.READ, lambda id: GetRequest(id, space, by, parts, level), lambda a: _row(a)[0]
    )


def get_at(
    space: Name, key: Key, index: Name = 0, ops: Operations = (), level: ReadLevel = LINEARIZABLE
) -> ClientCall[tuple[Row | None, Position]]:
    """Get the tuple as it is after `ops`, with the index of the log at which it was read."""
    parts, by = key_of(key), indexed(index)

    def make(id: int) -> Request:
        if ops:
            return TxGetRequest(id, list(ops), space, by, parts)
        return GetRequest(id, space, by, parts, level)

    return ClientCall(RetryKind.READ, make, _row)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRange:
    """A range of an index, and its order. The iterator is `eq` with a key, `all` without."""

    key: list[object]
    index: Name = 0
    iterator: str = "eq"
    limit: int = limits.U32_MAX
    offset: int = 0
    after: object = None


def range_of(
    key: Key,
    *,
    index: Name = 0,
    iterator: str | None = None,
    limit: int | None = None,
    offset: int = 0,
    after: Values | None = None,
) -> KeyRange:
    """Return the range for a caller's options. `after`: the last tuple of the page before.

    Raises ConfigError.
    """
    parts = key_of(key)
    return KeyRange(
        key=parts,
        index=indexed(index),
        iterator=str(iterator or ("eq" if parts else "all")).lower(),
        limit=limits.U32_MAX if limit is None else count_of("limit", limit),
        offset=count_of("offset", offset),
        after=None if after is None else encode_row(after),
    )


def select(space: Name, which: KeyRange, level: ReadLevel = LINEARIZABLE) -> ClientCall[list[Row]]:
    """Select tuples in index order."""
    asked = _select(space, which, level, ())
    return ClientCall(RetryKind.READ, asked, lambda ask: _rows(ask)[0])


def select_at(
    space: Name, which: KeyRange, ops: Operations
) -> ClientCall[tuple[list[Row], Position]]:
    """Select tuples as they are after `ops`, with the index of the log, for transactions."""
    return ClientCall(RetryKind.READ, _select(space, which, LINEARIZABLE, list(ops)), _rows)


def count(space: Name, which: KeyRange, level: ReadLevel = LINEARIZABLE) -> ClientCall[int]:
    """Count the tuples of a range."""

    def make(id: int) -> Request:
        return CountRequest(id, space, which.index, which.iterator, which.key, level)

    return ClientCall(RetryKind.READ, make, lambda ask: replies.read_count(_values(ask))[0])


def status() -> ClientCall[dict[str, object]]:
    """The node's status record."""
    return ClientCall(RetryKind.READ, lambda id: PlainRequest(id, Verb.STATUS), _map)


def schema() -> ClientCall[dict[str, object]]:
    """All spaces by name."""
    return ClientCall(RetryKind.READ, lambda id: PlainRequest(id, Verb.SCHEMA), _map)


def ping() -> ClientCall[None]:
    """Ask whether a node answers."""
    return ClientCall(RetryKind.READ, lambda id: PlainRequest(id, Verb.PING), lambda _: None)


def info(path: str | None) -> ClientCall[object]:
    """`box.info`, or a part of it."""
    return ClientCall(RetryKind.READ, lambda id: InfoRequest(id, path), _first)


def lost() -> ClientCall[object]:
    """Asynchronous transactions that were answered "ok" and then cut."""
    return ClientCall(RetryKind.READ, lambda id: PlainRequest(id, Verb.LOST), _first)


def dry_run(what: str) -> ClientCall[dict[str, object]]:
    """Return what an operation would do, in numbers."""
    return ClientCall(RetryKind.READ, lambda id: DryRunRequest(id, what), _map)


def digest(space: Name | None) -> ClientCall[tuple[int, int, dict[str, object]]]:
    """Visible index, folded index, and the hash of each space."""

    def read(ask: PendingRequest) -> tuple[int, int, dict[str, object]]:
        visible, folded, found = _values(ask, 3)
        if isinstance(visible, int) and isinstance(folded, int):
            return visible, folded, replies.read_map([found])
        raise ProtocolError("not the answer to a digest")

    return ClientCall(RetryKind.READ, lambda id: DigestRequest(id, space), read)


def log(first: int, count_max: int, bytes_max: int) -> ClientCall[tuple[int, int, bytes]]:
    """Entries as stored: first index, last index, and the batch."""

    def read(ask: PendingRequest) -> tuple[int, int, bytes]:
        begin, end, batch = _values(ask, 3)
        if isinstance(begin, int) and isinstance(end, int) and isinstance(batch, bytes):
            return begin, end, batch
        raise ProtocolError("not the answer to a log")

    return ClientCall(
        RetryKind.READ, lambda id: LogRequest(id, Index(first), count_max, bytes_max), read
    )


def promote(timeout: float) -> ClientCall[None]:
    """Make the node the leader."""
    return ClientCall(RetryKind.ONCE, lambda id: PromoteRequest(id, timeout), lambda _: None)


def demote(to: int, timeout: float) -> ClientCall[None]:
    """Make the node give up leadership."""
    return ClientCall(RetryKind.ONCE, lambda id: DemoteRequest(id, to, timeout), lambda _: None)


def clear(timeout: float) -> ClientCall[None]:
    """`clear_synchro_queue` on the node."""
    return ClientCall(RetryKind.ONCE, lambda id: ClearRequest(id, timeout), lambda _: None)


def change_member(
    action: MemberAction,
    replica: int,
    timeout: float,
    *,
    instance: str = "",
    name: str = "",
    address: str = "",
    role: MemberRole = MemberRole.LEARNER,
    force: bool = False,
) -> ClientCall[None]:
    """Let the leader change a member, or its address. Raises ConfigError for no such role."""
    if role not in tuple(MemberRole):
        raise ConfigError(f"there is no role {role!r}", hint=f"one of {', '.join(MemberRole)}")
    told = (action.value, replica, instance, name, address, str(role), force, False, timeout)
    return ClientCall(RetryKind.ONCE, lambda id: ChangeMemberRequest(id, *told), lambda _: None)


def rollback_queue() -> ClientCall[None]:
    """`rollback_synchro_queue` on the node."""
    return ClientCall(
        RetryKind.ONCE, lambda id: PlainRequest(id, Verb.ROLLBACK_QUEUE), lambda _: None
    )


def noted_in(
    found: list[PendingRequest] | None, begun: Callable[[PendingRequest], None] | None
) -> Callable[[PendingRequest], None] | None:
    """Return what notes a request in a list before it can be sent, and then calls `begun`."""
    if found is None or begun is None:
        return begun if found is None else found.append

    def both(ask: PendingRequest) -> None:
        found.append(ask)
        begun(ask)

    return both


def next_of(
    source: Iterator[ClientCall[T]], most: int
) -> tuple[list[ClientCall[T]], Exception | None]:
    """Return the next calls, and what kept the source from giving more, if it raised."""
    found: list[ClientCall[T]] = []
    try:
        found.extend(islice(source, most))
    except Exception as error:  # noqa: BLE001 - raised when the calls before it are settled
        return found, error
    return found, None


# -- reading answers


def outcome(ask: PendingRequest, read: Callable[[PendingRequest], T]) -> T:
    """Return the answer of a settled request, or raise its error."""
    assert ask.settled
    if ask.error is not None:
        raise ask.error
    return read(ask)


def read_receipt(ask: PendingRequest) -> Receipt:
    """Read the answer to a write."""
    done = replies.read_committed(_values(ask))
    return Receipt(
        term=done.term,
        index=done.at,
        lsn=done.lsn,
        acks=done.acks,
        seconds=ask.seconds,
        duplicate=done.duplicate,
        raw=tuple(done.results),
    )


def _select(
    space: Name, which: KeyRange, level: ReadLevel, ops: Operations
) -> Callable[[int], Request]:
    w = which

    def make(id: int) -> Request:
        place = (w.limit, w.offset, w.after)
        return SelectRequest(id, space, w.index, w.iterator, w.key, *place, level=level, ops=ops)

    return make


def _values(ask: PendingRequest, size: int | None = None) -> list[object]:
    assert ask.answer is not None
    if size is None or len(ask.answer) == size:
        return ask.answer
    raise ProtocolError(f"an answer of {len(ask.answer)} fields, not {size}")


def _row(ask: PendingRequest) -> tuple[Row | None, Position]:
    found, seen = replies.read_row(_values(ask))
    return (None if found is None else decode_row(found)), seen


def _rows(ask: PendingRequest) -> tuple[list[Row], Position]:
    found, seen = replies.read_rows(_values(ask))
    return [decode_row(one) for one in found], seen


def _map(ask: PendingRequest) -> dict[str, object]:
    return replies.read_map(_values(ask))


def _first(ask: PendingRequest) -> object:
    values = _values(ask)
    return values[0] if values else None
