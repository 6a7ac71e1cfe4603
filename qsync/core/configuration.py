"""The members of the cluster and its voters, as a fold over the log."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from election.messages import Index, Replica
from qsync.core.config import CoreConfig
from qsync.core.logindex import LogIndex
from qsync.member import Member, MemberRole, Members, Standing
from qsync.record import CONFIG, HEADER_SIZE, ONE_INSTANCE, Entry, EntryKind, Instance, read_ref


@dataclass(frozen=True, slots=True)
class Configuration:
    """The members (membership.md M1). A node is one only by its pair of id and instance (M1 d).

    Everything is counted by the voters alone. A learner receives what they receive.
    """

    members: Members

    @property
    def voters(self) -> "Voters":
        """The pairs that count, in the order of their ids."""
        return tuple((each.replica, each.instance) for each in self.members if each.votes)

    @property
    def replicas(self) -> tuple[Replica, ...]:
        """The ids of the voters, in order."""
        return tuple(each.replica for each in self.members if each.votes)

    def member(self, replica: Replica) -> Member | None:
        """The member with that id, voter or learner."""
        return next((each for each in self.members if each.replica == replica), None)

    def role_of(self, replica: Replica, instance: Instance | None) -> MemberRole | None:
        """Return the role of this very pair; None for a stranger, even with the id of a member."""
        known = self.member(replica)
        return known.role if known is not None and known.instance == instance else None

    def names(self, replica: Replica, instance: Instance | None) -> bool:
        """Return whether this very pair is a voter; another directory with its id is a stranger."""
        return self.role_of(replica, instance) is MemberRole.VOTER

    def rank(self, replica: Replica, preferred: tuple[str, ...]) -> int:
        """Return its rank among the preferred, given by id or name; members not named come last."""
        member = self.member(replica)
        known = {str(int(replica)), member.name if member is not None else ""}
        places = (place for place, name in enumerate(preferred) if name in known)
        return next(places, len(preferred))

    def without(self, replica: Replica) -> "Configuration":
        """Return the configuration without that member."""
        return Configuration(tuple(each for each in self.members if each.replica != replica))

    def with_(self, member: Member) -> "Configuration":
        """Return the configuration with that member in place of the one that had its id."""
        others = self.without(member.replica).members
        return Configuration(tuple(sorted((*others, member), key=_by_id)))

    def __str__(self) -> str:
        return "{" + ", ".join(map(_shown, self.members)) + "}"


Voters = tuple[tuple[Replica, Instance], ...]


def _by_id(member: Member) -> int:
    return member.replica


def _kept(known: "Configurations", upto: Index | None = None) -> list[Configuration]:
    """Return all of a log up to there, the founding one first, without those taken back."""
    found = [each for index, each in known.standing() if upto is None or index <= upto]
    return found if known.founding is None else [known.founding, *found]


def _places(configurations: Iterable[Configuration]) -> dict[Replica, Instance]:
    """Return the members of these, the last of each id."""
    return {each.replica: each.instance for known in configurations for each in known.members}


def _shown(member: Member) -> str:
    return f"{int(member.replica)}" if member.votes else f"{int(member.replica)} {member.role}"


class Codec(Protocol):
    """Encodes a configuration as the body of a transaction: rows of `_cluster`."""

    def encode(self, members: Members, *, before: Members) -> bytes:
        """The body of the transaction that makes `members` of `before`."""

    def decode(self, body: bytes) -> Members:
        """All members, by a body. Raises Damaged."""


def is_named(config: CoreConfig, configuration: Configuration | None) -> bool:
    """Return whether this very directory is a voter."""
    return configuration is not None and configuration.names(config.me, config.instance)


def all_of(voters: Iterable[Replica], instance: Instance = ONE_INSTANCE) -> Configuration:
    """A founding configuration in which directories are not told apart (simulation, tests)."""
    return Configuration(tuple(Member(each, instance) for each in sorted(voters)))


def configuration_of(body: bytes, codec: Codec) -> Configuration | None:
    """Return the configuration in a body of `body_at`; None for no body. Raises Damaged."""
    return Configuration(codec.decode(body)) if body else None


@dataclass(slots=True)
class _Change:
    index: Index
    configuration: Configuration
    taken_back_by: Index | None = None
    """The ROLLBACK that covers it."""


class Configurations:
    """The configuration in force, by the log alone (membership.md M1 b, M3 a).

    An entry counts from where it is appended, confirmed or not, and when it is cut the one before
    it is in force again. A ROLLBACK takes it back from where the ROLLBACK is appended, not from
    where that is confirmed: what a node knows as confirmed is not in its log, so two nodes with
    one log would use two configurations (M3 c).
    """

    def __init__(self, founding: Configuration | None, codec: Codec) -> None:
        self.codec = codec
        self.followed = founding
        """The configuration in use; set where the log is followed."""
        self.leaves = False
        """The one followed leaves this directory out; that it is confirmed is to be written."""
        self._founding = founding
        self._changes: list[_Change] = []
        self._earlier: dict[Replica, Instance] = {}
        """Members by changes that this log had and that were not taken back: who was removed knows
        it when it begins later. The last of each id, as far as this process had them."""

    @property
    def founding(self) -> Configuration | None:
        """The founding configuration of the directory; None for a stranger."""
        return self._founding

    def standing(self) -> Iterator[tuple[Index, Configuration]]:
        """The changes in the log that no ROLLBACK covers, oldest first."""
        for each in self._changes:
            if each.taken_back_by is None:
                yield each.index, each.configuration

    @property
    def in_force(self) -> Configuration | None:
        """The configuration in force; None on an empty log that was not founded (M1 c)."""
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
        """Return whether this very pair is a voter of the one in force (membership.md M1 d)."""
        return self.followed is not None and self.followed.names(replica, instance)

    def role_of(self, replica: Replica, instance: Instance | None) -> MemberRole | None:
        """Return the role of this very pair in the configuration in force; None for a stranger."""
        return None if self.followed is None else self.followed.role_of(replica, instance)

    def taken_back(self, index: Index) -> Index | None:
        """Return the ROLLBACK in the log that covers the change at `index`."""
        return next((each.taken_back_by for each in self._changes if each.index == index), None)

    def changed_at(self) -> Index:
        """The index of the configuration in force in the log; 0 for the founding one."""
        return max((index for index, _ in self.standing()), default=Index(0))

    def is_outgoing(self, config: CoreConfig, confirmed: Index) -> bool:
        """Return whether this directory was a voter before an unconfirmed change (M4 d)."""
        at = self.changed_at()
        former = self.before(at)
        return at > confirmed and not is_named(config, self.followed) and is_named(config, former)

    def standing_of(self, config: CoreConfig, confirmed: Index) -> Standing:
        """Return the standing of this very directory in the cluster, by its own log."""
        role = self.role_of(config.me, config.instance)
        if role is not None:
            return Standing(role.value)
        outside = Standing.ANONYMOUS if config.anon else Standing.STRANGER
        if self.followed is None:
            return outside
        if self.followed.member(config.me) is not None:
            return Standing.STRANGER  # another directory has the place
        if not self.is_former(config.me, config.instance):
            return outside
        # Who was a member is not anonymous again, also while its removal may be taken back.
        return Standing.REMOVED if self.changed_at() <= confirmed else Standing.STRANGER

    def is_former(self, replica: Replica, instance: Instance | None) -> bool:
        """Return whether this very pair was a member and is none, as far as this log knows."""
        if self.role_of(replica, instance) is not None:
            return False
        if instance is not None and self._earlier.get(replica) == instance:
            return True
        return any(each.role_of(replica, instance) for each in _kept(self))

    def has_removed(self, replica: Replica, confirmed: Index) -> bool:
        """Return whether it was a member and is none, by what is confirmed (membership.md M4 d).

        By this log alone, which does not know who was removed before it begins.
        """
        now = self.followed
        if now is None or now.member(replica) is not None or self.changed_at() > confirmed:
            return False
        return any(each.member(replica) for each in _kept(self))

    def before(self, index: Index) -> Configuration | None:
        """Return the configuration in force just before the change at `index`."""
        for change in reversed(self._changes):
            if change.index < index and change.taken_back_by is None:
                return change.configuration
        return self._founding

    def body_at(self, index: Index) -> bytes:
        """Return what was in force at an entry, by the log up to there; empty for none.

        As the body of a transaction that makes it. `index` is in no rolled-back stretch.
        """
        found = self._founding
        for change in self._changes:
            back = change.taken_back_by
            if change.index <= index and (back is None or back > index):
                found = change.configuration
        return b"" if found is None else self.codec.encode(found.members, before=found.members)

    def took(self, entry: Entry, log: LogIndex) -> None:
        """Follow an entry that was appended; its effect on the configuration counts once."""
        if entry.flags & CONFIG:
            self._appended(entry)
        elif entry.kind == EntryKind.ROLLBACK:
            ref = read_ref(entry)
            first = log.index_of(ref.owner, ref.lsn)
            if first:
                self._rolled_back(first, entry.index)

    def _appended(self, entry: Entry) -> None:
        members = self.codec.decode(entry.raw[HEADER_SIZE:])
        self._changes.append(_Change(entry.index, Configuration(members)))

    def _rolled_back(self, first: Index, record: Index) -> None:
        for change in self._changes:
            if change.index >= first and change.taken_back_by is None:
                change.taken_back_by = record

    def trim(self, upto: Index) -> None:
        """Forget what is before `upto`, where the log begins now; the fold begins there."""
        self._earlier |= _places(_kept(self, upto))
        kept = list[_Change]()
        for change in self._changes:
            if change.index > upto:
                kept.append(change)
            elif change.taken_back_by is None or change.taken_back_by > upto:
                self._founding = change.configuration
        self._changes = kept

    def begin_at(self, body: bytes) -> None:
        """Begin at a snapshot, with the configuration in force there (membership.md M6 a)."""
        self._earlier |= _places(_kept(self))
        self._founding = configuration_of(body, self.codec)
        self._changes = []

    def cut(self, above: Index) -> None:
        """Cut the log at `above`: changes and ROLLBACKs above are gone."""
        self._changes = [each for each in self._changes if each.index <= above]
        for change in self._changes:
            if change.taken_back_by is not None and change.taken_back_by > above:
                change.taken_back_by = None
