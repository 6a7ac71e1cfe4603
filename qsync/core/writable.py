"""The reasons why this node may not write now, each with a name that people can look up."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from qsync.core import superseding
from qsync.core.disk import DiskState
from qsync.core.replica_state import ReplicaState
from qsync.core.stopping import Demotion, LeadershipTransfer, Stopping
from qsync.member import Standing


class ReadOnlyReason(StrEnum):
    """Tarantool's `ro_reason` where it has one; the others are ours."""

    CONFIG = "config"
    ELECTION = "election"
    SYNCHRO = "synchro"
    FENCED = "fenced"
    TRANSFER = "transfer"
    DEMOTED = "demoted"
    DISK = "disk"
    SPACES = "spaces"
    STRANGER = "stranger"
    LEARNER = "learner"
    ANONYMOUS = "anonymous"
    REMOVED = "removed"
    SPLIT_BRAIN = "split_brain"
    SUPERSEDED = "superseded"
    QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One reason: its name, the numbers behind it, and what to do or wait for (`lifts`)."""

    why: ReadOnlyReason
    text: str
    lifts: str


def election(*, leader: int | None, term: int) -> Reason:
    """Another node leads, or none."""
    who = f"node {leader} leads" if leader else "no leader"
    return Reason(
        why=ReadOnlyReason.ELECTION,
        text=f"{who} in term {term}",
        lifts="write to the leader" if leader else "wait for an election, or promote a node",
    )


def synchro(*, promoted_at: int, confirmed: int) -> Reason:
    """The own PROMOTE is not on a quorum yet."""
    return Reason(
        why=ReadOnlyReason.SYNCHRO,
        text=f"the PROMOTE at {promoted_at} is not confirmed (confirmed index {confirmed})",
        lifts="wait until a quorum of voters acks it",
    )


def fenced(*, term: int) -> Reason:
    """The leader does not hear a quorum."""
    return Reason(
        why=ReadOnlyReason.FENCED,
        text=f"this node led term {term} and no longer hears a quorum",
        lifts="wait until a quorum of voters is heard again and elects a leader",
    )


def transfer(*, to: int, leaving: bool) -> Reason:
    """A planned switchover is under way."""
    then = "another is tried, or elected" if leaving else "this node leads on"
    return Reason(
        why=ReadOnlyReason.TRANSFER,
        text=f"leadership is being handed to node {to}",
        lifts=f"wait until it takes over; if it does not in time, {then}",
    )


def disk(*, error: str) -> Reason:
    """The log cannot be written."""
    return Reason(
        why=ReadOnlyReason.DISK,
        text=f"the log cannot be written: {error}",
        lifts="wait until the disk takes writes again",
    )


def spaces(*, why: str) -> Reason:
    """The rows on disk cannot be trusted."""
    return Reason(
        why=ReadOnlyReason.SPACES,
        text=f"the spaces are rebuilt from the log: {why}",
        lifts="wait until all of the log is replayed",
    )


CONFIG = Reason(why=ReadOnlyReason.CONFIG, text="read_only is set", lifts="set read_only to false")
DEMOTED = Reason(
    why=ReadOnlyReason.DEMOTED,
    text="a demote is giving the limbo up",
    lifts="wait until it is done; then promote this or another node",
)
UNFOUNDED = Reason(
    why=ReadOnlyReason.STRANGER,
    text="this directory is new and has no configuration: it belongs to no cluster yet",
    lifts="give it its place with `qsync member replace`, or found a new cluster",
)


def stranger(*, me: int) -> Reason:
    """The configuration names another directory under this id, or none."""
    return Reason(
        why=ReadOnlyReason.STRANGER,
        text=f"the configuration does not name this directory as voter {me}",
        lifts=f"give it the place: `qsync member replace {me}`",
    )


LEARNER = Reason(
    why=ReadOnlyReason.LEARNER,
    text="this node is a learner: it receives everything and counts nowhere",
    lifts="make it a voter with `qsync member set-role`",
)
ANONYMOUS = Reason(
    why=ReadOnlyReason.ANONYMOUS,
    text="this node follows without being a member of the cluster",
    lifts="make it a member with `qsync member add`",
)
REMOVED = Reason(
    why=ReadOnlyReason.REMOVED,
    text="this node was removed from the cluster",
    lifts="nothing while it is out: stop it, or make it a member again with `qsync member add`; "
    "an empty directory can follow as a new node or an anonymous one",
)


def removed(*, by: str) -> Reason:
    """A member refuses it. It was away while it was removed, so its own log does not say."""
    return replace(REMOVED, text=f"{REMOVED.text}: {by}")


def of_consequence(reasons: Iterable[Reason]) -> list[Reason]:
    """Return the reasons, without elections where one says that the node is in none any more."""
    found = list(reasons)
    if not {each.why for each in found} & {ReadOnlyReason.REMOVED, ReadOnlyReason.SUPERSEDED}:
        return found
    elections = ReadOnlyReason.ELECTION, ReadOnlyReason.FENCED
    return [each for each in found if each.why not in elections]


def split_brain(*, text: str) -> Reason:
    """Confirmed data differs from the leader's."""
    return Reason(
        why=ReadOnlyReason.SPLIT_BRAIN, text=text, lifts="rebuild this node or the other by hand"
    )


def superseded(*, cluster: str) -> Reason:
    """The node is superseded."""
    return Reason(
        why=ReadOnlyReason.SUPERSEDED,
        text=superseding.refusal(cluster),
        lifts="nothing: stop it, and let an empty directory join that cluster",
    )


def quarantine(*, text: str) -> Reason:
    """Damage at or below what was acked."""
    return Reason(
        why=ReadOnlyReason.QUARANTINE, text=text, lifts="wait until it has caught up with a leader"
    )


class Writable:
    """Whether this node may write, by its role, its configuration and its disk."""

    def __init__(self, state: ReplicaState, disk: DiskState) -> None:
        self._state = state
        self._disk = disk

    def reasons(self) -> list[Reason]:
        """Return why it may not write, the weightiest reason first; empty if it may."""
        state = self._state
        leader = state.leader
        if (
            leader is not None
            and leader.open
            and self._disk.error is None
            and not state.config.read_only
        ):
            return []
        return of_consequence(self._reasons())

    def _reasons(self) -> Iterator[Reason]:
        state = self._state
        if self._disk.superseded is not None:
            yield superseded(cluster=self._disk.superseded)
        if state.config.read_only:
            yield CONFIG
        yield from self._membership()
        if state.follower.split is not None:
            yield split_brain(text=str(state.follower.split))
        if self._disk.error is not None:
            yield disk(error=self._disk.error)
        if self._disk.lost is not None:
            yield spaces(why=self._disk.lost)
        leader = state.leader
        if leader is None:
            if state.raft.state.fenced:
                yield fenced(term=state.term)
            yield election(leader=state.raft.leader, term=state.term)
            return
        if not leader.established:
            yield synchro(promoted_at=leader.promoted_at, confirmed=state.replicated_log.confirmed)
        if leader.stopping is not None:
            yield _stops(leader.stopping)

    def _outside(self) -> Reason:
        state = self._state
        configurations, confirmed = (
            state.replicated_log.configurations,
            state.replicated_log.confirmed,
        )
        match configurations.standing_of(state.config, confirmed):
            case Standing.LEARNER | Standing.JOINING:
                return LEARNER
            case Standing.ANONYMOUS:
                return ANONYMOUS
            case Standing.REMOVED:
                return REMOVED
            case _:
                founded = configurations.followed is not None
                return stranger(me=state.config.me) if founded else UNFOUNDED

    def _membership(self) -> Iterator[Reason]:
        """Return why this node counts for nothing now, under any leader."""
        state = self._state
        if not state.raft.electorate.named:
            yield self._outside()
        if not state.raft.ballot.member:
            why = self._disk.quarantined or "the log was damaged in a former life"
            yield quarantine(text=why)


def _stops(stopping: Stopping) -> Reason:
    match stopping:
        case LeadershipTransfer(to=to, leaving=leaving):
            return transfer(to=to, leaving=bool(leaving))
        case Demotion():
            return DEMOTED
        case _:
            assert_never(stopping)
