"""One node, pure: what happens to it goes in, everything it wants done comes out.

`clock(now)`, then any number of `step(input)` and `propose(...)`, then `ready()` once. No clock, no
dice: times come in as arguments, timers are asked for as ranges.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from election.messages import Ballot, Index, RequestVote, Term
from election.raft import Raft
from election.roles import ElectionTiming, Role
from qsync.core import alarms, disk, membership, operate, peers, reading, replacing, writable
from qsync.core import inputs as happened
from qsync.core.config import CoreConfig
from qsync.core.configuration import Codec, Configuration
from qsync.core.disk import DiskState
from qsync.core.follower import Follower
from qsync.core.leader import Leader
from qsync.core.ledger import Ledger, Tail
from qsync.core.membership import is_named, may_be_asked
from qsync.core.messages import ReadIndexResponse
from qsync.core.outbox import Outbox
from qsync.core.progress import Progress
from qsync.core.reads import ReplicaReads
from qsync.core.ready import Ready, Ticket, TimerKind
from qsync.core.waiters import Waiter, Waiters, behind_what
from qsync.core.writable import Reason
from qsync.record import Entry, Header


class Machine:
    """The rules of protocol.md sections 2 to 7 for one replica.

    The parts do the work: `raft` elects, `ledger` holds the log and the fates, `leader` exists
    while this node leads, `follower` acts otherwise, `waiters` and `reads` know who waits.
    """

    def __init__(
        self,
        config: CoreConfig,
        *,
        ballot: Ballot,
        confirmed: Index,
        headers: Iterable[Header],
        tail: Tail,
        founding: Configuration | None,
        codec: Codec,
        quarantined: str | None = None,
        life: int = 0,
    ) -> None:
        self.ledger = Ledger(
            confirmed=confirmed,
            recent_bytes_max=config.recent_bytes_max,
            tail=tail,
            founding=founding,
            codec=codec,
        )
        self.ledger.recover(headers)
        self.peers = {each: Progress(each) for each in config.voters if each != config.me}
        configurations = self.ledger.configurations
        in_force = configurations.followed = configurations.in_force
        if in_force is not None:
            config = replace(config, voters=in_force.replicas)
        self.config: CoreConfig = config
        ballot = _standing(ballot, alone=len(config.voters) == 1, quarantined=quarantined)
        self.disk = DiskState(self.ledger, durable=ballot, quarantined=quarantined)
        self.raft = _raft(config, ballot, self.ledger, named=is_named(config, in_force))
        self.waiters = Waiters()
        self.reads = ReplicaReads(life)
        self.leader: Leader | None = None
        self.follower = Follower(config, self.ledger, term=ballot.term)
        self.operations = operate.Operations()
        self.out = Outbox()
        self.pace = _Pace()

    def __repr__(self) -> str:
        role = "leader" if self.leader else self.raft.role.value
        return (
            f"node {self.config.me} {role} term={self.raft.term} {self.ledger.log} "
            f"{self.ledger.limbo}"
        )

    def start(self) -> None:
        """Arm the first timers; call `clock` before."""
        self.ledger.limbo.recovered(self.ledger.now)
        self.raft.start()
        self.out.arm(TimerKind.HEARTBEAT, self.config.replication_timeout)
        self.follow_raft()

    def clock(self, now: float, wall: float = 0.0) -> None:
        """Monotonic seconds, before every batch of inputs; `wall` is for people only.

        A leader that was paused for longer than its lease steps down here, before it answers
        anything that waited in its sockets.
        """
        self.ledger.now = now
        self.pace.wall = wall
        replacing.keep_quorum(self)
        self.raft.clock(now)
        self.follow_raft()

    @property
    def term(self) -> Term:
        """The term as this node knows it; durable before anything is answered with it."""
        return self.raft.term

    def reasons(self) -> list[Reason]:
        """Why this node may not write now; empty if it may."""
        leader = self.leader
        if (
            leader is not None
            and leader.open
            and self.disk.error is None
            and not self.config.read_only
        ):
            return []
        return list(writable.reasons_of(self))

    # -- inputs

    def propose(self, body: bytes, *, sync: bool, ticket: Ticket | None) -> Entry:
        """Append a client's transaction. The caller has seen `reasons()` to be empty."""
        leader = self.leader
        assert leader is not None
        entry = leader.transaction(body, sync=sync, wall=self.pace.wall)
        if ticket is not None:
            behind = behind_what(self.ledger, entry)
            self.waiters.add(Waiter(entry.index, entry.term, ticket, behind))
        return entry

    def step(self, event: happened.Input) -> None:
        """Take one input."""
        match event:
            case happened.Received():
                peers.received(self, event)
            case happened.Written():
                disk.written(self, event.id)
            case happened.ReadAsked():
                self._read(event)
            case happened.TimerFired():
                alarms.fired(self, event.kind)
            case happened.WriteFailed() | happened.LogUnreadable():
                disk.failed(self, event)
            case happened.Connected():
                peers.connected(self, event)
            case happened.Disconnected():
                peers.disconnected(self, event)
            case (
                happened.PromoteAsked()
                | happened.DemoteAsked()
                | happened.RollbackAsked()
                | happened.ReplaceAsked()
                | happened.LeaveAsked()
            ):
                operate.asked(self, event)
            case happened.Forgotten():
                self._forget(event.ticket)
            case _:
                assert_never(event)
        self.follow_raft()

    def _read(self, event: happened.ReadAsked) -> None:
        reading.ask(self, event)

    def _forget(self, ticket: Ticket) -> None:
        self.waiters.forget(ticket)
        self.reads.forget(ticket)
        operate.forget(self, ticket)

    def answer(self, ticket: Ticket, refused: str | None = None) -> None:
        """A read or an operation may be answered; negative tickets are followers' reads."""
        asked = self.operations.take_ask(ticket)
        if asked is None:
            self.out.answer(ticket, refused)
            return
        follower, number = asked
        place = None if refused else self.ledger.shown
        self.out.send(follower, ReadIndexResponse(term=self.term, ask=number, place=place))

    # -- what is late

    def overdue(self) -> None:
        """The oldest pending transaction has waited too long (policy `rollback`)."""
        queue, leader = self.ledger.limbo.queue, self.leader
        may = leader is not None and leader.open and self.config.synchro_policy == "rollback"
        if not queue or not may:
            return
        if self.ledger.now - self.ledger.limbo.born >= self.config.synchro_timeout:
            self.roll_back("synchro_timeout")

    def roll_back(self, why: str) -> int:
        """Roll back all that is pending; returns how many transactions that were."""
        leader, queue = self.leader, self.ledger.limbo.queue
        assert leader is not None
        count = len(queue)
        first = queue[0].index if queue else Index(0)
        entry = leader.roll_back(self.pace.wall)
        if entry is None:
            return 0
        self.waiters.rolled_back(first)
        self.out.note("rollback", first=first, record=entry.index, transactions=count, why=why)
        return count

    # -- roles

    def follow_raft(self) -> None:
        """Keep our half of the role in step with the election's, and the voters with the log."""
        membership.follow(self)
        raft, leader = self.raft, self.leader
        if leader is not None and (raft.role is not Role.LEADER or raft.term != leader.term):
            self._step_down(leader)
        if self.leader is None and raft.role is Role.LEADER:
            self._take_over()
        if self.leader is None and self.follower.term != raft.term:
            self.follower = self._new_follower()
            self.out.answers(self.reads.leader_lost())

    def _new_follower(self) -> Follower:
        follower = Follower(self.config, self.ledger, term=self.raft.term)
        follower.split = self.follower.split
        return follower

    def _take_over(self) -> None:
        last, now = self.ledger.log.last, self.ledger.now
        for each in self.peers.values():
            each.begin(epoch=each.epoch, connected=each.connected, last=last, now=now)
        self.leader = Leader(
            self.config,
            self.ledger,
            term=self.raft.term,
            followers=self.peers.values(),
            wall=self.pace.wall,
        )
        self.out.answers(self.reads.leader_lost())
        self.leader.begin_round(self.out.send)
        self.pace.led = self.raft.term
        self.out.note("promote", term=self.raft.term, index=self.leader.promoted_at)

    def _step_down(self, leader: Leader) -> None:
        self.leader = None
        self.waiters.deposed()
        for refused in leader.rounds.reads.refuse_all("this node no longer leads"):
            self.answer(refused.ticket, refused.refused)
        self.follower = self._new_follower()
        operate.deposed(self, leader)

    # -- output

    def entries(self, first: Index, last: Index) -> list[Entry]:
        """Entries for an Append that was emitted without them."""
        return self.ledger.entries(first, last)

    def ready(self) -> Ready:
        """Everything to be done now, once. See `Ready` for the order."""
        ready, ledger = Ready(), self.ledger
        operate.advance(self)
        replacing.advance(self)
        self._collect_raft(ready)
        if self.leader is not None:
            self._lead(self.leader)
        else:
            self._ack()
        ready.write = self.disk.next_write(self.raft.ballot)
        ready.settled = self.waiters.settle(ledger)
        self.out.answers(self.reads.settle(ledger))
        self.out.fill(ready, durable=self.raft.ballot == self.disk.ballot)
        ready.events, ledger.events = ledger.events, []
        if ledger.notes:
            ready.notes += ledger.notes
            ledger.notes = []
        return ready

    def _collect_raft(self, ready: Ready) -> None:
        self.raft.set_last_position(self.ledger.log.position)
        wanted = self.raft.ready()
        for peer, message in (*wanted.now, *wanted.after):
            # Who runs on another directory than the configuration names is not asked as that voter.
            if not isinstance(message, RequestVote) or may_be_asked(self, peer):
                self.out.send(peer, message)
        ready.timers += wanted.timers
        ready.notes += wanted.notes

    def _lead(self, leader: Leader) -> None:
        ledger, pace = self.ledger, self.pace
        leader.count()
        # Who was told to campaign has our whole log; a CONFIRM now would leave its log behind.
        if leader.confirm_due and not self.raft.transfer.target:
            # It rides with the next batch; only when none comes does it go alone.
            if pace.confirm_now or ledger.log.last > ledger.written:
                leader.record_confirm(pace.wall)
                if pace.confirm_armed:
                    pace.confirm_armed = False
                    self.out.disarm(TimerKind.CONFIRM)
            elif not pace.confirm_armed:
                pace.confirm_armed = True
                self.out.arm(TimerKind.CONFIRM, self.config.confirm_delay)
        pace.confirm_now = False
        if leader.established:
            if leader.rounds.reads.wants_round:
                leader.begin_round(self.out.send)
            for done in leader.rounds.settle():
                self.answer(done.ticket)
        leader.replicate(self.out.send)
        queue = ledger.limbo.queue
        # Only who may roll back: else a time that is over would come again and again.
        may = leader.open and self.config.synchro_policy == "rollback"
        if queue and may and not pace.synchro_armed:
            pace.synchro_armed = True
            due = ledger.limbo.born + self.config.synchro_timeout
            self.out.arm(TimerKind.SYNCHRO, max(0.001, due - ledger.now))

    def _ack(self) -> None:
        leader = self.raft.leader
        if leader is None or leader == self.config.me or self.follower.split is not None:
            return
        ack = self.follower.ack()
        if ack is not None:
            self.out.send(leader, peers.marked(self, ack))


class _Pace:
    """What is armed, what is due, and the time for people.

    `led`: the newest term in which this node began to lead, for whoever looks on: it may have been
    deposed in the very batch in which it was elected, and its PROMOTE is in its log all the same.
    """

    __slots__ = ("confirm_armed", "confirm_now", "led", "synchro_armed", "wall")

    def __init__(self) -> None:
        self.synchro_armed = False
        self.confirm_armed = False
        self.confirm_now = False
        self.led = 0
        self.wall = 0.0


def _standing(ballot: Ballot, *, alone: bool, quarantined: str | None) -> Ballot:
    """Whether this node may count in a quorum: not after damage; always when it is the only one."""
    if quarantined is not None:
        return Ballot(term=ballot.term, vote=ballot.vote, member=False)
    if alone:
        return Ballot(term=ballot.term, vote=ballot.vote, member=True)
    return ballot


def _raft(config: CoreConfig, ballot: Ballot, ledger: Ledger, *, named: bool) -> Raft:
    return Raft(
        me=config.me,
        voters=config.voters,
        mode=config.mode,
        quorum=len(config.voters) // 2 + 1,
        timing=ElectionTiming(
            election_timeout=config.election_timeout,
            disconnect_timeout=config.disconnect_timeout,
            promise=config.promise,
        ),
        fencing=config.fencing,
        ballot=ballot,
        position=ledger.log.position,
        named=named,
    )
