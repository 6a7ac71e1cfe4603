"""The changes of the configuration, and the steps of each, one at a time."""

from dataclasses import dataclass, replace
from typing import assert_never

from election.messages import Replica
from election.quorum import Quorum, majority
from qsync.core.configuration import Configuration
from qsync.member import MEMBERS_MAX, Member, MemberRole
from qsync.record import Instance


@dataclass(frozen=True, slots=True, kw_only=True)
class AddMember:
    """Makes a stranger a member."""

    member: Member

    @property
    def replica(self) -> Replica:
        """The replica that it changes."""
        return self.member.replica


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveMember:
    """Removes a member; also the leader itself (membership.md M4 b)."""

    replica: Replica


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRole:
    """Makes a learner a voter, or a voter a learner."""

    replica: Replica
    role: MemberRole


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveMember:
    """Changes the address of a member."""

    replica: Replica
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceMember:
    """Gives the place of a member to the directory that runs under its id now (M5)."""

    replica: Replica


MemberChange = AddMember | RemoveMember | SetRole | MoveMember | ReplaceMember


def next_step(
    configuration: Configuration, change: MemberChange, instance: Instance | None
) -> Configuration | None:
    """Return the next configuration on the way to what is wanted; None: nothing is left to do.

    `instance`: the directory that runs under that id now. One voter at most comes or goes in each
    step (membership.md M1 a). A replacement is two: the old pair out, with the new one in as a
    learner that counts nowhere, then that one a voter (M5 b).
    """
    known = configuration.member(change.replica)
    match change:
        case AddMember():
            after = configuration.with_(change.member)
        case RemoveMember():
            after = configuration.without(change.replica)
        case SetRole():
            assert known is not None
            after = configuration.with_(replace(known, role=change.role))
        case MoveMember():
            assert known is not None
            after = configuration.with_(replace(known, address=change.address))
        case ReplaceMember():
            assert known is not None
            after = configuration.with_(_replaced(known, instance))
        case _:
            assert_never(change)
    return None if after == configuration else after


def _replaced(known: Member, instance: Instance | None) -> Member:
    if instance is not None and known.instance != instance:
        waits = MemberRole.LEARNER if known.role is MemberRole.LEARNER else MemberRole.JOINING
        return replace(known, instance=instance, role=waits)
    return replace(known, role=MemberRole.VOTER) if known.role is MemberRole.JOINING else known


def is_adding_voter(before: Configuration, after: Configuration) -> bool:
    """Return whether a step makes a new voter."""
    return not set(after.voters) <= set(before.voters)


def misfit(
    configuration: Configuration,
    change: MemberChange,
    quorum: Quorum,
    instance: Instance | None,
) -> str | None:
    """Return why the next step must not be made, even if forced (M10 b); None when it may."""
    known = configuration.member(change.replica)
    match change:
        case AddMember():
            wrong = _unfit_newcomer(known, change.member)
        case RemoveMember() | SetRole() | MoveMember() | ReplaceMember():
            wrong = None if known is not None else f"node {change.replica} is no member"
        case _:
            assert_never(change)
    if wrong is not None:
        return wrong
    after = next_step(configuration, change, instance)
    if after is None:
        return None
    voters = len(after.replicas)
    if voters == 0:
        return f"node {change.replica} is the last voter"
    unfit = quorum.misfit(voters)
    return None if unfit is None else f"the quorum {quorum} {unfit}"


def _unfit_newcomer(known: Member | None, member: Member) -> str | None:
    replica = member.replica
    if not 1 <= replica <= MEMBERS_MAX:
        return f"a cluster has at most MEMBERS_MAX {MEMBERS_MAX} members: their ids are 1 to it"
    if known is None or known == member:
        return None
    if known.instance != member.instance:
        return f"node {replica} is a member on another directory: replace it"
    return f"node {replica} is a member already: {known.role} at {known.address or 'no address'}"


def needed(configuration: Configuration, quorum: Quorum) -> int:
    """Return how many of its voters are needed, for a confirm and for an election (M10 a)."""
    voters = len(configuration.replicas)
    return max(quorum.of(voters), majority(voters))
