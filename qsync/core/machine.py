"""One node, pure: its inputs go in, its wishes come out as one Ready.

`clock(now)`, then any number of `step(input)` and `propose(...)`, then `ready()` once. No clock, no
dice: times come in as arguments, timers are asked for as ranges.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from election.messages import Ballot, Index, Replica, RequestVote, Term
from election.raft import Raft
from election.ready import NOTHING
from election.roles import ElectionMode, ElectionTiming
from qsync.core import border
from qsync.core import inputs as happened
from qsync.core.admin_ops import TIMERS, AdminOps
from qsync.core.config import CoreConfig
from qsync.core.configuration import Codec, Configuration, is_named
from qsync.core.disk import DiskState
from qsync.core.follower import Follower
from qsync.core.leader import Leader
from qsync.core.leader_turn import LeaderTurn
from qsync.core.logstart import EMPTY, LogStart
from qsync.core.messages import Message
from qsync.core.peer_messages import PeerMessages
from qsync.core.peers import follow_members
from qsync.core.progress import Progress
from qsync.core.read_requests import ReadRequests
from qsync.core.ready import Ready, Ticket, TimerKind
from qsync.core.replica_state import ReplicaState
from qsync.core.replicated_log import ReplicatedLog, Tail
from qsync.core.superseding import Superseding, never_leading
from qsync.core.waiters import Waiter, behind_what
from qsync.core.writable import Reason, Writable
from qsync.record import Entry


class Machine:
    """The rules of protocol.md sections 2 to 7 for one replica.

    The parts do the work and know `state`, not each other nor this: `state` is the role,
    `replicated_log` the log and the fates, `raft` the election, `disk` what is durable. `messages`
    takes what peers say, `read_requests` reads, `operations` what operators ask, `turn` is a
    leader's batch.
    """

    def __init__(
        self,
        config: CoreConfig,
        *,
        ballot: Ballot,
        confirmed: Index,
        stored: Iterable[bytes],
        tail: Tail,
        founding: Configuration | None,
        codec: Codec,
        quarantined: str | None = None,
        life: int = 0,
        start: LogStart = EMPTY,
    ) -> None:
        self.replicated_log = ReplicatedLog(
            confirmed=confirmed,
            start=start,
            recent_bytes_max=config.recent_bytes_max,
            tail=tail,
            founding=founding,
            codec=codec,
        )
        self.replicated_log.recover(stored)
        peers = {each: Progress(each) for each in config.voters if each != config.me}
        configurations = self.replicated_log.configurations
        in_force = configurations.followed = configurations.in_force
        if in_force is not None:
            config = replace(config, voters=in_force.replicas, votes=is_named(config, in_force))
            follow_members(peers, in_force, me=config.me)
        ballot = _recovered(ballot, alone=config.voters == (config.me,), quarantined=quarantined)
        self.raft = _raft(config, ballot, self.replicated_log, named=is_named(config, in_force))
        self.state = ReplicaState(
            config, replicated_log=self.replicated_log, raft=self.raft, life=life
        )
        self.state.peers |= peers
        self.peers = self.state.peers
        self.disk = DiskState(self.replicated_log, durable=ballot, quarantined=quarantined)
        self.waiters = self.state.waiters
        self.writable = Writable(self.state, self.disk)
        self.read_requests = ReadRequests(self.state)
        self.operations = AdminOps(self.state, self.writable)
        self.messages = PeerMessages(
            self.state, disk=self.disk, reads=self.read_requests, operations=self.operations
        )
        self.turn = LeaderTurn(self.state)
        self.superseding = Superseding(self.state, self.disk)

    def __repr__(self) -> str:
        role = "leader" if self.leader else self.raft.role.value
        return (
            f"node {self.config.me} {role} term={self.raft.term} {self.replicated_log.log} "
            f"{self.replicated_log.limbo}"
        )

    @property
    def config(self) -> CoreConfig:
        """The configuration in force: the node's own, and the options that the cluster shares."""
        return self.state.config

    @property
    def leader(self) -> Leader | None:
        """The leadership of this node, while it leads."""
        return self.state.leader

    @property
    def follower(self) -> Follower:
        """The follower's half of the role, while this node does not lead."""
        return self.state.follower

    @property
    def term(self) -> Term:
        """The term of this node; durable before any answer carries it."""
        return self.state.term

    def start(self) -> None:
        """Arm the first timers; call `clock` before."""
        self.replicated_log.limbo.recovered(self.replicated_log.now)
        self.state.out.arm(TimerKind.HEARTBEAT, self.config.replication_timeout)
        self.state.start()

    def clock(self, now: float, wall: float = 0.0) -> None:
        """Monotonic seconds, before every batch of inputs; `wall` is for people only.

        A leader that was paused for longer than its lease steps down here, before it answers
        anything that waited in its sockets.
        """
        self.replicated_log.now = now
        self.state.wall = wall
        self.operations.changes.keep_quorum()
        self.state.clock(now)

    def reasons(self) -> list[Reason]:
        """Why this node may not write now; empty if it may."""
        return self.writable.reasons()

    def reconfigure(self, config: CoreConfig) -> None:
        """Follow `config` from now on. Voters and this node's directory do not change by it."""
        state, before = self.state, self.state.config
        assert config.me == before.me
        if _place(config) != _place(before):
            config = replace(
                config, voters=before.voters, instance=before.instance, votes=before.votes
            )
        if self.disk.superseded is not None:
            config = never_leading(config)
        state.set_configuration(config)
        election, timing = self.raft.state, _timing(config)
        if timing != election.timing or config.fencing is not before.fencing:
            election.set_timing(config.fencing, timing)
        if config.mode is not before.mode:
            self.raft.set_mode(config.mode)
            if config.mode is ElectionMode.OFF or config.mode is ElectionMode.VOTER:
                self.operations.transfers.leave(f"mode_{config.mode}")
        if config.replication_timeout != before.replication_timeout:
            state.out.arm(TimerKind.HEARTBEAT, config.replication_timeout)
        self.turn.rearm()
        state.follow()
        if state.leader is not None:
            state.leader.count()

    # -- inputs

    def check(self, peer: Replica, message: Message) -> None:
        """Check that `peer` may send this message to us now. Raises ProtocolError."""
        border.check(self.state, peer, message)

    def propose(self, body: bytes, *, sync: bool, ticket: Ticket | None) -> Entry:
        """Append a client's transaction. The caller has seen `reasons()` to be empty."""
        leader = self.state.leader
        assert leader is not None
        entry = leader.transaction(body, sync=sync, wall=self.state.wall)
        if ticket is not None:
            behind = behind_what(self.replicated_log, entry)
            self.waiters.add(Waiter(entry.index, entry.term, ticket, behind))
        return entry

    def step(self, event: happened.Input) -> None:
        """Take one input."""
        if not self.superseding.took(event):
            self._take(event)

    def _take(self, event: happened.Input) -> None:
        match event:
            case happened.Received():
                self.messages.received(event)
            case happened.Written():
                self._written(event.id)
            case happened.ReadAsked():
                self.read_requests.ask(event)
                return  # neither the log nor who leads has changed
            case happened.TimerFired():
                self._timer(event.kind)
            case happened.WriteFailed() | happened.LogUnreadable():
                self._disk_failed(event)
            case happened.Connected() | happened.Disconnected() | happened.SnapshotReceived():
                self.messages.handle_connection(event)
            case (
                happened.PromoteAsked()
                | happened.DemoteAsked()
                | happened.RollbackAsked()
                | happened.ChangeAsked()
                | happened.LeaveAsked()
            ):
                self.operations.handle_request(event)
            case happened.Forgotten():
                self.waiters.forget(event.ticket)
                self.state.reads.forget(event.ticket)
                self.operations.forget(event.ticket)
            case happened.SupersededBy():
                raise AssertionError(event)
            case _:
                assert_never(event)
        # The log may have another end now, and with it other voters.
        self.state.follow()

    def _written(self, write_id: int) -> None:
        """Take note that a Write is durable, and maybe a ballot with it."""
        if self.disk.wrote(write_id):
            self.state.ballot_written(self.disk.ballot)
        if self.state.leader is not None:
            self.state.leader.count()

    def _disk_failed(self, event: happened.WriteFailed | happened.LogUnreadable) -> None:
        """Step down as a leader that cannot write; every node tries again after a while.

        One that cannot read its log back cannot bring anybody to its end, and steps down too.
        """
        brings = isinstance(event, happened.WriteFailed)
        if isinstance(event, happened.WriteFailed):
            self.disk.failed(event.id, event.why)
            what = "written"
        else:
            self.disk.error = self.disk.error or event.why
            what = "read"
        self.state.out.add_event("disk_failed", why=event.why)
        self.operations.transfers.leave(f"the log cannot be {what}: {event.why}", brings=brings)
        self.state.out.arm(TimerKind.DISK, self.config.disk_retry_delay)

    # -- timers

    def _timer(self, kind: str) -> None:
        """Handle a timer of ours, or else one of the election's."""
        match kind:
            case TimerKind.HEARTBEAT:
                self._beat()
            case TimerKind.SYNCHRO:
                self.turn.synchro_timer()
            case TimerKind.CONFIRM:
                self.turn.confirm_timer()
            case TimerKind.READS:
                self.turn.reads_timer()
            case TimerKind.DISK:
                self.disk.retry()
            case _ if kind in TIMERS:
                self.operations.timer(kind)
            case _:
                self.state.timer(kind)

    def _beat(self) -> None:
        state, config = self.state, self.state.config
        state.out.arm(TimerKind.HEARTBEAT, config.replication_timeout)
        leader = state.leader
        if leader is None:
            return
        stuck = self.disk.stuck
        if stuck > config.disconnect_timeout and (
            stuck > config.disk_patience
            or _is_disk_worse(leader, self.replicated_log.pending_writes.reach)
        ):
            # protocol.md section 2: heartbeats depend on the disk being alive.
            self.operations.transfers.leave(f"the log writer has not completed for {stuck:.3f} s")
            return
        leader.resend_stalled()
        self.operations.changes.automatic()
        self.operations.preferences.advance()
        leader.begin_round(state.out.send)

    # -- output

    def entries(self, first: Index, last: Index) -> list[Entry]:
        """Return the entries for an Append that was emitted without them."""
        return self.replicated_log.entries(first, last)

    def ready(self) -> Ready:
        """Everything to be done now, once. See `Ready` for the order."""
        ready, replicated_log, state = Ready(), self.replicated_log, self.state
        self.operations.advance()
        self._collect_raft(ready)
        if state.leader is not None:
            self.turn.serve(state.leader)
        else:
            self.messages.acknowledge()
        ready.write = self.disk.next_write(self.raft.ballot)
        ready.settled = self.waiters.settle(replicated_log)
        state.out.answers(state.reads.settle(replicated_log))
        state.out.fill(ready, durable=self.raft.ballot == self.disk.ballot)
        ready.events, replicated_log.events = replicated_log.events, []
        if replicated_log.notes:
            ready.notes += replicated_log.notes
            replicated_log.notes = []
        self.superseding.silence(ready)
        return ready

    def _collect_raft(self, ready: Ready) -> None:
        self.raft.set_last_position(self.replicated_log.log.position)
        wanted = self.raft.ready()
        if wanted is NOTHING:
            return
        for peer, message in (*wanted.now, *wanted.after):
            # A node on a directory that the configuration does not name is not asked as that voter.
            if not isinstance(message, RequestVote) or self._may_be_asked(peer):
                self.state.out.send(peer, message)
        ready.timers += wanted.timers
        ready.notes += wanted.notes

    def _may_be_asked(self, replica: Replica) -> bool:
        """Return whether that peer, as far as known, is the voter that the configuration names.

        Who runs on another directory is not asked for the vote of the one that was lost.
        """
        progress = self.peers.get(replica)
        if progress is None:
            return False
        configurations = self.replicated_log.configurations
        return progress.instance is None or configurations.names(replica, progress.instance)


def _recovered(ballot: Ballot, *, alone: bool, quarantined: str | None) -> Ballot:
    """Return whether this node may count in quorums: not after damage, unless it is alone."""
    if quarantined is not None:
        return Ballot(term=ballot.term, vote=ballot.vote, member=False)
    if alone:
        return Ballot(term=ballot.term, vote=ballot.vote, member=True)
    return ballot


def _place(config: CoreConfig) -> tuple[object, ...]:
    """Return the configuration as the log has it, not a node's own file."""
    return config.voters, config.instance, config.votes


def _timing(config: CoreConfig) -> ElectionTiming:
    return ElectionTiming(
        election_timeout=config.election_timeout,
        disconnect_timeout=config.disconnect_timeout,
        promise=config.promise,
    )


def _raft(
    config: CoreConfig, ballot: Ballot, replicated_log: ReplicatedLog, *, named: bool
) -> Raft:
    return Raft(
        me=config.me,
        voters=config.voters,
        mode=config.mode,
        quorum=len(config.voters) // 2 + 1,
        timing=_timing(config),
        fencing=config.fencing,
        ballot=ballot,
        position=replicated_log.log.position,
        named=named,
    )


def _is_disk_worse(leader: Leader, reach: Index) -> bool:
    """Return whether a voter made newer entries durable than our hanging write, up to `reach`.

    Its disk completed a write that began later than ours. Otherwise a successor may well have the
    same disk, or one as busy: leadership would wander, and every election is one more write for
    all of them.
    """
    return any(each.connected and each.match > reach for each in leader.counted())
