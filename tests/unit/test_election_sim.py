"""Elections on a bad network with crashing nodes: whatever the dice say, one leader per term."""

import random
from collections import deque
from dataclasses import dataclass, field
from itertools import accumulate

import pytest

from election.campaign import Campaign
from election.fencing import Fencing
from election.messages import (
    Ballot,
    ElectionMessage,
    Index,
    Position,
    Replica,
    RequestVoteResponse,
    Term,
)
from election.raft import Raft
from election.ready import NOTHING, ElectionReady, Letter
from election.roles import ElectionMode, ElectionTiming, Role

TIMING = ElectionTiming(election_timeout=1.0, disconnect_timeout=0.8, promise=0.8)
TIMINGS = (TIMING, ElectionTiming(election_timeout=0.2, disconnect_timeout=0.8, promise=0.1))
STEPS = 500
CALM_STEPS = 3000
WHATS = ("deliver", "write", "tick", "beat", "crash", "order", "cut", "timer")
WILD = tuple(accumulate((40, 25, 15, 10, 3, 2, 1, 4)))
PROMPT = tuple(accumulate((35, 20, 25, 12, 1.6, 3, 0.4, 10)))
"""How often what happens, of a hundred, each with those before it."""


@dataclass(frozen=True)
class Beat:
    """A leader's heartbeat, which brings its whole log; the answer comes back as `Beaten`."""

    term: Term
    leader: Replica
    position: Position
    sent: float


@dataclass(frozen=True)
class Beaten:
    """I follow you in this term, or there is a higher one."""

    term: Term
    follower: Replica
    loyal: float


Said = ElectionMessage | Beat | Beaten


@dataclass
class Node:
    """A Raft, its disk, and what its disk has not finished."""

    raft: Raft
    disk: Ballot
    writes: deque[tuple[Ballot, tuple[Letter, ...]]] = field(default_factory=deque)
    timers: dict[str, float] = field(default_factory=dict)
    leases: dict[Replica, float] = field(default_factory=dict)
    """Until when each follower promised to vote for nobody else."""


class World:
    """Some nodes, the messages under way, and dice.

    `prompt`: nodes always know the time; only then may a leader count on the promises of its
    followers. `forgets`: disks lose what was written last. `flaw` breaks a rule in every node.
    """

    def __init__(
        self,
        seed: int,
        size: int,
        *,
        prompt: bool = False,
        forgets: bool = False,
        flaw: type[Campaign] = Campaign,
    ) -> None:
        self.flaw = flaw
        self.dice = random.Random(seed)
        self.voters = tuple(Replica(n) for n in range(1, size + 1))
        self.prompt = prompt
        self.forgets = forgets
        self.fencing = self.dice.choice(list(Fencing))
        self.now = 0.0
        self.wire: list[tuple[Replica, Replica, Said]] = []
        self.cut: set[tuple[Replica, Replica]] = set()
        """Wires from one to another that lose everything for now."""
        self.leaders: dict[Term, Replica] = {}
        self.votes: dict[tuple[Replica, Term], Replica] = {}
        start = Ballot(term=Term(0), vote=None, member=True)
        self.nodes = {me: self._boot(me, start, Position(Term(0), Index(0))) for me in self.voters}

    def _boot(self, me: Replica, ballot: Ballot, position: Position) -> Node:
        raft = Raft(
            me=me,
            voters=self.voters,
            mode=ElectionMode.CANDIDATE,
            quorum=len(self.voters) // 2 + 1,
            timing=TIMING,
            fencing=self.fencing,
            ballot=ballot,
            position=position,
        )
        if self.flaw is not Campaign:
            raft.campaign.__class__ = self.flaw
        raft.clock(self.now)
        raft.start()
        return Node(raft=raft, disk=ballot)

    # ------------------------------------------------------------------------- what may happen

    def storm(self) -> None:
        """One random thing."""
        me = self.dice.choice(self.voters)
        match self.dice.choices(WHATS, cum_weights=PROMPT if self.prompt else WILD)[0]:
            case "deliver":
                for _ in range(min(len(self.wire), self.dice.randrange(9))):
                    self._deliver(lossy=True)
            case "write":
                self._write()
            case "tick":
                self._tick(me, self.dice.random() * (0.15 if self.prompt else 0.6))
            case "beat":
                self._beat()
            case "crash":
                self._crash(me)
            case "order":
                self._order(me)
            case "cut":
                other = self.dice.choice(self.voters)
                self.cut = {(me, other), self.dice.choice([(me, other), (other, me)])}
            case _:
                self._timer(me, early=not self.prompt and self.dice.random() < 0.3)
        self._collect()

    def calm(self) -> None:
        """Everything works, time passes slowly."""
        me = self.dice.choice(self.voters)
        self.cut.clear()
        self.now += 0.002
        for node in self.nodes.values():
            while node.writes:
                self._complete(node)
        while self.wire:
            self._deliver(lossy=False)
            self._collect()
        self._tick(me, 0.0)
        self._beat()
        self._timer(me, early=False)
        self._collect()

    def _deliver(self, *, lossy: bool) -> None:
        at = self.dice.randrange(len(self.wire)) if lossy else 0
        by, to, said = self.wire[at]
        fate = self.dice.random() if lossy else 0.5
        if fate > 0.1:  # Otherwise it comes once more.
            del self.wire[at]
        if fate > 0.85 or (by, to) in self.cut:
            return  # Lost.
        raft = self.nodes[to].raft
        if self.prompt:
            raft.clock(self.now)
        match said:
            case Beat():
                loyal = 0.0
                if raft.observe(said.term, said.leader):
                    raft.set_last_position(said.position)
                    loyal = raft.promise()
                self._say(said.leader, Beaten(raft.term, to, said.sent + loyal), after=to)
            case Beaten():
                if raft.observe(said.term, None) and raft.role is Role.LEADER:
                    raft.heard(said.follower)
                    if said.term == raft.term:
                        leases = self.nodes[to].leases
                        leases[said.follower] = max(said.loyal, leases.get(said.follower, 0.0))
            case _:
                raft.received(said)

    def _say(self, to: Replica, said: Beaten, *, after: Replica) -> None:
        """Only in a durable term, as the log does it."""
        node = self.nodes[after]
        if node.disk.term == said.term:
            self.wire.append((after, to, said))

    def _write(self) -> None:
        writing = [node for node in self.nodes.values() if node.writes]
        if writing:
            self._complete(self.dice.choice(writing))

    def _complete(self, node: Node) -> None:
        ballot, letters = node.writes.popleft()
        self._persist(node, ballot)
        node.raft.ballot_written(ballot)
        self._post(node, letters)

    def _post(self, node: Node, letters: tuple[Letter, ...]) -> None:
        for to, said in letters:
            self.wire.append((node.raft.electorate.me, to, said))
            if isinstance(said, RequestVoteResponse) and said.granted and not said.pre:
                assert node.disk.term >= said.asked_term, "a vote that is not durable"
                first = self.votes.setdefault((said.voter, said.asked_term), to)
                assert first == to, "two votes in one term"

    def _persist(self, node: Node, ballot: Ballot) -> None:
        if not self.forgets:
            assert ballot.term >= node.disk.term
            assert ballot.term > node.disk.term or node.disk.vote in (None, ballot.vote)
        node.disk = ballot

    def _tick(self, me: Replica, seconds: float) -> None:
        """The world's time passes, and this node looks at it (others may have been paused)."""
        self.now += seconds
        self.nodes[me].raft.clock(self.now)

    def _beat(self) -> None:
        """Each leader, and each node that takes itself for one, speaks."""
        for me, node in self.nodes.items():
            raft = node.raft
            if raft.role is not Role.LEADER:
                continue
            if self.dice.random() < 0.3:
                raft.set_last_position(Position(raft.term, Index(raft.state.position.index + 1)))
            beat = Beat(raft.term, me, raft.state.position, self.now)
            self.wire += [(me, peer, beat) for peer in self.voters if peer != me]

    def _crash(self, me: Replica) -> None:
        node = self.nodes[me]
        # A write under way may have reached the disk without anybody having been told.
        for ballot, _ in node.writes:
            if self.dice.random() < 0.5:
                break
            self._persist(node, ballot)
        disk = node.disk
        if self.forgets:
            disk = Ballot(term=Term(max(0, disk.term - 1)), vote=None, member=True)
        self.nodes[me] = self._boot(me, disk, node.raft.state.position)

    def _order(self, me: Replica) -> None:
        raft = self.nodes[me].raft
        match self.dice.randrange(5):
            case 0:
                raft.campaign.promote()
            case 1 if raft.role is Role.LEADER:
                raft.transfer.send_timeout_now(
                    self.dice.choice([peer for peer in self.voters if peer != me])
                )
            case 2:
                raft.transfer.resign("order")
            case 3:
                raft.state.set_timing(self.fencing, timing=self.dice.choice(TIMINGS))
            case _:
                for node in self.nodes.values():  # a firewall that refuses, and nobody is dead
                    node.raft.clock(self.now)
                    node.raft.campaign.leader_gone()

    def _timer(self, me: Replica, *, early: bool) -> None:
        node = self.nodes[me]
        for kind, when in sorted(node.timers.items()):
            if early or when <= self.now:
                del node.timers[kind]
                node.raft.clock(self.now)
                node.raft.timer(kind)
                return

    # --------------------------------------------------------------------------- what must hold

    def _collect(self) -> None:
        for me, node in self.nodes.items():
            raft = node.raft
            ready = raft.ready()
            if ready is not NOTHING:
                self._do(me, node, ready)
            if raft.role is Role.LEADER:
                assert self.leaders.setdefault(raft.term, me) == me, "two leaders of one term"
                assert node.disk == raft.ballot, "leads on a ballot that is not durable"

    def _do(self, me: Replica, node: Node, ready: ElectionReady) -> None:
        assert ready.ballot is not None or not ready.after
        if ready.ballot is not None:
            node.writes.append((ready.ballot, ready.after))
        self._post(node, ready.now)
        for timer in ready.timers:
            node.timers.pop(timer.kind, None)
            if timer.earliest is not None:
                wait = self.dice.uniform(timer.earliest, timer.latest)
                node.timers[timer.kind] = self.now + wait
        if ready.elected:
            node.leases.clear()
            if self.prompt:
                self._check_leases(me)

    def _check_leases(self, elected: Replica) -> None:
        """No older leader may think that its followers still keep their promises."""
        for me, node in self.nodes.items():
            if (
                me != elected
                and node.raft.role is Role.LEADER
                and not node.raft.transfer.is_lease_void
            ):
                ends = sorted(node.leases.values(), reverse=True)
                needed = node.raft.electorate.quorum - 1
                leased = ends[needed - 1] if len(ends) >= needed else 0.0
                assert leased <= self.now, "elected against a leader with a lease"


def run(
    seed: int,
    size: int,
    *,
    prompt: bool = False,
    forgets: bool = False,
    flaw: type[Campaign] = Campaign,
) -> World:
    world = World(seed, size, prompt=prompt, forgets=forgets, flaw=flaw)
    for _ in range(2 * STEPS if prompt else STEPS):
        world.storm()
    return world


@pytest.mark.parametrize("size", [3, 5])
def test_there_is_never_a_second_leader_of_a_term(size: int) -> None:
    elected = 0
    for seed in range(200):
        elected += len(run(seed, size).leaders)
    assert elected > 200, "the storm is so bad that it tests nothing"


@pytest.mark.parametrize("size", [3, 5])
def test_nobody_is_elected_against_promises_of_a_majority(size: int) -> None:
    for seed in range(120):
        run(seed, size, prompt=True)


class Buries(Campaign):
    """Takes a refused connection for the end of what was promised to the leader."""

    def leader_gone(self) -> None:
        state = self._state
        if state.role is not Role.LEADER and state.leader is not None:
            state.promise.release(state.now)
        super().leader_gone()


class Indulges(Campaign):
    """Keeps its promise against all candidates but itself."""

    def campaign(
        self, *, promoted: bool, first: Replica | None = None, transfer: bool = False
    ) -> None:
        del first
        self._state.promise.release(self._state.now)
        super().campaign(promoted=promoted, transfer=transfer)


@pytest.mark.pure
@pytest.mark.parametrize("flaw", [Buries, Indulges])
def test_a_promise_that_is_not_kept_is_found_out(flaw: type[Campaign]) -> None:
    def storms() -> None:
        for seed in range(200):
            run(seed, 3, prompt=True, flaw=flaw)

    with pytest.raises(AssertionError, match="elected against a leader with a lease"):
        storms()


def test_after_any_storm_somebody_leads() -> None:
    for seed in range(12):
        world = run(seed, 3)
        for _ in range(CALM_STEPS):
            world.calm()
        leading = [me for me, node in world.nodes.items() if node.raft.role is Role.LEADER]
        assert len(leading) == 1, seed
        assert {node.raft.leader for node in world.nodes.values()} == set(leading), seed


def test_disks_that_forget_a_vote_are_found_out() -> None:
    """So the storm is bad enough to notice what it is for."""

    def storms() -> None:
        for seed in range(300):
            run(seed, 3, forgets=True)

    with pytest.raises(AssertionError, match=r"two (leaders|votes)"):
        storms()
