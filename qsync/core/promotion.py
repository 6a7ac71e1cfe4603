"""A promotion of this node: its phases, and its end, which always brings an answer.

    phase         it waits for             and goes on, or ends, with
    asking        the leader, which was    told to campaign, timer, that leader gone or out of
                  asked to hand over       reach: campaigning; another leader, this node may not
                                           lead any more: refused
    campaigning   votes                    elected: opening; given up, another leader, this node
                                           may not lead any more: refused
    opening       its PROMOTE; or that a   takes writes: done; deposed: refused
                  hand-over fails

The first two are bounded by timers: `promotion`, and the election's own (see
`PROMOTE_TIMEOUTS_MAX`). The third lasts as long as the quorum is away: the caller is answered by
the node that it goes on (protocol.md section 6: it only ever waits and confirms).
"""

from dataclasses import dataclass
from enum import StrEnum

from election.messages import Replica, Term
from election.raft import Raft
from election.roles import ElectionMode
from qsync.core.leader import Leader
from qsync.core.messages import TransferLeadership
from qsync.core.ready import Ticket, TimerKind
from qsync.core.replica_state import ReplicaState
from qsync.core.stopping import Demotion, LeadershipTransfer


class PromotionPhase(StrEnum):
    """The phases of a promotion."""

    ASKING = "asking"
    CAMPAIGNING = "campaigning"
    OPENING = "opening"


@dataclass(slots=True, kw_only=True)
class Promotion:
    """One promotion; `tickets`: all that asked for it. `term`: in which the leader was asked."""

    tickets: list[Ticket]
    phase: PromotionPhase
    term: Term


class Promotions:
    """The one promotion of this node that is under way, if any."""

    def __init__(self, state: ReplicaState) -> None:
        self._state = state
        self.current: Promotion | None = None
        state.on_deposed.append(self.deposed)

    def promote(self, ticket: Ticket) -> None:
        """Begin to lead: by a switchover when another node leads, by an election otherwise."""
        state, raft = self._state, self._state.raft
        leader = state.leader
        if leader is not None and leader.open:
            state.answer(ticket)
            return
        if leader is not None and isinstance(leader.stopping, Demotion):
            state.answer(ticket, "this node has just been demoted; promote it when that is over")
            return
        refused = self.may_lead()
        if refused is not None:
            state.answer(ticket, refused)
            return
        if self.current is not None:
            self.current.tickets.append(ticket)
            return
        phase = PromotionPhase.CAMPAIGNING if leader is None else PromotionPhase.OPENING
        self.current = Promotion(tickets=[ticket], phase=phase, term=state.term)
        if leader is not None or raft.campaign.promoting:
            return
        if raft.leader is not None and raft.leader != state.config.me:
            self.current.phase = PromotionPhase.ASKING
            ask = TransferLeadership(term=state.term, candidate=state.config.me)
            state.out.send(raft.leader, ask)
            state.out.arm(TimerKind.PROMOTION, state.config.election_timeout)
        else:
            self._campaign(self.current)

    def may_lead(self) -> str | None:
        """Return why this node may not be promoted; None if it may."""
        state = self._state
        if state.config.mode is ElectionMode.VOTER:
            return "election mode is voter: this node never leads"
        if not state.raft.electorate.may_lead:
            return "this node is no voter: the configuration does not name its directory"
        if not state.raft.ballot.member:
            return "this node has not caught up since its log was damaged"
        if state.follower.split is not None:
            return f"split brain: {state.follower.split}"
        return None

    def advance(self) -> None:
        """Go on with what has happened. Called for every batch."""
        promotion, raft, leader = self.current, self._state.raft, self._state.leader
        if promotion is None:
            return
        if leader is not None:
            self._enter(promotion, PromotionPhase.OPENING)
            if leader.open:
                self._over(None)
        elif promotion.phase is not PromotionPhase.ASKING or raft.campaign.promoting:
            self._enter(promotion, PromotionPhase.CAMPAIGNING)
            if not raft.campaign.promoting:
                self._over(self.may_lead() or _lost(raft))
        elif (refused := self.may_lead()) is not None:
            self._over(refused)
        elif raft.leader is None:
            # That leader says so itself that it leads no more, or is dead. Not so when another
            # term has begun: its candidate may win, and then its messages name it as leader.
            if raft.term == promotion.term:
                self._campaign(promotion)
        elif raft.term != promotion.term:
            self._over(_lost(raft))

    def timer(self) -> None:
        """Go on without the leader, which did not hand over in time."""
        if self._is_asking and self.current is not None and self._state.leader is None:
            self._state.out.add_event("hand_over_refused", leader=self._state.raft.leader)
            self._campaign(self.current)

    def out_of_reach(self, peer: Replica) -> None:
        """Go on without the leader that was asked: our connection to it is gone."""
        if self._is_asking and self._state.raft.leader == peer:
            self.timer()

    def deposed(self, leader: Leader) -> None:
        """End every promotion: our leadership has ended."""
        going = leader.stopping
        if isinstance(going, LeadershipTransfer):
            why = f"this node has handed the leadership over to node {going.to}"
        else:
            why = "this node won and stopped leading before its PROMOTE was confirmed"
        self._over(self.may_lead() or why)

    @property
    def _is_asking(self) -> bool:
        return self.current is not None and self.current.phase is PromotionPhase.ASKING

    def _enter(self, promotion: Promotion, phase: PromotionPhase) -> None:
        assert promotion is self.current
        assert phase is not PromotionPhase.ASKING
        if promotion.phase is PromotionPhase.ASKING:
            self._state.out.disarm(TimerKind.PROMOTION)
        promotion.phase = phase

    def _campaign(self, promotion: Promotion) -> None:
        self._enter(promotion, PromotionPhase.CAMPAIGNING)
        refused = self._state.campaign()
        if refused is not None:
            self._over(refused)

    def _over(self, refused: str | None) -> None:
        """End the promotion: answer every ticket, and disarm the timer."""
        promotion = self.current
        if promotion is None:
            return
        self.current = None
        if promotion.phase is PromotionPhase.ASKING:
            self._state.out.disarm(TimerKind.PROMOTION)
        for ticket in promotion.tickets:
            self._state.answer(ticket, refused)


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
        f"{last.granted()} of {len(raft.electorate.voters)} voters said yes in term {last.term}, "
        f"{raft.electorate.quorum} are needed ({', '.join(said)})"
    )
