"""Consumers of the log: members, readers of changes, backups, each with a place in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from election.messages import Index

CONSUMERS_MAX: Final = 1000
"""The maximum number of consumers of a cluster, its members included."""
CONSUMERS_PER_USER_MAX: Final = CONSUMERS_MAX // 2
"""The maximum number that one user registers, so that others can register some, too."""
NAME_CHARACTERS_MAX: Final = 200
ABOUT_CHARACTERS_MAX: Final = 1000


class ConsumerKind(StrEnum):
    """The kinds of consumers."""

    REPLICA = "replica"
    """A member of the configuration, named by the uuid of its directory. The leader moves it."""
    SUBSCRIBER = "subscriber"
    """A reader of changes that continues at its position."""
    BACKUP = "backup"
    """A backup that reads the log for as long as it takes."""
    ARCHIVE = "archive"
    """A continuous copy of the log that is kept elsewhere."""


@dataclass(frozen=True, slots=True)
class Consumer:
    """One row of `_gc_consumers`: it has the log up to `index`, and needs what follows.

    `about`: what people should know of it, such as a host or a path. `let_go`: the log is not kept
    for it any more, because it held too much; it goes on behind a snapshot. `owner`: the user who
    registered it; empty for a member, and of what was registered before there were owners.
    """

    name: str
    kind: ConsumerKind
    index: Index
    about: str = ""
    let_go: bool = False
    owner: str = ""

    def row(self) -> list[object]:
        """Return it as a row; without an owner as releases wrote it that knew of none."""
        row: list[object] = [self.name, self.kind.value, int(self.index), self.about, self.let_go]
        return [*row, self.owner] if self.owner else row


def consumer_of(row: Sequence[object]) -> Consumer:
    """The consumer of a stored row. Raises ValueError, TypeError."""
    name, kind, index, about, let_go, *more = row
    if not isinstance(index, int):
        raise TypeError(f"{index!r} is no index")
    owner = more[0] if more else None
    return Consumer(
        name=str(name),
        kind=ConsumerKind(str(kind)),
        index=Index(index),
        about=str(about),
        let_go=bool(let_go),
        owner="" if owner is None else str(owner),
    )
