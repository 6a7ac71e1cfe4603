"""A room of electing nodes that share a clock and a wire that can be cut."""

from dataclasses import dataclass, field

from election import describe
from election.fencing import Fencing
from election.messages import (
    Ballot,
    ElectionMessage,
    Index,
    Position,
    RejectReason,
    Replica,
    RequestVote,
    RequestVoteResponse,
    Term,
)
from election.raft import Raft
from election.ready import NOTHING, ElectionReady, ElectionTimer, TimerRequest
from election.roles import ElectionMode, ElectionTiming, Role

A, B, C = Replica(1), Replica(2), Replica(3)
TIMING = ElectionTiming(election_timeout=1.0, disconnect_timeout=0.8, promise=0.4)
MEMBER = Ballot(term=Term(0), vote=None, member=True)
RECRUIT = Ballot(term=Term(0), vote=None, member=False)


def at(term: int, index: int) -> Position:
    return Position(Term(term), Index(index))


def make(
    me: Replica,
    *,
    voters: tuple[Replica, ...] = (A, B, C),
    mode: ElectionMode = ElectionMode.CANDIDATE,
    fencing: Fencing = Fencing.SOFT,
    ballot: Ballot = MEMBER,
    position: Position = at(0, 0),  # noqa: B008 - a frozen value
) -> Raft:
    raft = Raft(
        me=me,
        voters=voters,
        mode=mode,
        quorum=len(voters) // 2 + 1,
        timing=TIMING,
        fencing=fencing,
        ballot=ballot,
        position=position,
    )
    raft.start()
    return raft


@dataclass
class Room:
    """Some nodes, a wire between those that are not `away`, and disks that write at once."""

    nodes: dict[Replica, Raft]
    away: set[Replica] = field(default_factory=set)
    minutes: list[str] = field(default_factory=list)
    timers: dict[tuple[Replica, str], TimerRequest] = field(default_factory=dict)
    now: float = 0.0

    def pump(self) -> None:
        """Write, send and deliver until everybody has said everything."""
        while sum(self._serve(me) for me in self.nodes):
            pass

    def _serve(self, me: Replica) -> bool:
        ready = self.nodes[me].ready()
        for timer in ready.timers:
            self.timers[me, timer.kind] = timer
        if ready.ballot is not None:
            self.nodes[me].ballot_written(ready.ballot)
        for to, message in ready.now + ready.after:
            self.minutes.append(f"{me}>{to} {describe.message(message)}")
            if me not in self.away and to not in self.away:
                self.nodes[to].received(message)
        return ready != NOTHING

    def advance(self, seconds: float) -> None:
        self.now += seconds
        for raft in self.nodes.values():
            raft.clock(self.now)

    def beat(self) -> None:
        """Each leader's heartbeat reaches the others, and their answers reach it."""
        for me, raft in self.nodes.items():
            if raft.role is Role.LEADER and me not in self.away:
                for peer, other in self.nodes.items():
                    if peer != me and peer not in self.away:
                        if other.observe(raft.term, me):
                            raft.heard(peer)
                        else:
                            raft.observe(other.term, None)

    def elect(self, me: Replica) -> Raft:
        """The node's patience ends first, and it wins."""
        self.advance(2.0)
        self.nodes[me].timer("election")
        self.pump()
        self.beat()
        self.pump()
        assert self.nodes[me].role is Role.LEADER, self.minutes
        return self.nodes[me]

    def leaders(self) -> list[Replica]:
        return [me for me, raft in self.nodes.items() if raft.role is Role.LEADER]


def room(*, mode: ElectionMode = ElectionMode.CANDIDATE, fencing: Fencing = Fencing.SOFT) -> Room:
    return Room({me: make(me, mode=mode, fencing=fencing) for me in (A, B, C)})


def ask(
    term: int,
    *,
    candidate: Replica = B,
    position: Position = at(0, 0),  # noqa: B008 - a frozen value
    pre: bool = False,
    transfer: bool = False,
) -> RequestVote:
    return RequestVote(
        term=Term(term), candidate=candidate, position=position, pre=pre, transfer=transfer
    )


def vote(
    term: int, *, voter: Replica, pre: bool = False, nay: RejectReason | None = None
) -> RequestVoteResponse:
    return RequestVoteResponse(
        term=Term(term),
        asked_term=Term(term),
        voter=voter,
        pre=pre,
        granted=nay is None,
        reason=nay,
    )


def answer(raft: Raft, message: ElectionMessage) -> RequestVoteResponse:
    """What the node says to that, once its ballot is durable."""
    raft.received(message)
    ready = raft.ready()
    if ready.ballot is not None:
        raft.ballot_written(ready.ballot)
    votes = [said for _, said in ready.now + ready.after if isinstance(said, RequestVoteResponse)]
    assert len(votes) == 1
    return votes[0]


def drain(raft: Raft) -> ElectionReady:
    """Do what it wants: the ballot becomes durable."""
    ready = raft.ready()
    if ready.ballot is not None:
        raft.ballot_written(ready.ballot)
    return ready


def armed(ready: ElectionReady, kind: ElectionTimer) -> TimerRequest:
    return next(timer for timer in ready.timers if timer.kind == kind)


def leads(raft: Raft) -> bool:
    """Does it lead?"""
    return raft.role is Role.LEADER
