"""The reasons why this node may not write now, each with a name that people can look up."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from qsync.core.stopping import GivingUp, HandOver, Stopping

if TYPE_CHECKING:
    from qsync.core.machine import Machine


class Why(StrEnum):
    """Tarantool's `ro_reason` where it has one; the others are ours."""

    CONFIG = "config"
    ELECTION = "election"
    SYNCHRO = "synchro"
    FENCED = "fenced"
    TRANSFER = "transfer"
    DEMOTED = "demoted"
    DISK = "disk"
    RECRUIT = "recruit"
    SPLIT_BRAIN = "split_brain"
    QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One reason: its name, the numbers behind it, and what lifts it."""

    why: Why
    text: str
    lifts: str


def election(*, leader: int | None, term: int) -> Reason:
    """Another node leads, or nobody."""
    who = f"node {leader} leads" if leader else "nobody leads"
    return Reason(
        why=Why.ELECTION,
        text=f"{who} in term {term}",
        lifts="write to the leader" if leader else "wait for an election, or promote a node",
    )


def synchro(*, promoted_at: int, confirmed: int) -> Reason:
    """The own PROMOTE is not on a quorum yet."""
    return Reason(
        why=Why.SYNCHRO,
        text=f"the PROMOTE at {promoted_at} is not confirmed (confirmed index {confirmed})",
        lifts="a quorum of voters acks it",
    )


def fenced(*, term: int) -> Reason:
    """The leader does not hear a quorum."""
    return Reason(
        why=Why.FENCED,
        text=f"this node led term {term} and no longer hears a quorum",
        lifts="a quorum of voters is heard again and elects a leader",
    )


def transfer(*, to: int) -> Reason:
    """A planned switchover is under way."""
    return Reason(
        why=Why.TRANSFER,
        text=f"leadership is being handed to node {to}",
        lifts="it takes over; if it does not in time, this node leads on",
    )


def disk(*, error: str) -> Reason:
    """The log cannot be written."""
    return Reason(
        why=Why.DISK,
        text=f"the log cannot be written: {error}",
        lifts="the disk takes writes again",
    )


CONFIG = Reason(why=Why.CONFIG, text="read_only is set", lifts="set read_only to false")
DEMOTED = Reason(
    why=Why.DEMOTED,
    text="a demote is giving the limbo up",
    lifts="it is done; then promote this or another node",
)
RECRUIT = Reason(
    why=Why.RECRUIT,
    text="the directory was empty at start and has not caught up with the cluster",
    lifts="it catches up; at bootstrap: all nodes are up and empty",
)


def split_brain(*, text: str) -> Reason:
    """Confirmed data differs from the leader's."""
    return Reason(why=Why.SPLIT_BRAIN, text=text, lifts="rebuild this node or the other by hand")


def quarantine(*, text: str) -> Reason:
    """Damage at or below what was acked."""
    return Reason(why=Why.QUARANTINE, text=text, lifts="it catches up as a recruit")


def reasons_of(machine: "Machine") -> Iterator[Reason]:
    """All that keeps this node from writing, the weightiest first."""
    if machine.config.read_only:
        yield CONFIG
    if not machine.raft.ballot.member:
        text = machine.disk.quarantined
        yield RECRUIT if text is None else quarantine(text=text)
    if machine.follower.split is not None:
        yield split_brain(text=str(machine.follower.split))
    if machine.disk.error is not None:
        yield disk(error=machine.disk.error)
    leader = machine.leader
    if leader is None:
        if machine.raft.fenced:
            yield fenced(term=machine.term)
        yield election(leader=machine.raft.leader, term=machine.term)
        return
    if not leader.established:
        yield synchro(promoted_at=leader.promoted_at, confirmed=machine.ledger.confirmed)
    if leader.stopping is not None:
        yield _stops(leader.stopping)


def _stops(stopping: Stopping) -> Reason:
    match stopping:
        case HandOver(to=to):
            return transfer(to=to)
        case GivingUp():
            return DEMOTED
        case _:
            assert_never(stopping)
