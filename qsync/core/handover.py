"""A leader stops in favour of another node: an operator demoted it, or promoted the other one.

Or it must not lead any more: its mode is another, its disk fails, its process is about to end
(`leave`). It takes no transactions from the beginning on. How it ends:

                                       asked for                   leaving
    the successor is elected           done                        done
    deposed otherwise                  done: it leads no more      done
    timer, connection to it lost       refused, leads on           the next one; without one
                                                                   it resigns, and says so to all
    it must not lead any more          goes on as a leaving

Two timers, one at a time: `hand_over` until the successor was told to campaign, then the election's
own `transfer`. Nothing is appended between the telling and the end, and with the telling the lease
of the term is over for good (membership.md M11 f).
"""

from collections.abc import Collection
from typing import TYPE_CHECKING

from election.messages import Replica
from qsync.core.leader import Leader
from qsync.core.messages import MemberState
from qsync.core.ready import Ticket, TimerKind
from qsync.core.stopping import GivingUp, LeadershipTransfer

if TYPE_CHECKING:
    from qsync.core.machine import Machine


def begin(
    machine: "Machine", leader: Leader, to: Replica, *, patience: float | None = None
) -> LeadershipTransfer:
    """Stop writing and bring `to` to our last entry."""
    assert leader.stopping is None
    patience = machine.config.election_timeout if patience is None else patience
    leader.stopping = going = LeadershipTransfer(to=to, patience=patience)
    machine.out.note("handing_over", to=to)
    machine.out.arm(TimerKind.HAND_OVER, going.patience)
    return going


def asked(machine: "Machine", leader: Leader, candidate: Replica) -> None:
    """A follower was told to lead. If we cannot reach it, it asks the others after a while."""
    progress = leader.followers.get(candidate)
    if progress is not None and progress.connected and leader.stopping is None:
        begin(machine, leader, candidate)


def advance(machine: "Machine", leader: Leader, going: LeadershipTransfer) -> None:
    """Called for every batch: tell the successor as soon as it has our whole log."""
    if going.told:
        if machine.raft.transfer.target is None:
            _failed(machine, leader, going, "did not take over in time")
        return
    progress = leader.followers.get(going.to)
    if progress is None or going.to not in machine.raft.electorate.voters:
        _failed(machine, leader, going, "is not a voter any more")
        return
    # Who leaves does not wait for a quorum to ack its PROMOTE: its own log is all there is to hand.
    if progress.match == machine.ledger.log.last and (leader.established or going.leaving):
        going.told = True
        machine.out.disarm(TimerKind.HAND_OVER)
        machine.raft.transfer.begin(going.to, within=going.patience)


def timer(machine: "Machine", leader: Leader, going: LeadershipTransfer) -> None:
    """The successor did not come up to our last entry in time."""
    if not going.told:
        _failed(machine, leader, going, "did not take over in time")


def out_of_reach(machine: "Machine", peer: Replica) -> None:
    """Our connection to a peer is gone: a successor hears nothing from us any more."""
    leader = machine.leader
    if leader is None:
        return
    going = leader.stopping
    if isinstance(going, LeadershipTransfer) and going.to == peer:
        _failed(machine, leader, going, "is not connected any more")


def _failed(machine: "Machine", leader: Leader, going: LeadershipTransfer, why: str) -> None:
    machine.out.note("hand_over_failed", to=going.to)
    machine.out.disarm(TimerKind.HAND_OVER)
    machine.raft.transfer.cancel()
    leader.stopping = None
    for ticket in going.tickets:
        machine.answer(ticket, f"node {going.to} {why}")
    if going.leaving:
        _leave_to_next(machine, leader, going.leaving, going.tried)


# -- who must not lead any more


def leave(machine: "Machine", why: str, *, brings: bool = True) -> None:
    """Hand over to the best successor, or resign. Begun once, however often it is asked for.

    One that `brings` nobody anything any more can hand over to who has its whole log.
    """
    leader = machine.leader
    if leader is None:
        return
    going = leader.stopping
    if going is None:
        machine.out.note("leaving", why=why)
        if not brings and not _is_whole_elsewhere(machine, leader):
            _resign(machine, why)
            return
        _leave_to_next(machine, leader, why, frozenset())
    elif isinstance(going, GivingUp):
        _resign(machine, why)
    elif not going.leaving:
        machine.out.note("leaving", why=why)
        going.leaving, going.tried = why, frozenset({going.to})


def _leave_to_next(machine: "Machine", leader: Leader, why: str, tried: frozenset[Replica]) -> None:
    to = successor(machine, leader, but=tried)
    if to is None:
        _resign(machine, why)
        return
    # Nothing can be written meanwhile, and there are others: not as patient as with an operator.
    patience = min(machine.config.replication_timeout, machine.config.election_timeout)
    going = begin(machine, leader, to, patience=patience)
    going.leaving, going.tried = why, tried | {to}


def _is_whole_elsewhere(machine: "Machine", leader: Leader) -> bool:
    to = successor(machine, leader)
    return to is not None and leader.followers[to].match == machine.ledger.log.last


def _resign(machine: "Machine", why: str) -> None:
    machine.raft.transfer.resign(why)
    machine.follow_raft()


# -- who may lead


def successor(
    machine: "Machine", leader: Leader, *, but: Collection[Replica] = ()
) -> Replica | None:
    """The best: able and willing by itself, and furthest."""
    able = [
        each
        for each in leader.followers.values()
        if leader.standings.get(each.peer) is MemberState.CANDIDATE
        and each.peer not in but
        and unfit(machine, leader, each.peer) is None
    ]
    return max(able, key=lambda each: (each.match, -each.peer)).peer if able else None


def unfit(machine: "Machine", leader: Leader, peer: Replica) -> str | None:
    """What is known against handing the leadership to that node; None if nothing is."""
    progress = leader.followers.get(peer)
    if progress is None:
        return f"node {peer} is not another voter of this cluster"
    if not progress.connected:
        return f"node {peer} is not connected"
    silent = machine.ledger.now - progress.heard_at
    standing = leader.standings.get(peer)
    if silent > machine.config.disconnect_timeout:
        return f"node {peer} has not been heard lately"
    if standing is MemberState.VOTER:
        return f"the election mode of node {peer} is voter: it never leads"
    if standing is MemberState.UNWELL:
        return f"node {peer} cannot write its log"
    if progress not in leader.counted():
        return f"node {peer} does not count in a quorum yet: it has not caught up"
    return None


def demote(machine: "Machine", leader: Leader, ticket: Ticket, to: Replica) -> None:
    """An operator wants another node to lead."""
    refused = unfit(machine, leader, to)
    if refused is not None:
        machine.answer(ticket, refused)
    else:
        begin(machine, leader, to).tickets.append(ticket)
