"""The items of a change feed: confirmed transactions with their effects."""

from dataclasses import dataclass
from enum import StrEnum

from qsync.client.rows import Row
from qsync.wire.verbs import Name


class ChangeKind(StrEnum):
    """The kinds of an effect; the last two concern a whole space."""

    PUT = "put"
    DELETE = "delete"
    TRUNCATE = "truncate"
    DROP = "drop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a transaction did to one tuple, or with `truncate` and `drop` to a whole space.

    `space` is its name, or its number when it is gone meanwhile.
    """

    what: ChangeKind
    space: Name
    key: Row
    row: Row | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One confirmed transaction. `index` is its place: `watch(after=change.index)` goes on there.

    `time` is the leader's clock when it was made, for people.
    """

    index: int
    term: int
    lsn: int
    origin: int
    time: float
    effects: tuple[Effect, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeBatch:
    """An answer: changes, and the place up to which the log was read for them."""

    changes: tuple[Change, ...] = ()
    upto: int = 0
    confirmed: int = 0
    space: int | None = None
    seconds: float = 0.0
