"""Broken rules of acks and confirming (protocol.md 3)."""

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial

from typing_extensions import override

from election.messages import Index
from qsync.core.config import CoreConfig
from qsync.core.follower import Follower, before_transactions
from qsync.core.inputs import Input, Received
from qsync.core.leader import Leader
from qsync.core.messages import Append, AppendResponse, Heartbeat
from qsync.core.progress import Membership, Progress
from qsync.core.replicated_log import ReplicatedLog
from qsync.replica import Replica as Core
from qsync.sim.mutants.mutant import (
    Mutant,
    every_follower,
    every_leader,
    every_progress,
    keep,
    put,
)

# -- followers


class _Hasty(Follower):
    @override
    def ack(self) -> AppendResponse | None:
        """What has arrived, durable or not."""
        durable, self.replicated_log = self.replicated_log, _Optimist(self.replicated_log)
        try:
            return super().ack()
        finally:
            self.replicated_log = durable


class _Optimist(ReplicatedLog):
    """Looks like the replicated log, but everything is written."""

    def __init__(self, real: ReplicatedLog) -> None:
        self.__dict__.update(real.__dict__)

    @property
    @override
    def written(self) -> Index:
        """All of it."""
        return self.log.last


class _Bold(Follower):
    @override
    def ack(self) -> AppendResponse | None:
        """All that is durable, the leader's or not."""
        self.matched = max(self.matched, self.replicated_log.written)
        return super().ack()


class _Forgiving(Follower):
    @override
    def _split_at(self, index: Index, term: int, crc: int) -> None:
        """As if nothing were."""


class _Credulous(Follower):
    @override
    def heartbeat(self, message: Heartbeat) -> None:
        """The confirmed index is taken for as much as there is of the log."""
        self.leader_last = message.last
        if self.replicated_log.confirmed < message.confirmed <= self.replicated_log.log.last:
            self.replicated_log.confirm(message.confirmed)


def _as_much_as_is_left(core: Core) -> None:
    """A batch that is cut short keeps what was said of the whole, as far as it reaches now."""
    honest = core.step

    def step(event: Input) -> None:
        if isinstance(event, Received) and isinstance(event.message, Append):
            whole = event.message
            short = before_transactions(whole)
            if core.has_no_room and short.last < whole.last:
                confirmed = min(whole.confirmed, short.last)
                event = replace(event, message=replace(short, confirmed=confirmed))
        honest(event)

    put(core, step=step)


# -- leaders


class _Careless(CoreConfig):
    @property
    @override
    def quorum(self) -> int:
        """One voter short."""
        return self.synchro_quorum.of(len(self.voters)) - 1


class _Literal(CoreConfig):
    @property
    @override
    def quorum(self) -> int:
        """What is asked for, a majority or not."""
        return self.synchro_quorum.sizes[len(self.voters) - 1]


def _configured(core: Core, kind: type[CoreConfig]) -> None:
    """In all that copies are made of its configuration."""
    own = core.machine.config
    known = {each.name: getattr(own, each.name) for each in fields(CoreConfig)}
    changed = kind(**known)
    keep(core, _own=changed)
    core.machine.state.set_configuration(changed)


def _below_majority(core: Core) -> None:
    def check(shared: Mapping[str, str]) -> None:
        """Whatever it is."""

    _configured(core, _Literal)
    keep(core, _check_settings=check)


def _count(leader: Leader, *, any_term: bool, in_stretch: bool, more: int) -> None:
    replicated_log, limbo = leader.replicated_log, leader.replicated_log.limbo
    q = leader._quorum_has()
    if q <= limbo.confirmed or (not any_term and replicated_log.log.term_at(q) != leader.term):
        return
    index = q if in_stretch else limbo.clip(q)
    index = Index(min(index + more, replicated_log.log.last))
    if index > limbo.confirmed:
        replicated_log.confirm(index)
        leader.confirm_due = True


def _counts(core: Core, *, any_term: bool = False, in_stretch: bool = False, more: int = 0) -> None:
    def change(leader: Leader) -> None:
        put(leader, count=partial(
            _count, leader, any_term=any_term, in_stretch=in_stretch, more=more
        ))  # fmt: skip

    every_leader(core, change)


def _carried(core: Core) -> None:
    limbo = core.machine.replicated_log.limbo

    def clip_carried(end: Index) -> Index:
        return min(limbo.confirmed, end)

    put(limbo, clip_carried=clip_carried)


class _Proud(Leader):
    @override
    def _quorum_has(self) -> Index:
        """With our own entries as if they were written."""
        real, self.replicated_log = self.replicated_log, _Optimist(self.replicated_log)
        try:
            return super()._quorum_has()
        finally:
            self.replicated_log = real


class _OfAnyTerm(Leader):
    @override
    def appended(self, answer: AppendResponse) -> bool:
        """An ack is an ack, whichever leader it was for."""
        return super().appended(replace(answer, term=self.term))


class _OfAnyConnection(Leader):
    @override
    def appended(self, answer: AppendResponse) -> bool:
        """And over whichever connection it came."""
        epoch = self.followers[answer.follower].epoch
        return super().appended(replace(answer, epoch=epoch))


def every_leader_is(core: Core, kind: type[Leader]) -> None:
    """Each leadership of this process is of that kind."""

    def change(leader: Leader) -> None:
        leader.__class__ = kind

    every_leader(core, change)


# -- what is known of followers


class _Keeping(Progress):
    __slots__ = ()

    @override
    def reset(self, *, epoch: int, connected: bool, last: Index, now: float) -> None:
        """What was acked once stays acked, over connections and terms."""
        match = self.match
        super().reset(epoch=epoch, connected=connected, last=last, now=now)
        self.match = match


class _Welcoming(Progress):
    __slots__ = ()

    @property
    @override
    def counts(self) -> bool:
        """Also who may have forgotten what it acked."""
        return self.membership is not Membership.STRANGER


COUNTING = (
    Mutant(
        name="ack_before_durable",
        rule="protocol.md 3.5",
        without="a follower acks entries before they are durable",
        remodel=partial(every_follower, kind=_Hasty),
    ),
    Mutant(
        name="ack_of_another_log",
        rule="protocol.md 3.5",
        without="a follower acks its whole log, also entries that the leader does not have",
        remodel=partial(every_follower, kind=_Bold),
    ),
    Mutant(
        name="ack_of_older_term",
        rule="protocol.md 3.5",
        without="an ack sent to a leader of an older term counts",
        remodel=partial(every_leader_is, kind=_OfAnyTerm),
    ),
    Mutant(
        name="ack_of_older_connection",
        rule="protocol.md 3.5",
        without="an ack from an earlier connection counts",
        remodel=partial(every_leader_is, kind=_OfAnyConnection),
    ),
    Mutant(
        name="match_kept",
        rule="protocol.md 3.5",
        without="acks from earlier connections and terms keep counting",
        remodel=partial(every_progress, kind=_Keeping),
    ),
    Mutant(
        name="quorum_minus_one",
        rule="protocol.md 3.6",
        without="one ack less than a quorum confirms an entry",
        remodel=partial(_configured, kind=_Careless),
    ),
    Mutant(
        name="quorum_below_majority",
        rule="membership.md M10",
        without="a quorum below a majority is accepted and used",
        remodel=_below_majority,
    ),
    Mutant(
        name="own_write_not_awaited",
        rule="protocol.md 3.6",
        without="the leader counts its own entry before it is durable",
        remodel=partial(every_leader_is, kind=_Proud),
    ),
    Mutant(
        name="confirms_one_more",
        rule="protocol.md 3.6",
        without="the confirmed index is one too high",
        remodel=partial(_counts, more=1),
    ),
    Mutant(
        name="confirm_older_term",
        rule="protocol.md 3.6",
        without="an entry of an older term is confirmed by counting acks",
        remodel=partial(_counts, any_term=True),
    ),
    Mutant(
        name="stretch_rule_leader",
        rule="protocol.md 3.8",
        without="the confirmed index may stop inside a rolled-back stretch",
        remodel=partial(_counts, in_stretch=True),
    ),
    Mutant(
        name="stretch_rule_carried",
        rule="protocol.md 3.8",
        without="the confirmed index sent with a batch may lie inside a rolled-back stretch",
        remodel=_carried,
    ),
    Mutant(
        name="stretch_rule_shortened",
        rule="protocol.md 3.8",
        without="a batch shortened for lack of memory may confirm up to inside a rolled-back "
        "stretch",
        remodel=_as_much_as_is_left,
    ),
    Mutant(
        name="heartbeat_beyond_matched",
        rule="protocol.md 3.8",
        without="a follower applies a heartbeat's confirmed index beyond the part of its log that "
        "matches the leader's",
        remodel=partial(every_follower, kind=_Credulous),
        harmless="a heartbeat carries no more than this node acked in this term, and that is "
        "durable here: a restart does not change this part of the log",
    ),
    Mutant(
        name="recruit_acks_count",
        rule="membership.md M5",
        without="acks of a recruit count before it has caught up",
        remodel=partial(every_progress, kind=_Welcoming),
        harmless="its ack covers all earlier entries too, and it does not vote until it has the "
        "leader's whole log",
    ),
    Mutant(
        name="split_unnoticed",
        rule="protocol.md 7",
        without="a node keeps following although its confirmed data differs from its leader's",
        remodel=partial(every_follower, kind=_Forgiving),
        harmless="a second defence: confirmed logs differ only after damage, or when two clusters "
        "were mixed",
    ),
)  # fmt: skip
