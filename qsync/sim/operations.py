"""One operation of a client: one or more requests, until its outcome is known."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Final

from election.messages import Index, Position, Term
from qsync.core.consistency import Consistency
from qsync.sim.replies import Reply

Place = tuple[int, int]
"""A space and a key in it."""
Token = tuple[bytes, int]
"""A session and a number in it."""
NOWHERE: Final = Position(Term(0), Index(0))
"""The position before the first entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOperation:
    """Rows at some keys, in one snapshot. `insists`: repeated until it is answered.

    `floor`: the minimum position that the read must show, if any.
    """

    places: tuple[Place, ...]
    consistency: Consistency = Consistency.LINEARIZABLE
    insists: bool = False
    floor: Position = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOperation:
    """A transaction.

    `reads` and `snapshot` are its read set; it is refused if that has changed. `token`: the session
    and number of another client's write whose outcome this one requests.
    """

    ops: Sequence[Sequence[object]]
    sync: bool | None = None
    reads: Sequence[Sequence[object]] = ()
    snapshot: int = 0
    token: Token | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionOperation:
    """A transaction of several steps on lists: what is done, the key, and the value of an append.

    `get` a row, read all rows in `pages`, `append`, `try` an append at once, `undo` an append.
    """

    keys: int
    steps: Sequence[tuple[str, int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowOperation:
    """A feed of the lists: so many changes after that index of the log, or as many as there are."""

    keys: int
    after: int
    changes: int


Ask = ReadOperation | WriteOperation | TransactionOperation | FollowOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationResult:
    """The result of a request: `ok`, `fail` (certainly no effect), or `info` (unknown)."""

    type: str
    reply: Reply | None = None
    rows: Sequence[list[object] | None] = ()
    session: bytes = b""
    seq: int = 0
    consistency: str = ""
    floor: Position = NOWHERE
    done: Sequence[list[object]] = ()
    """The steps of a transaction with what they read."""

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
        return self.type == "ok"

    @property
    def at(self) -> int:
        """Index of the answer."""
        return getattr(self.reply, "index", 0)

    @property
    def term(self) -> int:
        """Term of the entry there."""
        return getattr(self.reply, "term", 0)


Steps = Generator[Ask, OperationResult, None]
"""Sends requests until it is done; the last answer is the outcome of the operation."""


@dataclass(slots=True, kw_only=True)
class OperationRecord:
    """Its entry in the history: `name` as drawn, `f` for checkers, `space` and `key`.

    `value` is the argument; the steps replace it by the answer.
    """

    name: str
    f: str
    space: str = ""
    key: int | None = None
    value: object = None
