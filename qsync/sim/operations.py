"""One thing a client wants: a conversation of one or more questions, until its fate is known."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Final

from election.messages import Index, Position, Term
from qsync.core.inputs import Consistency
from qsync.sim.replies import Reply

Place = tuple[int, int]
"""A space and a key in it."""
Token = tuple[bytes, int]
"""A session and a number in it."""
NOWHERE: Final = Position(Term(0), Index(0))
"""The place before the first entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOperation:
    """Rows at some keys, in one snapshot. `insists`: asked for until it is answered.

    `floor`: of a read at least some place, that place.
    """

    places: tuple[Place, ...]
    consistency: Consistency = Consistency.LINEARIZABLE
    insists: bool = False
    floor: Position = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOperation:
    """A transaction.

    `reads` and `snapshot` say what it was computed from; it is refused when that has changed.
    `token`: the session and number of another client's write that this one asks about.
    """

    ops: Sequence[Sequence[object]]
    sync: bool | None = None
    reads: Sequence[Sequence[object]] = ()
    snapshot: int = 0
    token: Token | None = None


Ask = ReadOperation | WriteOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationResult:
    """What came of a question: `ok`, `fail` (surely nothing was done), or `info` (nobody knows)."""

    type: str
    reply: Reply | None = None
    rows: Sequence[list[object] | None] = ()
    session: bytes = b""
    seq: int = 0
    consistency: str = ""
    floor: Position = NOWHERE

    @property
    def ok(self) -> bool:
        """It was answered, and done."""
        return self.type == "ok"

    @property
    def at(self) -> int:
        """Index of what was answered."""
        return getattr(self.reply, "index", 0)

    @property
    def term(self) -> int:
        """Term of the entry there."""
        return getattr(self.reply, "term", 0)


Steps = Generator[Ask, OperationResult, None]
"""Asks until it has what it wants; the last answer is the fate of the whole."""


@dataclass(slots=True, kw_only=True)
class OperationRecord:
    """What the history says of it: `name` as drawn, `f` as checkers call it, `space` and `key`.

    `value` is what was asked for; the steps put there what was answered.
    """

    name: str
    f: str
    space: str = ""
    key: int | None = None
    value: object = None
