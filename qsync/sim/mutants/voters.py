"""Broken rules of membership: who counts, from when on, and what a lost disk means."""

from dataclasses import replace
from functools import partial

from typing_extensions import override

from election.messages import Ballot, Index, Replica, RequestVoteResponse
from election.quorum import majority
from qsync.core import inputs
from qsync.core.changes import Changes, ChangeUnderWay
from qsync.core.configuration import Configuration, Configurations
from qsync.core.leader import Leader
from qsync.core.limbo import Limbo
from qsync.core.member_change import MemberChange
from qsync.core.messages import Heartbeat, Message
from qsync.core.progress import Membership, Progress
from qsync.core.ready import LogAppended
from qsync.core.rounds import HeartbeatRounds, Send
from qsync.member import Member
from qsync.record import CONFIG, ONE_INSTANCE, WAIT_ACK, WAIT_SYNC, Entry, EntryKind, Instance
from qsync.replica import Replica as Core
from qsync.sim.mutants.counting import every_leader_is
from qsync.sim.mutants.fates import Impatient
from qsync.sim.mutants.mutant import Mutant, every_leader, every_progress, keep, put

# -- pairs


class _ById(Configuration):
    @override
    def names(self, replica: Replica, instance: Instance | None) -> bool:
        """Whoever has the id, on whatever directory."""
        return replica in self.replicas


class _AllById(Configurations):
    @property
    @override
    def in_force(self) -> Configuration | None:
        """The same object for as long as the voters are the same."""
        found, known = super().in_force, self.followed
        if found is None or (known is not None and known.members == found.members):
            return known if found is not None else None
        return _ById(found.members)


def _pair_ignored(core: Core) -> None:
    configurations = core.machine.replicated_log.configurations
    configurations.__class__ = _AllById
    if configurations.followed is not None:
        configurations.followed = _ById(configurations.followed.members)


def _votes_of_strangers(core: Core) -> None:
    machine = core.machine
    honest = machine.step

    def step(event: inputs.Input) -> None:
        followed = machine.replicated_log.configurations.followed
        if (
            isinstance(event, inputs.Received)
            and isinstance(event.message, RequestVoteResponse)
            and followed
        ):
            member = followed.member(event.peer)
            event = event if member is None else replace(event, instance=member.instance)
        honest(event)

    put(machine, step=step)


class _Hospitable(Progress):
    __slots__ = ()

    @property
    @override
    def counts(self) -> bool:
        """Whoever it is."""
        return True


def _by_the_settings(core: Core) -> None:
    """Who has no log, and no configuration in it, takes its settings for one."""
    machine = core.machine
    configurations, config = machine.replicated_log.configurations, machine.config
    if configurations.in_force is not None:
        return
    members = tuple(
        Member(each, config.instance if each == config.me else ONE_INSTANCE)
        for each in config.voters
    )
    configurations._founding = configurations.followed = Configuration(members)
    machine.raft.set_voters(config.voters, majority(len(config.voters)), named=True)


# -- from when on


class _Late(Configurations):
    @property
    @override
    def in_force(self) -> Configuration | None:
        """The last one that is confirmed."""
        for change in reversed(self._changes):
            if change.taken_back_by is None and change.index <= _confirmed(self):
                return change.configuration
        return self._founding


class _LateBack(Configurations):
    @property
    @override
    def in_force(self) -> Configuration | None:
        """A ROLLBACK takes a change back when it is confirmed."""
        for change in reversed(self._changes):
            if change.taken_back_by is None or change.taken_back_by > _confirmed(self):
                return change.configuration
        return self._founding


class _NeverBack(Configurations):
    @override
    def _rolled_back(self, first: Index, record: Index) -> None:
        """What was rolled back stays in force."""


class _Undecided(Configurations):
    @property
    @override
    def last_decisive(self) -> Index:
        """The next change waits for nothing."""
        return Index(0)


class _HalfDecided(Configurations):
    @property
    @override
    def last_decisive(self) -> Index:
        """It does not wait for the ROLLBACK of the last one."""
        if not self._changes or self._changes[-1].taken_back_by is not None:
            return Index(0)
        return self._changes[-1].index


def _confirmed(configurations: Configurations) -> Index:
    limbo = vars(configurations)["limbo"]
    assert isinstance(limbo, Limbo)
    return limbo.confirmed


def _configurations_are(core: Core, kind: type[Configurations]) -> None:
    configurations = core.machine.replicated_log.configurations
    keep(configurations, limbo=core.machine.replicated_log.limbo)
    configurations.__class__ = kind


# -- changes


class _Hurried(Impatient):
    @override
    def configure(self, configuration: Configuration, wall: float) -> Entry:
        """Without looking."""
        before = self.replicated_log.configurations.in_force
        assert before is not None
        body = self.replicated_log.configurations.codec.encode(
            configuration.members, before=before.members
        )
        entry = self._append(EntryKind.TXN, CONFIG | WAIT_SYNC | WAIT_ACK, body, wall)
        self.replicated_log.events.append(LogAppended([entry]))
        return entry


class _Thorough(Leader):
    @override
    def configure(self, configuration: Configuration, wall: float) -> Entry:
        """Whoever goes out comes in again at once, on the new directory."""
        before = self.replicated_log.configurations.in_force
        assert before is not None
        for replica in set(before.replicas) - set(configuration.replicas):
            instance = self.followers[replica].instance
            known = before.member(replica)
            assert instance is not None
            assert known is not None
            configuration = configuration.with_(replace(known, instance=instance))
        return super().configure(configuration, wall)


class _Unprepared(Changes):
    @override
    def start(self, change: MemberChange, *, force: bool = False) -> ChangeUnderWay:
        """Whoever comes, with however little of the log."""
        under_way = super().start(change, force=force)
        under_way.target = Index(0)
        return under_way


def _unprepared(core: Core) -> None:
    core.machine.operations.changes.__class__ = _Unprepared


def _keeps_no_quorum(core: Core) -> None:
    machine = core.machine

    def clock(now: float, wall: float = 0.0) -> None:
        machine.replicated_log.now = now
        machine.state.wall = wall
        machine.state.clock(now)

    put(machine, clock=clock)


# -- a log that was damaged


def _admits(core: Core, *, caught_up_to_promote: bool) -> None:
    """Recruits are admitted before they have the leader's log of a moment after their hello."""

    def change(leader: Leader) -> None:
        rounds = leader.rounds

        def start_round(send: Send, *, promoted_at: Index) -> None:
            def admitting(peer: Replica, message: Message) -> None:
                progress = leader.followers[peer]
                assert isinstance(message, Heartbeat)
                has = progress.is_replicating and progress.match >= promoted_at
                may = has or not caught_up_to_promote
                admit = progress.membership is Membership.RECRUIT and may
                send(peer, replace(message, admit=admit))

            HeartbeatRounds.start_round(rounds, admitting, promoted_at=promoted_at)

        put(rounds, start_round=start_round)

    every_leader(core, change)


def _votes_again(core: Core) -> None:
    state = core.machine.raft.state

    def become_member() -> None:
        if not state.ballot.member:
            state.ballot = Ballot(term=state.term, vote=None, member=True)
            state.out.mark_dirty()

    put(state, become_member=become_member)


def _damage_ignored(core: Core) -> None:
    machine = core.machine
    if machine.disk.quarantined is not None:
        machine.raft.state.ballot = replace(machine.raft.ballot, member=True)
        machine.disk.ballot = machine.raft.out.durable = machine.raft.ballot


_ONLY_REPLACED = (
    "the only change that there is replaces a lost disk, whose old pair never answers again: the "
    "quorums of both configurations meet among the rest; it counts when voters come and go"
)

VOTERS = (
    Mutant(
        name="pair_ignored",
        rule="membership.md M1 d",
        without="votes and acks are counted by replica id, whatever directory it runs on",
        remodel=_pair_ignored,
    ),
    Mutant(
        name="votes_of_strangers",
        rule="membership.md M1 d",
        without="a vote of another directory counts for the voter of its id",
        remodel=_votes_of_strangers,
        harmless="a second line: who runs on another directory is not asked for that vote",
    ),
    Mutant(
        name="acks_of_strangers",
        rule="membership.md M1 d",
        without="an ack of another directory counts for the voter of its id",
        remodel=partial(every_progress, kind=_Hospitable),
    ),
    Mutant(
        name="configuration_from_file",
        rule="membership.md M1 c",
        without="a node with an empty log takes the voters from its settings",
        remodel=_by_the_settings,
        harmless="nobody else knows its new directory as a voter (M1 d), so it wins nothing",
    ),
    Mutant(
        name="configured_when_confirmed",
        rule="membership.md M1 b",
        without="a configuration counts from where it is confirmed, not from where it is appended",
        remodel=partial(_configurations_are, kind=_Late),
        harmless=_ONLY_REPLACED,
    ),
    Mutant(
        name="two_changes_in_one",
        rule="membership.md M1 a",
        without="the old directory goes out and the new one comes in by one entry",
        remodel=partial(every_leader_is, kind=_Thorough),
    ),
    Mutant(
        name="change_before_promote",
        rule="membership.md M2 a",
        without="a leader changes the configuration before its PROMOTE is confirmed",
        remodel=partial(every_leader_is, kind=_Hurried),
        harmless=_ONLY_REPLACED,
    ),
    Mutant(
        name="change_undecided",
        rule="membership.md M2 b",
        without="the next change does not wait until the former one is decided",
        remodel=partial(_configurations_are, kind=_Undecided),
    ),
    Mutant(
        name="rollback_of_change_undecided",
        rule="membership.md M3 b",
        without="the next change does not wait until the ROLLBACK of the former one is confirmed",
        remodel=partial(_configurations_are, kind=_HalfDecided),
    ),
    Mutant(
        name="change_back_when_confirmed",
        rule="membership.md M3 c",
        without="a change is taken back where its ROLLBACK is confirmed, not where it is appended",
        remodel=partial(_configurations_are, kind=_LateBack),
        harmless=_ONLY_REPLACED,
    ),
    Mutant(
        name="rolled_back_stays_in_force",
        rule="membership.md M3 d",
        without="a configuration that was rolled back goes on counting",
        remodel=partial(_configurations_are, kind=_NeverBack),
        harmless=_ONLY_REPLACED,
    ),
    Mutant(
        name="change_keeps_its_quorum",
        rule="membership.md M3 f",
        without="a leader steps down rather than take back the change that took its quorum",
        remodel=_keeps_no_quorum,
        harmless="what it leaves is inherited and waits for its own quorum: only time is lost",
    ),
    Mutant(
        name="replaced_unprepared",
        rule="membership.md M4 a",
        without="a new directory becomes a voter before it has the log",
        remodel=_unprepared,
        harmless="the new quorum may not be there until it has caught up: only time is lost",
    ),
    Mutant(
        name="damage_ignored",
        rule="membership.md M5",
        without="a node that lost its log votes and acks as if it had forgotten nothing",
        remodel=_damage_ignored,
    ),
    Mutant(
        name="recruit_admitted_at_once",
        rule="membership.md M5",
        without="a node that repairs its log votes again before it has caught up",
        remodel=partial(_admits, caught_up_to_promote=False),
    ),
    Mutant(
        name="recruit_admitted_by_promote",
        rule="membership.md M5",
        without="it votes again when it has the PROMOTE of the leader's term",
        remodel=partial(_admits, caught_up_to_promote=True),
    ),
    Mutant(
        name="recruit_votes_again",
        rule="membership.md M5",
        without="a node that repaired its log forgot the vote that it gave",
        remodel=_votes_again,
    ),
)
