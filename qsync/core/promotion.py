"""A promotion of this node: what it waits for, and how it ends: always, and with an answer.

    phase         it waits for             and goes on, or ends, with
    asking        the leader, which was    told to campaign, timer, that leader gone or out of
                  asked to hand over       reach: campaigning; another leader, this node may not
                                           lead any more: refused
    campaigning   votes                    elected: opening; given up, another leader, this node
                                           may not lead any more: refused
    opening       its PROMOTE; or that a   takes writes: done; deposed: refused
                  hand-over fails

The first two are bounded by timers: `promotion`, and the election's own (see
`PROMOTE_TIMEOUTS_MAX`). The third lasts as long as the quorum is away: who asked is then told by
the node that it goes on (protocol.md section 6: it only ever waits and confirms).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from election.messages import Replica, Term
from election.raft import Raft
from election.roles import ElectionMode
from qsync.core.leader import Leader
from qsync.core.messages import TransferLeadership
from qsync.core.ready import Ticket, TimerKind
from qsync.core.stopping import GivingUp, LeadershipTransfer

if TYPE_CHECKING:
    from qsync.core.machine import Machine


class PromotionPhase(StrEnum):
    """What a promotion waits for."""

    ASKING = "asking"
    CAMPAIGNING = "campaigning"
    OPENING = "opening"


@dataclass(slots=True, kw_only=True)
class Promotion:
    """One at a time; `tickets` are all who asked for it. `term`: in which the leader was asked."""

    tickets: list[Ticket]
    phase: PromotionPhase
    term: Term


def promote(machine: "Machine", ticket: Ticket) -> None:
    """Lead: a planned switchover when somebody leads, an election otherwise."""
    operations, leader, raft = machine.operations, machine.leader, machine.raft
    if leader is not None and leader.open:
        machine.answer(ticket)
        return
    if leader is not None and isinstance(leader.stopping, GivingUp):
        machine.answer(ticket, "this node has just been demoted; promote it when that is over")
        return
    refused = may_lead(machine)
    if refused is not None:
        machine.answer(ticket, refused)
        return
    if operations.promotion is not None:
        operations.promotion.tickets.append(ticket)
        return
    phase = PromotionPhase.CAMPAIGNING if leader is None else PromotionPhase.OPENING
    operations.promotion = Promotion(tickets=[ticket], phase=phase, term=machine.term)
    if leader is not None or raft.campaign.promoting:
        return
    if raft.leader is not None and raft.leader != machine.config.me:
        operations.promotion.phase = PromotionPhase.ASKING
        machine.out.send(
            raft.leader, TransferLeadership(term=machine.term, candidate=machine.config.me)
        )
        machine.out.arm(TimerKind.PROMOTION, machine.config.election_timeout)
    else:
        _campaign(machine, operations.promotion)


def may_lead(machine: "Machine") -> str | None:
    """Why this node may not be promoted; None if it may."""
    if machine.config.mode is ElectionMode.VOTER:
        return "election mode is voter: this node never leads"
    if not machine.raft.electorate.named:
        return "this node is a stranger: the configuration does not name its directory"
    if not machine.raft.ballot.member:
        return "this node has not caught up since its log was damaged"
    if machine.follower.split is not None:
        return f"split brain: {machine.follower.split}"
    return None


def advance(machine: "Machine") -> None:
    """Called for every batch: a promotion goes on with what has happened."""
    promotion, raft = machine.operations.promotion, machine.raft
    if promotion is None:
        return
    if machine.leader is not None:
        _enter(machine, promotion, PromotionPhase.OPENING)
        if machine.leader.open:
            _over(machine, None)
    elif promotion.phase is not PromotionPhase.ASKING or raft.campaign.promoting:
        _enter(machine, promotion, PromotionPhase.CAMPAIGNING)
        if not raft.campaign.promoting:
            _over(machine, may_lead(machine) or _lost(raft))
    elif (refused := may_lead(machine)) is not None:
        _over(machine, refused)
    elif raft.leader is None:
        # That leader says so itself that it leads no more, or is dead. Not so when another term
        # has begun: its candidate may win, and then we are told who leads.
        if machine.term == promotion.term:
            _campaign(machine, promotion)
    elif machine.term != promotion.term:
        _over(machine, _lost(raft))


def timer(machine: "Machine") -> None:
    """The leader that was asked did not do its part in time."""
    promotion = machine.operations.promotion
    if (
        promotion is not None
        and promotion.phase is PromotionPhase.ASKING
        and machine.leader is None
    ):
        machine.out.note("hand_over_refused", leader=machine.raft.leader)
        _campaign(machine, promotion)


def out_of_reach(machine: "Machine", peer: Replica) -> None:
    """Our connection to a peer is gone: if it is the leader that was asked, no word will come."""
    promotion = machine.operations.promotion
    if (
        promotion is not None
        and promotion.phase is PromotionPhase.ASKING
        and machine.raft.leader == peer
    ):
        timer(machine)


def deposed(machine: "Machine", leader: Leader) -> None:
    """Our leadership ended, and with it every promotion."""
    going = leader.stopping
    if isinstance(going, LeadershipTransfer):
        why = f"this node has handed the leadership over to node {going.to}"
    else:
        why = "this node won and stopped leading before its PROMOTE was confirmed"
    _over(machine, may_lead(machine) or why)


def _enter(machine: "Machine", promotion: Promotion, phase: PromotionPhase) -> None:
    if promotion.phase is PromotionPhase.ASKING:
        machine.out.disarm(TimerKind.PROMOTION)
    promotion.phase = phase


def _campaign(machine: "Machine", promotion: Promotion) -> None:
    _enter(machine, promotion, PromotionPhase.CAMPAIGNING)
    machine.raft.set_last_position(machine.ledger.log.position)
    refused = machine.raft.campaign.promote()
    if refused is not None:
        _over(machine, refused)


def _over(machine: "Machine", refused: str | None) -> None:
    """The only end: everybody who asked is answered, and no timer is left behind."""
    promotion = machine.operations.promotion
    if promotion is None:
        return
    machine.operations.promotion = None
    if promotion.phase is PromotionPhase.ASKING:
        machine.out.disarm(TimerKind.PROMOTION)
    for ticket in promotion.tickets:
        machine.answer(ticket, refused)


def _lost(raft: Raft) -> str:
    if raft.leader is not None:
        return f"node {raft.leader} leads in term {raft.term}"
    asked = [each for each in raft.history if each.candidate == raft.electorate.me and not each.pre]
    if not asked:
        return f"the term is {raft.term} now"
    last, said = asked[-1], []
    for voter in raft.electorate.voters:
        nay = last.answers.get(voter, "no answer")
        if nay is not None:
            said.append(f"node {voter}: {nay}")
    return (
        f"{last.granted()} of {len(raft.electorate.voters)} voters said AYE in term {last.term}, "
        f"{raft.electorate.quorum} are needed ({', '.join(said)})"
    )
