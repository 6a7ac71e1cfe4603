"""One node, pure: what happens to it goes in, everything it wants done comes out.

`clock(now)`, then any number of `step(input)` and `propose(...)`, then `ready()` once. No clock, no
dice: times come in as arguments, timers are asked for as ranges.
"""

from collections.abc import Iterable
from typing import assert_never

from election.messages import AskVote, Ballot, CampaignNow, Index, Replica, Term, Vote
from election.raft import Raft
from election.raft import Timing as ElectionTiming
from election.roles import Role
from qsync.core import inputs as happened
from qsync.core import operate, writable
from qsync.core.config import CoreConfig
from qsync.core.follower import Follower
from qsync.core.leader import Leader
from qsync.core.ledger import Ledger, Tail
from qsync.core.messages import (
    Append,
    Appended,
    AskHandOver,
    AskIndex,
    Heard,
    Heartbeat,
    LogMessage,
    Message,
    ReadIndex,
)
from qsync.core.progress import Progress
from qsync.core.reads import ReplicaReads
from qsync.core.ready import Note, ReadSettled, Ready, Ticket, Timer, TimerKind
from qsync.core.waiters import Waiter, Waiters, fate
from qsync.core.writable import Reason
from qsync.record import Entry


class Machine:
    """The rules of protocol.md sections 2 to 7 for one replica."""

    def __init__(
        self,
        config: CoreConfig,
        *,
        ballot: Ballot,
        confirmed: Index,
        headers: Iterable[tuple[int, ...]],
        tail: Tail,
        quarantined: str | None = None,
    ) -> None:
        self.config = config
        self.ledger = Ledger(
            confirmed=confirmed, recent_bytes_max=config.recent_bytes_max, tail=tail
        )
        self.ledger.recover(headers)
        if quarantined is not None:
            ballot = Ballot(term=ballot.term, vote=ballot.vote, member=False)
        elif len(config.voters) == 1:
            ballot = Ballot(term=ballot.term, vote=ballot.vote, member=True)
        self.durable_ballot = ballot
        self.raft = Raft(
            me=config.me,
            voters=config.voters,
            mode=config.mode,
            quorum=len(config.voters) // 2 + 1,
            timing=ElectionTiming(
                election_timeout=config.election_timeout,
                disconnect_timeout=config.disconnect_timeout,
            ),
            fencing=config.fencing,
            ballot=ballot,
            position=self.ledger.log.position,
        )
        self.waiters = Waiters()
        self.reads = ReplicaReads()
        self.peers = {each: Progress(each) for each in config.voters if each != config.me}
        self.leader: Leader | None = None
        self.follower = Follower(config, self.ledger, term=ballot.term)
        self.operations = operate.Operations()
        self.disk_error: str | None = None
        self.quarantined = quarantined
        self.wall = 0.0
        self._empty_peers: set[Replica] = set()
        self._out: list[tuple[Replica, Message]] = []
        self._answers: list[ReadSettled] = []
        self._timers: list[Timer] = []
        self._notes: list[Note] = []
        self._write_began = 0.0
        self._settled_at = (-1, -1, -1, -1)
        self._synchro_armed = False
        self._confirm_armed = False
        self._confirm_now = False

    def __repr__(self) -> str:
        role = "leader" if self.leader else self.raft.role.value
        return f"node {self.config.me} {role} term={self.raft.term} {self.ledger.log} {self.ledger.limbo}"

    def start(self) -> None:
        """Arm the first timers."""
        self.raft.start()
        self._arm(TimerKind.HEARTBEAT, self.config.replication_timeout)
        self._follow_raft()

    def clock(self, now: float, wall: float = 0.0) -> None:
        """Monotonic seconds, before every batch of inputs; `wall` is for people only.

        A leader that was paused for longer than its lease steps down here, before it answers
        anything that waited in its sockets.
        """
        self.ledger.now = now
        self.wall = wall
        self.raft.clock(now)
        self._follow_raft()

    # -- what can be seen

    @property
    def term(self) -> Term:
        """The term as this node knows it; durable before anything is answered with it."""
        return self.raft.term

    def reasons(self) -> list[Reason]:
        """Why this node may not write now; empty if it may."""
        if (
            self.leader is not None
            and self.leader.established
            and self.leader.handing_to is None
            and not self.leader.demoted
            and self.disk_error is None
            and not self.config.read_only
        ):
            return []
        return list(self._reasons())

    def _reasons(self) -> Iterable[Reason]:
        leader = self.leader
        if self.config.read_only:
            yield writable.CONFIG
        if self.quarantined is not None and not self.raft.ballot.member:
            yield writable.quarantine(text=self.quarantined)
        elif not self.raft.ballot.member:
            yield writable.RECRUIT
        if self.follower.split is not None:
            yield writable.split_brain(text=str(self.follower.split))
        if self.disk_error is not None:
            yield writable.disk(error=self.disk_error)
        if leader is None:
            if self.raft.fenced:
                yield writable.fenced(term=self.term)
            yield writable.election(leader=self.raft.leader, term=self.term)
            return
        if not leader.established:
            yield writable.synchro(
                promoted_at=leader.promoted_at, confirmed=self.ledger.confirmed
            )
        if leader.handing_to is not None:
            yield writable.transfer(to=leader.handing_to)
        if leader.demoted:
            yield writable.DEMOTED

    @property
    def queue_full(self) -> bool:
        """The soft limits of the limbo are reached; counted only on the owner (protocol.md 3)."""
        limbo, config = self.ledger.limbo, self.config
        return (
            len(limbo.queue) >= config.queue_entries_max
            or limbo.queue_bytes >= config.queue_bytes_max
        )

    # -- inputs

    def propose(self, body: bytes, *, sync: bool, ticket: Ticket | None) -> Entry:
        """Append a client's transaction. The caller has seen `reasons()` to be empty."""
        leader = self.leader
        assert leader is not None
        entry = leader.transaction(body, sync=sync, wall=self.wall)
        if ticket is not None:
            self.waiters.add(Waiter(entry.index, entry.term, ticket))
        return entry

    def attach(self, ticket: Ticket, *, index: Index, term: Term) -> None:
        """A retry of the transaction `(term, index)` waits for its fate."""
        self.waiters.attach(Waiter(index, term, ticket))

    def step(self, event: happened.Input) -> None:
        """Take one input."""
        match event:
            case happened.Received():
                self._received(event.peer, event.message)
            case happened.TimerFired():
                self._timer(event.kind)
            case happened.Written():
                self._written(event.id)
            case happened.WriteFailed():
                self._write_failed(event)
            case happened.Connected():
                self._connected(event)
            case happened.Disconnected():
                self._disconnected(event)
            case happened.ReadAsked():
                self._read(event)
            case happened.PromoteAsked():
                operate.promote(self, event.ticket)
            case happened.DemoteAsked():
                operate.demote(self, event.ticket, event.to)
            case happened.RollbackAsked():
                operate.roll_back(self, event.ticket)
            case happened.Forgotten():
                self.waiters.forget(event.ticket)
                self.reads.forget(event.ticket)
                self.operations.forget(event.ticket)
            case _:
                assert_never(event)
        self._follow_raft()

    def _received(self, peer: Replica, message: Message) -> None:
        if peer not in self.peers:
            return
        if isinstance(message, AskVote | Vote | CampaignNow):
            self.raft.received(message)
        elif isinstance(message, Append | Heartbeat):
            self._from_leader(message)
        else:
            self._from_follower(message)

    def _from_leader(self, message: Append | Heartbeat) -> None:
        if not self.raft.observe(message.term, message.leader):
            self._stale(message)
            return
        self._follow_raft()
        assert self.leader is None
        follower = self.follower
        if follower.split is not None:
            return
        if isinstance(message, Append):
            refusal = follower.append(message)
            if follower.split is not None:
                self.note("split_brain", what=str(follower.split))
            elif refusal is not None:
                self.send(message.leader, self._marked(refusal))
            return
        follower.heartbeat(message)
        if message.admit and not self.raft.ballot.member:
            self.raft.become_member()
            self.note("admitted", by=message.leader)
        self.send(
            message.leader,
            Heard(
                term=message.term,
                follower=self.config.me,
                epoch=message.epoch,
                round=message.round,
                recruit=not self.raft.ballot.member,
            ),
        )

    def _stale(self, message: Append | Heartbeat) -> None:
        """A leader of an older term learns of the newer one from our term in a refusal."""
        self.send(
            message.leader,
            Heard(
                term=self.term,
                follower=self.config.me,
                epoch=message.epoch,
                round=0,
                recruit=not self.raft.ballot.member,
            ),
        )

    def _marked(self, answer: Appended) -> Appended:
        return Appended(
            term=answer.term,
            follower=answer.follower,
            epoch=answer.epoch,
            ok=answer.ok,
            index=answer.index,
            index_term=answer.index_term,
            recruit=not self.raft.ballot.member,
        )

    def _from_follower(self, message: LogMessage) -> None:
        match message:
            case Appended() | Heard():
                if message.term > self.term:
                    self.raft.observe(message.term, None)
                    return
                leader = self.leader
                if leader is None:
                    return
                if isinstance(message, Appended):
                    current = leader.appended(message)
                else:
                    current = leader.heard(message)
                if current and not message.recruit:
                    self.raft.heard(message.follower)
            case AskIndex():
                self._asked_index(message)
            case ReadIndex():
                self._answers += self.reads.told(message.ask, message.index)
            case AskHandOver():
                operate.asked_hand_over(self, message.candidate)
            case Append() | Heartbeat():
                raise AssertionError(message)
            case _:
                assert_never(message)

    # -- reads

    def _read(self, event: happened.ReadAsked) -> None:
        wanted = event.consistency
        leader = self.leader
        if wanted is happened.Consistency.LOCAL:
            self.answer(event.ticket)
        elif wanted is happened.Consistency.AT_LEAST:
            self.reads.at_least(event.ticket, index=event.index, term=event.term)
        elif leader is None:
            self._forward(event.ticket)
        elif (
            wanted is happened.Consistency.LEASE
            and leader.established
            and self.ledger.now < leader.leased_until()
        ):
            self.answer(event.ticket)
        else:
            leader.reads.ask(event.ticket)

    def _forward(self, ticket: Ticket) -> None:
        to = self.raft.leader
        if to is None or to == self.config.me:
            self.answer(ticket, f"nobody leads in term {self.term}")
            return
        ask = self.reads.ask_leader(ticket)
        self.send(to, AskIndex(term=self.term, follower=self.config.me, ask=ask))

    def _asked_index(self, message: AskIndex) -> None:
        leader = self.leader
        if leader is None or message.term != self.term:
            self.send(message.follower, ReadIndex(term=self.term, ask=message.ask, index=None))
            return
        ticket = self.operations.remember_ask(message.follower, message.ask)
        leader.reads.ask(ticket)

    def answer(self, ticket: Ticket, refused: str | None = None) -> None:
        """A read or an operator's request may be answered; negative tickets are followers' reads."""
        ask = self.operations.take_ask(ticket)
        if ask is None:
            self._answers.append(ReadSettled(ticket=ticket, refused=refused))
            return
        index = None if refused else self.ledger.visible
        self.send(ask[0], ReadIndex(term=self.term, ask=ask[1], index=index))

    # -- connections

    def _connected(self, event: happened.Connected) -> None:
        progress = self.peers[event.peer]
        progress.begin(
            epoch=event.epoch, connected=True, last=self.ledger.log.last, now=self.ledger.now
        )
        if event.empty:
            self._empty_peers.add(event.peer)
        else:
            self._empty_peers.discard(event.peer)
        # An empty cluster may begin only when every member has been seen to be as empty.
        if (
            not self.raft.ballot.member
            and self.quarantined is None
            and self.ledger.log.last == 0
            and len(self._empty_peers) == len(self.peers)
        ):
            self.raft.become_member()
            self.note("bootstrapped", voters=list(self.config.voters))
        if self.leader is not None:
            self.leader.begin_round(self.send)

    def _disconnected(self, event: happened.Disconnected) -> None:
        progress = self.peers[event.peer]
        if progress.epoch == event.epoch:
            progress.connected = False
        if event.refused and self.leader is None and self.raft.leader == event.peer:
            self.raft.leader_gone()

    # -- timers

    def _timer(self, kind: str) -> None:
        if kind == TimerKind.HEARTBEAT:
            self._heartbeat()
        elif kind == TimerKind.SYNCHRO:
            self._synchro_armed = False
            self._overdue()
        elif kind == TimerKind.CONFIRM:
            self._confirm_armed = False
            self._confirm_now = True
        elif kind == TimerKind.DISK:
            self.disk_error = None
        elif kind == TimerKind.TRANSFER and operate.transfer_timer(self):
            return
        else:
            self.raft.timer(kind)

    def _heartbeat(self) -> None:
        self._arm(TimerKind.HEARTBEAT, self.config.replication_timeout)
        leader = self.leader
        if leader is None:
            return
        stuck = self.ledger.now - self._write_began
        if self.ledger.writing and stuck > self.config.disconnect_timeout:
            # protocol.md section 2: heartbeats depend on the disk being alive.
            self.raft.resign(f"the log writer has not completed for {stuck:.3f} s")
            return
        leader.resend_stalled()
        leader.begin_round(self.send)

    def _overdue(self) -> None:
        """The oldest pending transaction has waited too long (policy `rollback`)."""
        queue = self.ledger.limbo.queue
        if not queue or self.reasons() or self.config.synchro_policy != "rollback":
            return
        if self.ledger.now - queue[0].born >= self.config.synchro_timeout:
            self.roll_back("synchro_timeout")

    def roll_back(self, why: str) -> int:
        """Roll back all that is pending; returns how many transactions that were."""
        leader = self.leader
        assert leader is not None
        count = len(self.ledger.limbo.queue)
        first = self.ledger.limbo.queue[0].index if count else Index(0)
        entry = leader.roll_back(self.wall)
        if entry is None:
            return 0
        self.waiters.rolled_back(first)
        self.note("rollback", first=first, record=entry.index, transactions=count, why=why)
        return count

    # -- the disk

    def _written(self, write_id: int) -> None:
        ballot = self.ledger.wrote(write_id)
        if self.disk_error is not None:
            self.disk_error = None
            self.note("disk_recovered")
        if ballot != self.durable_ballot:
            self.durable_ballot = ballot
            self.raft.ballot_written(ballot)
            self._follow_raft()
        if self.leader is not None:
            self.leader.count()

    def _write_failed(self, event: happened.WriteFailed) -> None:
        self.ledger.write_failed(event.id)
        self.disk_error = event.why
        self.note("disk_failed", why=event.why)
        if self.leader is not None:
            self.raft.resign(f"the log cannot be written: {event.why}")
        self._arm(TimerKind.DISK, self.config.disk_retry_delay)

    # -- roles

    def _follow_raft(self) -> None:
        """Keep our half of the role in step with the election's."""
        raft, leader = self.raft, self.leader
        if leader is not None and (raft.role is not Role.LEADER or raft.term != leader.term):
            self._step_down(leader)
        if self.leader is None and raft.role is Role.LEADER:
            self._take_over()
        if self.leader is None and self.follower.term != raft.term:
            self.follower = self._new_follower()
            self._answers += self.reads.leader_lost()

    def _new_follower(self) -> Follower:
        follower = Follower(self.config, self.ledger, term=self.raft.term)
        follower.split = self.follower.split
        return follower

    def _take_over(self) -> None:
        last = self.ledger.log.last
        for progress in self.peers.values():
            progress.begin(
                epoch=progress.epoch,
                connected=progress.connected,
                last=last,
                now=self.ledger.now,
            )
        self.leader = Leader(
            self.config,
            self.ledger,
            term=self.raft.term,
            followers=self.peers.values(),
            wall=self.wall,
        )
        self._answers += self.reads.leader_lost()
        self.leader.begin_round(self.send)
        self.note("promote", term=self.raft.term, index=self.leader.promoted_at)

    def _step_down(self, leader: Leader) -> None:
        self.leader = None
        self.waiters.deposed()
        for refused in leader.reads.refuse_all("this node no longer leads"):
            self.answer(refused.ticket, refused.refused)
        self.follower = self._new_follower()
        operate.stepped_down(self)
        self.note("stepped_down", term=leader.term, fenced=self.raft.fenced)

    # -- output

    def send(self, peer: Replica, message: Message) -> None:
        """Queue a message; it leaves when our ballot is durable."""
        self._out.append((peer, message))

    def note(self, name: str, **fields: object) -> None:
        """For the timeline."""
        self._notes.append(Note(name, fields))

    def _arm(self, kind: TimerKind, delay: float) -> None:
        self._timers.append(Timer(kind=kind, earliest=delay, latest=delay))

    def ready(self) -> Ready:
        """Everything to be done now, once. See `Ready` for the order."""
        ready = Ready()
        operate.advance(self)
        self._collect_raft(ready)
        self._lead(ready)
        if self.leader is None:
            self._ack()
        write = None
        if self.disk_error is None:
            write = self.ledger.take_write(self.raft.ballot, self.durable_ballot)
        if write is not None:
            self._write_began = self.ledger.now
            ready.write = write
        self._release(ready)
        self._settle(ready)
        ready.events, self.ledger.events = self.ledger.events, []
        ready.timers += self._timers
        ready.notes += self._notes
        ready.notes += self.ledger.notes
        self._timers, self._notes, self.ledger.notes = [], [], []
        return ready

    def _collect_raft(self, ready: Ready) -> None:
        self.raft.grew(self.ledger.log.position)
        wanted = self.raft.ready()
        for peer, message in (*wanted.now, *wanted.after):
            self.send(peer, message)
        for timer in wanted.timers:
            ready.timers.append(
                Timer(kind=timer.kind, earliest=timer.earliest, latest=timer.latest or 0.0)
            )
        for name, fields in wanted.notes:
            ready.notes.append(Note(name, dict(fields)))

    def _lead(self, ready: Ready) -> None:
        leader, ledger = self.leader, self.ledger
        if leader is None:
            return
        leader.count()
        if leader.confirm_due and (self._confirm_now or ledger.log.last > ledger.written):
            leader.record_confirm(self.wall)
        elif leader.confirm_due and not self._confirm_armed:
            self._confirm_armed = True
            self._arm(TimerKind.CONFIRM, self.config.confirm_delay)
        self._confirm_now = False
        if leader.reads.wants_round and leader.established:
            leader.begin_round(self.send)
        for done in leader.settle_reads():
            self.answer(done.ticket)
        leader.replicate(self.send)
        queue = ledger.limbo.queue
        if queue and not self._synchro_armed and self.config.synchro_policy == "rollback":
            self._synchro_armed = True
            self._arm(
                TimerKind.SYNCHRO,
                max(0.001, queue[0].born + self.config.synchro_timeout - ledger.now),
            )

    def _ack(self) -> None:
        leader = self.raft.leader
        if leader is None or leader == self.config.me or self.follower.split is not None:
            return
        ack = self.follower.ack()
        if ack is not None:
            self.send(leader, self._marked(ack))

    def _release(self, ready: Ready) -> None:
        """Nothing is said in a term or after a vote that is not durable (protocol.md section 2)."""
        if self.raft.ballot == self.durable_ballot:
            ready.send_now, self._out = self._out, []
        elif ready.write is not None:
            assert ready.write.ballot == self.raft.ballot
            ready.send_after, self._out = self._out, []

    def _settle(self, ready: Ready) -> None:
        ledger = self.ledger
        at = (ledger.confirmed, ledger.visible, ledger.log.last, ledger.cuts)
        changed = at != self._settled_at
        self._settled_at = at
        ready.settled = self.waiters.settle(ledger, changed=changed)
        self._answers += self.reads.settle(ledger)
        ready.reads, self._answers = self._answers, []

    # -- for the shell

    def entries(self, first: Index, last: Index) -> list[Entry]:
        """Entries for an Append that was emitted without them."""
        return self.ledger.entries(first, last)

    def fate_of(self, index: Index, term: Term) -> str | None:
        """The definite fate of a transaction by this node's log; None while open."""
        return fate(self.ledger, index, term)

