"""A replica in its term: its log, its election, and the role that follows from it."""

from collections.abc import Callable
from dataclasses import replace

from election.messages import Ballot, ElectionMessage, Index, Replica, Term
from election.quorum import majority
from election.raft import Raft
from election.roles import Role
from qsync.core.config import CoreConfig
from qsync.core.configuration import is_named
from qsync.core.follower import Follower
from qsync.core.leader import Leader
from qsync.core.messages import ReadIndexResponse
from qsync.core.outbox import Outbox
from qsync.core.peers import Peers, follow_members
from qsync.core.reads import ReplicaReads
from qsync.core.ready import Ticket, TimerKind
from qsync.core.replicated_log import ReplicatedLog
from qsync.core.waiters import Waiters


class ReplicaState:
    """Every input that may change the election goes through here, and `follow` comes after each.

    So the role is never behind the election's: `leader` exists exactly while `raft` leads, and
    `follower` acts in its term otherwise. The voters are never behind the log.

    `led`: the newest term in which this node began to lead, for observers: it may have been
    deposed in the very batch in which it was elected, and its PROMOTE is in its log all the same.
    `wall`: the time for people. `on_deposed`: called with a leadership that has just ended.
    """

    def __init__(
        self, config: CoreConfig, *, replicated_log: ReplicatedLog, raft: Raft, life: int
    ) -> None:
        self.config: CoreConfig = config
        self.replicated_log = replicated_log
        self.raft = raft
        self.peers: Peers = {}
        self.waiters = Waiters()
        self.reads = ReplicaReads(life)
        self.out = Outbox()
        self.leader: Leader | None = None
        self.follower = Follower(config, replicated_log, term=raft.term)
        self.led = 0
        self.wall = 0.0
        self.on_deposed: list[Callable[[Leader], None]] = []

    @property
    def term(self) -> Term:
        """The term of this node; durable before any answer carries it."""
        return self.raft.state.ballot.term

    @property
    def counts(self) -> bool:
        """Whether the node votes and its acks count: a voter that has forgotten nothing."""
        return self.raft.electorate.named and self.raft.ballot.member

    # -- inputs of the election

    def start(self) -> None:
        """Arm the first timer of the election."""
        self._follow_removal()
        self.raft.start()
        self.follow()

    def clock(self, now: float) -> None:
        """Take the time: a leader that was paused for too long steps down here."""
        self.raft.clock(now)
        self.follow()

    def observe(self, term: Term, leader: Replica | None) -> bool:
        """Take term and leader of a message, before anything else of it (protocol.md 3.5)."""
        current = self.raft.observe(term, leader)
        self.follow()
        return current

    def received(self, message: ElectionMessage) -> None:
        """Take a peer's message about elections."""
        # The same batch may have moved the end of our log.
        self.raft.set_last_position(self.replicated_log.log.position)
        self.raft.received(message)
        self.follow()

    def timer(self, kind: str) -> None:
        """Handle a timer of the election."""
        self.raft.set_last_position(self.replicated_log.log.position)
        self.raft.timer(kind)
        self.follow()

    def ballot_written(self, ballot: Ballot) -> None:
        """Note that that ballot is durable."""
        self.raft.ballot_written(ballot)
        self.follow()

    def campaign(self) -> str | None:
        """Ask for votes because an operator wants this node to lead. Returns why not, if so.

        The role is followed with the next input: `ready` is no place to begin another term in.
        """
        self.raft.set_last_position(self.replicated_log.log.position)
        return self.raft.campaign.promote()

    def leader_gone(self) -> None:
        """Note that the leader's address refuses connections."""
        self.raft.campaign.leader_gone()
        self.follow()

    def resign(self, why: str) -> None:
        """Stop leading, and notify the peers."""
        self.raft.transfer.resign(why)
        self.follow()

    def set_configuration(self, config: CoreConfig) -> None:
        """Give this configuration to all parts that keep a copy."""
        self.config = self.follower.config = config
        leader = self.leader
        if leader is not None:
            leader.config = leader.rounds.config = config

    # -- what is done by leaders and followers alike

    def answer(self, ticket: Ticket, refused: str | None = None) -> None:
        """A read or an operation may be answered; negative tickets are followers' reads."""
        asked = self.out.take_ask(ticket)
        if asked is None:
            self.out.answer(ticket, refused)
            return
        follower, number = asked
        place = None if refused else self.replicated_log.readable_place
        self.out.send(follower, ReadIndexResponse(term=self.term, ask=number, place=place))

    def roll_back(self, why: str) -> int:
        """Roll back all that is pending; returns how many transactions that were."""
        leader, queue = self.leader, self.replicated_log.limbo.queue
        assert leader is not None
        count = len(queue)
        first = queue[0].index if queue else Index(0)
        entry = leader.roll_back(self.wall)
        if entry is None:
            return 0
        # protocol.md section 5: the decision is one step, nothing pending escapes it.
        assert not self.replicated_log.limbo.queue
        self.waiters.rolled_back(first)
        self.out.add_event("rollback", first=first, record=entry.index, transactions=count, why=why)
        return count

    # -- the role

    def follow(self) -> None:
        """Follow the election's role, and the log's voters."""
        configurations = self.replicated_log.configurations
        if configurations.in_force is not configurations.followed:
            self.follow_configuration()
        elif self.raft.electorate.outgoing or configurations.leaves:
            self._follow_removal()
        raft, leader = self.raft.state, self.leader
        if leader is not None and (raft.role is not Role.LEADER or raft.ballot.term != leader.term):
            self._step_down(leader)
        if self.leader is None and raft.role is Role.LEADER:
            self._take_over()
        if self.leader is None and self.follower.term != raft.ballot.term:
            self.follower = self._new_follower()
            self.out.answers(self.reads.leader_lost())
        # One leader a term (Raft §5.2), and one half of the role on each side.
        assert (self.leader is not None) == (raft.role is Role.LEADER)
        assert self.leader is None or self.leader.term == raft.ballot.term

    def follow_configuration(self) -> None:
        """Count by the configuration in force in the log, from where it was appended (M1 b)."""
        configurations = self.replicated_log.configurations
        configuration = configurations.in_force
        if configuration is configurations.followed:
            return
        configurations.followed = configuration
        if configuration is not None:
            configurations.leaves = (
                configuration.role_of(self.config.me, self.config.instance) is None
            )
            votes = is_named(self.config, configuration)
            self.set_configuration(replace(self.config, voters=configuration.replicas, votes=votes))
            follow_members(self.peers, configuration, me=self.config.me)
        else:
            for progress in self.peers.values():
                progress.take_role(None)
        voters, named = self.config.voters, is_named(self.config, configuration)
        self.raft.set_voters(voters, majority(len(voters)), named=named)
        self._follow_removal()
        self.out.add_event("configuration", voters=list(voters), named=named)

    def _follow_removal(self) -> None:
        """Let a removed node campaign until it knows its removal as confirmed (M4 d)."""
        configurations, confirmed = (
            self.replicated_log.configurations,
            self.replicated_log.confirmed,
        )
        electorate = self.raft.electorate
        was, electorate.outgoing = (
            electorate.outgoing,
            configurations.is_outgoing(self.config, confirmed),
        )
        if was and not electorate.outgoing:
            self.raft.campaign.drop_round()
        if configurations.leaves and configurations.changed_at() <= confirmed:
            # No leader sends it more, so there is no entry that this could be written with.
            configurations.leaves, self.replicated_log.pending_writes.overdue = False, True

    def _new_follower(self) -> Follower:
        follower = Follower(self.config, self.replicated_log, term=self.raft.term)
        follower.split = self.follower.split
        return follower

    def _take_over(self) -> None:
        last, now = self.replicated_log.log.last, self.replicated_log.now
        for each in self.peers.values():
            each.reset(epoch=each.epoch, connected=each.connected, last=last, now=now)
        self.leader = Leader(
            self.config,
            self.replicated_log,
            term=self.raft.term,
            followers=self.peers,
            wall=self.wall,
        )
        self.out.answers(self.reads.leader_lost())
        self.leader.begin_round(self.out.send)
        self.led = self.raft.term
        self.out.add_event("promote", term=self.raft.term, index=self.leader.promoted_at)

    def _step_down(self, leader: Leader) -> None:
        self.leader = None
        self.waiters.deposed()
        for refused in leader.rounds.reads.refuse_all("this node no longer leads"):
            self.answer(refused.ticket, refused.refused)
        self.follower = self._new_follower()
        self.out.disarm(TimerKind.HAND_OVER)
        self.out.disarm(TimerKind.DEMOTION)
        # The demote that wanted the leadership to end is answered.
        for ticket in leader.stopping.tickets if leader.stopping is not None else ():
            self.answer(ticket)
        for deposed in self.on_deposed:
            deposed(leader)
