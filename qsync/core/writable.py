"""The reasons why this node may not write now, each with a name that people can look up."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from qsync.core.stopping import GivingUp, LeadershipTransfer, Stopping

if TYPE_CHECKING:
    from qsync.core.disk import DiskState
    from qsync.core.machine import Machine


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
    SPLIT_BRAIN = "split_brain"
    QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One reason: its name, the numbers behind it, and what lifts it."""

    why: ReadOnlyReason
    text: str
    lifts: str


def election(*, leader: int | None, term: int) -> Reason:
    """Another node leads, or nobody."""
    who = f"node {leader} leads" if leader else "nobody leads"
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
        lifts="a quorum of voters acks it",
    )


def fenced(*, term: int) -> Reason:
    """The leader does not hear a quorum."""
    return Reason(
        why=ReadOnlyReason.FENCED,
        text=f"this node led term {term} and no longer hears a quorum",
        lifts="a quorum of voters is heard again and elects a leader",
    )


def transfer(*, to: int, leaving: bool) -> Reason:
    """A planned switchover is under way."""
    then = "another is tried, or elected" if leaving else "this node leads on"
    return Reason(
        why=ReadOnlyReason.TRANSFER,
        text=f"leadership is being handed to node {to}",
        lifts=f"it takes over; if it does not in time, {then}",
    )


def disk(*, error: str) -> Reason:
    """The log cannot be written."""
    return Reason(
        why=ReadOnlyReason.DISK,
        text=f"the log cannot be written: {error}",
        lifts="the disk takes writes again",
    )


def spaces(*, why: str) -> Reason:
    """The rows on disk cannot be trusted."""
    return Reason(
        why=ReadOnlyReason.SPACES,
        text=f"the spaces are made anew from the log: {why}",
        lifts="all of the log is replayed",
    )


CONFIG = Reason(why=ReadOnlyReason.CONFIG, text="read_only is set", lifts="set read_only to false")
DEMOTED = Reason(
    why=ReadOnlyReason.DEMOTED,
    text="a demote is giving the limbo up",
    lifts="it is done; then promote this or another node",
)
UNFOUNDED = Reason(
    why=ReadOnlyReason.STRANGER,
    text="this directory is new and has no configuration: it belongs to no cluster yet",
    lifts="a leader of the cluster names it (`qsync member replace`); or found a new cluster",
)


def stranger(*, me: int) -> Reason:
    """The configuration names another directory under this id, or none."""
    return Reason(
        why=ReadOnlyReason.STRANGER,
        text=f"the configuration does not name this directory as voter {me}",
        lifts=f"the leader gives it the place: `qsync member replace {me}`",
    )


def split_brain(*, text: str) -> Reason:
    """Confirmed data differs from the leader's."""
    return Reason(
        why=ReadOnlyReason.SPLIT_BRAIN, text=text, lifts="rebuild this node or the other by hand"
    )


def quarantine(*, text: str) -> Reason:
    """Damage at or below what was acked."""
    return Reason(why=ReadOnlyReason.QUARANTINE, text=text, lifts="it has caught up with a leader")


def reasons_of(machine: "Machine") -> Iterator[Reason]:
    """All that keeps this node from writing, the weightiest first."""
    if machine.config.read_only:
        yield CONFIG
    yield from _standing(machine)
    if machine.follower.split is not None:
        yield split_brain(text=str(machine.follower.split))
    yield from _of_the_disk(machine.disk)
    leader = machine.leader
    if leader is None:
        if machine.raft.state.fenced:
            yield fenced(term=machine.term)
        yield election(leader=machine.raft.leader, term=machine.term)
        return
    if not leader.established:
        yield synchro(promoted_at=leader.promoted_at, confirmed=machine.ledger.confirmed)
    if leader.stopping is not None:
        yield _stops(leader.stopping)


def _stops(stopping: Stopping) -> Reason:
    match stopping:
        case LeadershipTransfer(to=to, leaving=leaving):
            return transfer(to=to, leaving=bool(leaving))
        case GivingUp():
            return DEMOTED
        case _:
            assert_never(stopping)


def _standing(machine: "Machine") -> Iterator[Reason]:
    """Why this node counts for nothing now, whoever leads."""
    if not machine.raft.electorate.named:
        founded = machine.ledger.configurations.followed is not None
        yield stranger(me=machine.config.me) if founded else UNFOUNDED
    if not machine.raft.ballot.member:
        yield quarantine(text=machine.disk.quarantined or "the log was damaged in a former life")


def _of_the_disk(found: "DiskState") -> Iterator[Reason]:
    if found.error is not None:
        yield disk(error=found.error)
    if found.lost is not None:
        yield spaces(why=found.lost)
