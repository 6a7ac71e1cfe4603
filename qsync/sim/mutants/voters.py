"""Broken rules of voters: which nodes count, from when on, and after a lost disk."""

from dataclasses import replace
from functools import partial

from typing_extensions import override

from election.messages import Ballot, Index, Replica, RequestVoteResponse
from election.quorum import majority
from qsync.core import inputs
from qsync.core.configuration import Configuration, Configurations
from qsync.core.leader import Leader
from qsync.core.messages import Heartbeat, Message
from qsync.core.progress import Membership, Progress
from qsync.core.rounds import HeartbeatRounds, Send
from qsync.member import Member
from qsync.record import ONE_INSTANCE, Instance
from qsync.replica import Replica as Core
from qsync.sim.mutants.mutant import Mutant, every_leader, every_progress, put

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


VOTERS = (
    Mutant(
        name="pair_ignored",
        rule="membership.md M1 d",
        without="votes and acks are counted by replica id, without the instance id of the "
        "directory",
        remodel=_pair_ignored,
    ),
    Mutant(
        name="votes_of_strangers",
        rule="membership.md M1 d",
        without="a vote of a stranger counts for the voter with the same replica id",
        remodel=_votes_of_strangers,
        harmless="a second defence: a node with another directory is not asked for that vote",
    ),
    Mutant(
        name="acks_of_strangers",
        rule="membership.md M1 d",
        without="an ack of a stranger counts for the voter with the same replica id",
        remodel=partial(every_progress, kind=_Hospitable),
    ),
    Mutant(
        name="configuration_from_file",
        rule="membership.md M1 c",
        without="a node with an empty log takes the voters from its settings",
        remodel=_by_the_settings,
        harmless="no other node counts its new directory as a voter (M1 d), so it wins no election",
    ),
    Mutant(
        name="damage_ignored",
        rule="membership.md M5",
        without="a node that lost its log votes and acks as if its log were complete",
        remodel=_damage_ignored,
    ),
    Mutant(
        name="recruit_admitted_at_once",
        rule="membership.md M5",
        without="a recruit votes before it has caught up",
        remodel=partial(_admits, caught_up_to_promote=False),
    ),
    Mutant(
        name="recruit_admitted_by_promote",
        rule="membership.md M5",
        without="a recruit votes as soon as it has the PROMOTE of the leader's term",
        remodel=partial(_admits, caught_up_to_promote=True),
    ),
    Mutant(
        name="recruit_votes_again",
        rule="membership.md M5",
        without="a node forgets its vote when it repairs its log",
        remodel=_votes_again,
    ),
)
