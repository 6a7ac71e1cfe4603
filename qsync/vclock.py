"""A vclock: for every origin, the lsn of its last entry in one log. A fold over the log."""

from collections.abc import Iterable, Mapping

from election.messages import Replica
from qsync.record import Entry, Lsn

Vclock = Mapping[Replica, Lsn]


def follow(vclock: Vclock, entries: Iterable[Entry]) -> dict[Replica, Lsn]:
    """The vclock after `entries`. Each entry must be the next of its origin."""
    after = dict(vclock)
    for entry in entries:
        assert entry.lsn == after.get(entry.origin, 0) + 1
        after[entry.origin] = entry.lsn
    return after


def signature(vclock: Vclock) -> int:
    """Sum of the components; equals the index of the last entry (protocol.md section 1)."""
    return sum(vclock.values())


def describe(vclock: Vclock) -> str:
    """`{1: 5, 2: 3}`, ordered by origin."""
    return "{" + ", ".join(f"{origin}: {lsn}" for origin, lsn in sorted(vclock.items())) + "}"
