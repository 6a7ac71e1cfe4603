"""What a client asks of the data, and what comes of asking: requests, executions, outcomes."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import NamedTuple

from qsync.data.schema import Schema

Write = tuple[bytes, bytes | None]
"""A physical key and what it holds from now on; None deletes it."""


class Op(IntEnum):
    """First element of every operation of a request."""

    INSERT = 1
    REPLACE = 2
    UPDATE = 3
    UPSERT = 4
    DELETE = 5
    TRUNCATE = 6
    CREATE_SPACE = 10
    ALTER_SPACE = 11
    DROP_SPACE = 12
    CREATE_INDEX = 13
    DROP_INDEX = 14
    NEXT_VALUE = 15
    CREATE_SEQUENCE = 16
    CHANGE_SETTINGS = 17
    REQUIRE_EQUAL = 20
    REQUIRE_EXISTENCE = 21
    OPEN_SESSION = 30
    EXPIRE_SESSION = 31
    GIVE_UP = 32


class ReadKind(StrEnum):
    """First element of everything that a request says it has read."""

    KEY = "k"
    RANGE = "r"
    LOG_POSITION = "p"


# Requests and executions are made once per write, so they are tuples: a frozen dataclass takes
# four times as long to make.
class Request(NamedTuple):
    """One transaction of a client. `snapshot` and `reads` say what it was computed from.

    Requests of a session are numbered from 1; number 0 asks for no memory of the outcome.

    `low`: no request of the session below this number will be asked for again.
    `doubted`: another attempt under the number may be done yet, so a refusal is recorded.
    `reads`: `[KEY, space, index, key]` and `[RANGE, space, index, iterator, key]`; before it comes
    to the data also `[LOG_POSITION, index, term]`, an entry that was in the log that was read.
    """

    session: bytes = b""
    seq: int = 0
    low: int = 0
    ops: Sequence[Sequence[object]] = ()
    sync: bool | None = None
    snapshot: int = 0
    reads: Sequence[Sequence[object]] = ()
    doubted: bool = False


class SessionChange(NamedTuple):
    """A session begins (`opened`) or is forgotten."""

    session: bytes
    opened: bool


class ExecutedTransaction(NamedTuple):
    """A transaction turned into effects, not yet in the log.

    `body` is what the log carries; `writes` is what it does to the store, derived entries of
    secondary indexes included. `schema` is the schema after it, if it changes that.
    """

    body: bytes
    sync: bool
    results: list[bytes | None]
    writes: list[Write]
    session: bytes
    seq: int
    low: int
    changes: Sequence[SessionChange] = ()
    schema: Schema | None = None


@dataclass(slots=True)
class LoggedTransaction:
    """A transaction that is in the log above the folded index.

    `writes` is empty while it is rolled back. `damage` says why its effects do not follow from what
    is before it in the log: that must pass (by a rollback or a cut) before it is confirmed.
    Made once per write, so neither frozen nor by keyword.
    """

    index: int
    term: int
    session: bytes
    seq: int
    low: int
    changes: Sequence[SessionChange]
    body: bytes
    writes: Sequence[Write]
    schema: Schema | None
    damage: str = ""


class Once(StrEnum):
    """What is known of a request that was never seen, or cannot be told from a new one."""

    NEW = "new"
    STALE = "stale"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class KnownRequest:
    """The request is in the log at that place. `rolled_back` is its fate as far as known here."""

    index: int
    term: int
    rolled_back: bool


Seen = Once | KnownRequest
NEW, STALE, EXPIRED = Once.NEW, Once.STALE, Once.EXPIRED


class Limits(NamedTuple):
    """What one request may weigh. Checked where it is executed, never where it is replayed."""

    tuple_bytes_max: int = 1 << 20
    txn_bytes_max: int = 8 << 20
    ops_max: int = 100_000
    sessions_max: int = 10_000
    outcomes_max: int = 10_000
