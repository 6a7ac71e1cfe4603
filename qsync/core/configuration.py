"""Who votes: pairs of a replica id and the instance of its directory, as a fold over the log."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from election.messages import Index, Replica
from qsync.core.config import CoreConfig
from qsync.core.logindex import LogIndex
from qsync.record import CONFIG, HEADER_SIZE, ONE_INSTANCE, Entry, EntryKind, Instance, read_ref


@dataclass(frozen=True, slots=True)
class Configuration:
    """The voters (membership.md M1). A node is one of them only by its pair (M1 d)."""

    voters: "Voters"

    @property
    def replicas(self) -> tuple[Replica, ...]:
        """The ids of the voters, in order."""
        return tuple(replica for replica, _ in self.voters)

    def instance_of(self, replica: Replica) -> Instance | None:
        """Which directory is that voter; None when the id is no voter."""
        return next((instance for each, instance in self.voters if each == replica), None)

    def names(self, replica: Replica, instance: Instance | None) -> bool:
        """Is this very pair a voter? Another directory under the same id is a stranger."""
        return (replica, instance) in self.voters

    def without(self, replica: Replica) -> "Configuration":
        """One voter less."""
        return Configuration(tuple(each for each in self.voters if each[0] != replica))

    def with_(self, replica: Replica, instance: Instance) -> "Configuration":
        """One voter more."""
        return Configuration(tuple(sorted((*self.voters, (replica, instance)))))

    def __str__(self) -> str:
        return "{" + ", ".join(f"{int(replica)}" for replica in self.replicas) + "}"


Voters = tuple[tuple[Replica, Instance], ...]


class Codec(Protocol):
    """How a configuration is written in the body of a transaction: rows of `_cluster`."""

    def encode(self, voters: Voters, *, before: Voters) -> bytes:
        """The body of the transaction that makes `voters` of `before`."""

    def decode(self, body: bytes) -> Voters:
        """All voters, by a body. Raises Damaged."""


def is_named(config: CoreConfig, configuration: Configuration | None) -> bool:
    """Is this very directory a voter?"""
    return configuration is not None and configuration.names(config.me, config.instance)


def all_of(voters: Iterable[Replica], instance: Instance = ONE_INSTANCE) -> Configuration:
    """A founding configuration in which directories are not told apart (simulation, tests)."""
    return Configuration(tuple(sorted((each, instance) for each in voters)))


@dataclass(slots=True)
class _Change:
    index: Index
    configuration: Configuration
    taken_back_by: Index | None = None
    """The ROLLBACK that covers it."""


class Configurations:
    """Which configuration is in force, by the log alone (membership.md M1 b, M3 a).

    An entry counts from where it is appended, confirmed or not, and when it is cut the one before
    it is in force again. A ROLLBACK takes it back from where the ROLLBACK is appended, not from
    where that is confirmed: what a node knows as confirmed is not in its log, so two nodes with
    one log would use two configurations (M3 c).
    """

    def __init__(self, founding: Configuration | None, codec: Codec) -> None:
        self.codec = codec
        self.followed = founding
        """What the node counts by; set where the log is followed."""
        self._founding = founding
        self._changes: list[_Change] = []

    def standing(self) -> Iterator[tuple[Index, Configuration]]:
        """The changes in the log that no ROLLBACK covers, oldest first."""
        for each in self._changes:
            if each.taken_back_by is None:
                yield each.index, each.configuration

    @property
    def in_force(self) -> Configuration | None:
        """What everything is counted by now; None on an empty log that was not founded (M1 c)."""
        for change in reversed(self._changes):
            if change.taken_back_by is None:
                return change.configuration
        return self._founding

    @property
    def last_decisive(self) -> Index:
        """What must be confirmed before the next change (M2 b); 0 before the first change.

        The last change, or the ROLLBACK of it: that the queue is empty is not enough.
        """
        if not self._changes:
            return Index(0)
        last = self._changes[-1]
        return last.index if last.taken_back_by is None else last.taken_back_by

    def names(self, replica: Replica, instance: Instance | None) -> bool:
        """Does the configuration that is followed name this very pair (membership.md M1 d)?"""
        return self.followed is not None and self.followed.names(replica, instance)

    def before(self, index: Index) -> Configuration | None:
        """What was in force just before the change at `index`."""
        for change in reversed(self._changes):
            if change.index < index and change.taken_back_by is None:
                return change.configuration
        return self._founding

    def took(self, entry: Entry, log: LogIndex) -> None:
        """The entry is in the log from now on; what it does to the configuration, once."""
        if entry.flags & CONFIG:
            self._appended(entry)
        elif entry.kind == EntryKind.ROLLBACK:
            ref = read_ref(entry)
            first = log.index_of(ref.owner, ref.lsn)
            if first:
                self._rolled_back(first, entry.index)

    def _appended(self, entry: Entry) -> None:
        voters = self.codec.decode(entry.raw[HEADER_SIZE:])
        self._changes.append(_Change(entry.index, Configuration(voters)))

    def _rolled_back(self, first: Index, record: Index) -> None:
        for change in self._changes:
            if change.index >= first and change.taken_back_by is None:
                change.taken_back_by = record

    def cut(self, above: Index) -> None:
        """The log ends at `above` now: changes above are gone, and so are ROLLBACKs above."""
        self._changes = [each for each in self._changes if each.index <= above]
        for change in self._changes:
            if change.taken_back_by is not None and change.taken_back_by > above:
                change.taken_back_by = None
