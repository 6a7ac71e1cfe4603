"""Broken rules of membership changes: membership.md M1 a, M4, M10, and learners."""

from functools import partial

from typing_extensions import override

from election.messages import Index, RejectReason, RequestVote
from election.voter import Voter
from qsync.core.configuration import Configuration
from qsync.core.leader import Leader
from qsync.core.progress import Membership, quorumth
from qsync.core.ready import Ready
from qsync.core.rounds import Send
from qsync.record import Entry
from qsync.replica import Replica as Core
from qsync.sim.mutants.counting import every_leader_is
from qsync.sim.mutants.mutant import Mutant, put


class _InPairs(Leader):
    @override
    def configure(self, configuration: Configuration, wall: float) -> Entry:
        """With a voter another one goes, if one is left."""
        before = self.replicated_log.configurations.in_force
        assert before is not None
        others = [each for each in configuration.replicas if each != self.config.me]
        if set(before.replicas) - set(configuration.replicas) and others:
            configuration = configuration.without(others[0])
        return super().configure(configuration, wall)


class _Present(Leader):
    @override
    def _quorum_has(self) -> Index:
        """It counts itself, a voter or not."""
        matches: list[float] = [self.replicated_log.written]
        matches += [each.match for each in self.followers.values() if each.counts]
        quorum = self.config.quorum
        return Index(int(quorumth(matches, quorum)) if len(matches) >= quorum else 0)


class _CountsLearners(Leader):
    @override
    def _quorum_has(self) -> Index:
        """Whoever is a member counts."""
        matches: list[float] = [self.replicated_log.written] if self.config.votes else []
        matches += [
            each.match
            for each in self.followers.values()
            if each.counts or each.membership is Membership.LEARNER
        ]
        quorum = self.config.quorum
        return Index(int(quorumth(matches, quorum)) if len(matches) >= quorum else 0)


class _FormerQuorum(Leader):
    @override
    def _quorum_has(self) -> Index:
        """As many as were needed before the last change are enough."""
        configurations = self.replicated_log.configurations
        former = configurations.before(configurations.changed_at())
        assert former is not None
        quorum = self.config.synchro_quorum.of(len(former.replicas))
        matches: list[float] = [self.replicated_log.written] if self.config.votes else []
        matches += [each.match for each in self.followers.values() if each.counts]
        return Index(int(quorumth(matches, quorum)) if len(matches) >= quorum else 0)


class _ServesAll(Leader):
    @override
    def replicate(self, send: Send) -> None:
        """Whoever is connected gets all."""
        outside = [
            each for each in self.followers.values() if each.membership is Membership.STRANGER
        ]
        for each in outside:
            each.membership = Membership.ANONYMOUS
        super().replicate(send)
        for each in outside:
            each.membership = Membership.STRANGER


class _OnlyAsVoter(Voter):
    @override
    def refusal(self, ask: RequestVote) -> RejectReason | None:
        """Who does not know itself as a voter gives no vote."""
        refused = super().refusal(ask)
        unknown = refused is None and not self._state.electorate.is_voter
        return RejectReason.RECRUIT if unknown else refused


def _only_as_voter(core: Core) -> None:
    core.machine.raft.voter.__class__ = _OnlyAsVoter


def _leads_on(core: Core) -> None:
    def stays() -> None:
        """Whoever is a voter."""

    put(core.machine.operations, _leave_if_removed=stays)


def _goes_at_once(core: Core) -> None:
    def forgets() -> None:
        """What is appended is taken for confirmed."""

    put(core.machine.state, _follow_removal=forgets)


def _speaks_on(core: Core) -> None:
    def says(_ready: Ready) -> None:
        """What it would say anyway."""

    put(core.machine.superseding, silence=says)


def _leads_superseded(core: Core) -> None:
    def knows(cluster: str) -> None:
        """And does nothing about it."""
        core.machine.disk.superseded = cluster

    put(core.machine.superseding, supersede=knows)


MEMBERS = (
    Mutant(
        name="two_voters_at_once",
        rule="membership.md M1 a",
        without="one entry removes two voters",
        remodel=partial(every_leader_is, kind=_InPairs),
    ),
    Mutant(
        name="removed_counts_itself",
        rule="membership.md M4 b",
        without="a leader that removed itself counts its own disk",
        remodel=partial(every_leader_is, kind=_Present),
    ),
    Mutant(
        name="removed_leads_on",
        rule="membership.md M4 c",
        without="a leader that removed itself does not hand over",
        remodel=_leads_on,
    ),
    Mutant(
        name="removed_gives_up",
        rule="membership.md M4 d",
        without="a voter does not campaign once its removal is appended",
        remodel=_goes_at_once,
    ),
    Mutant(
        name="removed_gets_the_log",
        rule="membership.md M4 f",
        without="a leader sends its log to every node that is connected, a member or not",
        remodel=partial(every_leader_is, kind=_ServesAll),
    ),
    Mutant(
        name="votes_only_as_voter",
        rule="membership.md M4 e",
        without="a node that is not a voter by its own log refuses to vote",
        remodel=_only_as_voter,
    ),
    Mutant(
        name="learner_counts",
        rule="protocol.md 7",
        without="an ack of a learner counts for the quorum",
        remodel=partial(every_leader_is, kind=_CountsLearners),
    ),
    Mutant(
        name="quorum_of_former_configuration",
        rule="membership.md M10",
        without="the quorum of the previous configuration is enough to confirm",
        remodel=partial(every_leader_is, kind=_FormerQuorum),
    ),
    Mutant(
        name="superseded_speaks",
        rule="membership.md M8 e",
        without="a superseded node still sends and answers messages",
        remodel=_speaks_on,
    ),
    Mutant(
        name="superseded_leads",
        rule="membership.md M8 e",
        without="a superseded leader does not step down",
        remodel=_leads_superseded,
    ),
)
