"""Requests of clients to the data, their execution, and their outcomes."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, final

from election.messages import Index, Term
from qsync.data.schema import Schema
from qsync.errors import QsyncError, TooLarge
from qsync.record import Lsn

Write = tuple[bytes, bytes | None]
"""A physical key and what it holds from now on; None deletes it."""


# Made once per write, so no frozen dataclasses, which take four times as long to make. Compiled,
# a plain class is made in a seventh of the time of a tuple with names, and read without a look-up;
# and so is a dataclass whose `__init__` is written out, for that one is compiled as well.
@dataclass(slots=True, init=False, unsafe_hash=True)
class Request:
    """One transaction of a client. `snapshot` and `reads` say what it was computed from.

    Requests of a session are numbered from 1; number 0 asks for no memory of the outcome.

    `low`: no request of the session below this number will be asked for again.
    `doubted`: another attempt under the number may be done yet, so a refusal is recorded.
    `reads`: `[KEY, space, index, key]` and `[RANGE, space, index, iterator, key]`; before it comes
    to the data also `[LOG_POSITION, index, term]`, an entry that was in the log that was read.
    `user`: who asks, where the cluster has users; None: the node itself, which may do everything.
    """

    session: Final[bytes]
    seq: Final[int]
    low: Final[int]
    ops: Final[Sequence[Sequence[object]]]
    sync: Final[bool | None]
    snapshot: Final[int]
    reads: Final[Sequence[Sequence[object]]]
    doubted: Final[bool]
    user: Final[str | None]

    def __init__(
        self,
        session: bytes = b"",
        seq: int = 0,
        low: int = 0,
        ops: Sequence[Sequence[object]] = (),
        *,
        sync: bool | None = None,
        snapshot: int = 0,
        reads: Sequence[Sequence[object]] = (),
        doubted: bool = False,
        user: str | None = None,
    ) -> None:
        self.session = session
        self.seq = seq
        self.low = low
        self.ops = ops
        self.sync = sync
        self.snapshot = snapshot
        self.reads = reads
        self.doubted = doubted
        self.user = user


class SessionChange(NamedTuple):
    """A session begins (`opened`) or is forgotten."""

    session: bytes
    opened: bool


@final
class ExecutedTransaction:
    """A transaction turned into effects, not yet in the log.

    `body` is what the log carries; `writes` is what it does to the store, derived entries of
    secondary indexes included. `schema` is the schema after it, if it changes that.
    """

    __slots__ = ("body", "changes", "low", "results", "schema", "seq", "session", "sync", "writes")

    def __init__(
        self,
        body: bytes,
        *,
        sync: bool,
        results: list[bytes | None],
        writes: list[Write],
        session: bytes,
        seq: int,
        low: int,
        changes: tuple[SessionChange, ...] = (),
        schema: Schema | None = None,
    ) -> None:
        self.body = body
        self.sync = sync
        self.results = results
        self.writes = writes
        self.session = session
        self.seq = seq
        self.low = low
        self.changes = changes
        self.schema = schema


@final
class SubmittedTransaction:
    """The transaction is in the log at `(term, index)`; its fate comes later, to its ticket.

    `duplicate`: it was there already, the request is a retry. `refusal`: what is there is not the
    transaction but its refusal, to be told when the entry is committed. `rolled_back`: it has been
    rolled back there, which may not be certain yet.
    """

    __slots__ = ("duplicate", "index", "lsn", "refusal", "results", "rolled_back", "term")

    def __init__(
        self,
        index: Index,
        term: Term,
        lsn: Lsn,
        *,
        results: list[bytes | None],
        duplicate: bool,
        refusal: QsyncError | None,
        rolled_back: bool = False,
    ) -> None:
        self.index = index
        self.term = term
        self.lsn = lsn
        self.results = results
        self.duplicate = duplicate
        self.refusal = refusal
        self.rolled_back = rolled_back


@final
class LoggedTransaction:
    """A transaction that is in the log above the folded index.

    `writes` is empty while it is rolled back. `damage` says why its effects do not follow from what
    is before it in the log: that must pass (by a rollback or a cut) before it is confirmed.
    """

    __slots__ = (
        "body",
        "changes",
        "damage",
        "index",
        "low",
        "schema",
        "seq",
        "session",
        "term",
        "writes",
    )

    def __init__(
        self,
        index: int,
        term: int,
        *,
        session: bytes,
        seq: int,
        low: int,
        changes: tuple[SessionChange, ...],
        body: bytes,
        writes: list[Write],
        schema: Schema | None,
        damage: str = "",
    ) -> None:
        self.index = index
        self.term = term
        self.session = session
        self.seq = seq
        self.low = low
        self.changes = changes
        self.body = body
        self.writes = writes
        self.schema = schema
        self.damage = damage


class Once(StrEnum):
    """The request was never seen, or cannot be told from a new one."""

    NEW = "new"
    STALE = "stale"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class KnownRequest:
    """The request is in the log at that place. `rolled_back` is its fate as far as known here.

    `refused`: the number of the error that is recorded in its place; 0 where none is known of.
    """

    index: int
    term: int
    rolled_back: bool
    refused: int = 0


Seen = Once | KnownRequest
NEW, STALE, EXPIRED = Once.NEW, Once.STALE, Once.EXPIRED


class Limits(NamedTuple):
    """The limits of one request. Checked where it is executed, never where it is replayed."""

    tuple_bytes_max: int = 1 << 20
    txn_bytes_max: int = 8 << 20
    ops_max: int = 100_000
    sessions_max: int = 10_000
    sessions_per_user_max: int = 5_000
    validated_max: int = 1_000_000
    outcomes_max: int = 10_000


def too_large(
    what: str, limit: str, most: int, found: int | None = None, unit: str = "bytes"
) -> TooLarge:
    """Return the refusal of what is over a limit. It names the limit."""
    than = "" if found is None else f", not {found}"
    return TooLarge(
        f"{what} has at most {most} {unit}{than}",
        hint=f"the limit is `{limit}`",
        details={"limit": limit, "most": most},
    )
