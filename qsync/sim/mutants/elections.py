"""Broken rules of elections and of following: votes, terms, and logs (protocol.md 2)."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from typing_extensions import override

from election.campaign import Campaign
from election.messages import Index, Position, RejectReason, Replica, RequestVote, Term
from election.raft import Raft
from election.raft_state import RaftState
from qsync.core import inputs
from qsync.core.disk import DiskState
from qsync.core.follower import Follower
from qsync.core.messages import Append
from qsync.core.ready import Ready, Write
from qsync.core.stopping import LeadershipTransfer
from qsync.replica import Replica as Core
from qsync.sim.mutants.mutant import Mutant, every_follower, put


def _forgetful(write: Write) -> Write:
    """A disk that keeps the term and forgets the vote."""
    return replace(write, ballot=replace(write.ballot, vote=None))


def _outruns_ballot(core: Core) -> None:
    out = core.machine.state.out
    honest = out.fill

    def fill(ready: Ready, *, durable: bool) -> None:
        del durable
        honest(ready, durable=True)

    put(out, fill=fill)


def _asked(core: Core, change: Callable[[Raft, RequestVote], RequestVote]) -> None:
    """Answers as if something else had been asked."""
    raft = core.machine.raft
    honest = raft.voter.refusal

    def refusal(ask: RequestVote) -> RejectReason | None:
        return honest(change(raft, ask))

    put(raft.voter, refusal=refusal)


def _as_long(raft: Raft, ask: RequestVote) -> RequestVote:
    if ask.position.index < raft.state.position.index:
        return replace(ask, position=Position(Term(0), Index(0)))
    return replace(ask, position=max(ask.position, raft.state.position))


def _as_good(raft: Raft, ask: RequestVote) -> RequestVote:
    return replace(ask, position=max(ask.position, raft.state.position))


def _permitted(_raft: Raft, ask: RequestVote) -> RequestVote:
    return replace(ask, transfer=True)


def _votes_twice(core: Core) -> None:
    raft = core.machine.raft
    honest = raft.voter.refusal

    def refusal(ask: RequestVote) -> RejectReason | None:
        nay = honest(ask)
        own = raft.ballot.vote == raft.electorate.me
        return None if nay is RejectReason.VOTED_FOR_OTHER and not own else nay

    put(raft.voter, refusal=refusal)


class _Easy(Campaign):
    @property
    @override
    def votes_needed(self) -> int:
        """A vote less than a majority elects."""
        return super().votes_needed - 1


class _Obedient(RaftState):
    @override
    def observe(self, term: Term, leader: Replica | None) -> bool:
        """Who led before may go on sending."""
        return term < self.term or super().observe(term, leader)


class _Unguarded(RaftState):
    @override
    def clock(self, now: float) -> None:
        """A leader never looks whether it still hears a quorum."""
        self.now = now


class _Abrupt(Campaign):
    @override
    def pre_vote(self) -> None:
        """Never."""
        self.campaign(promoted=False)


def _state_is(core: Core, kind: type[RaftState]) -> None:
    core.machine.raft.state.__class__ = kind


def _campaign_is(core: Core, kind: type[Campaign]) -> None:
    core.machine.raft.campaign.__class__ = kind


class _Unread(Follower):
    @override
    def _hint(self, message: Append) -> Index | None:
        """Whatever is before the batch, it fits."""
        return (
            self.replicated_log.log.last
            if message.prev_index > self.replicated_log.log.last
            else None
        )


class _Unworried(DiskState):
    @property
    @override
    def stuck(self) -> float:
        """Never."""
        return 0.0


def _disk_is(core: Core, kind: type[DiskState]) -> None:
    core.machine.disk.__class__ = kind


def _failed_is_written(core: Core) -> None:
    machine = core.machine
    honest = machine.step

    def step(event: inputs.Input) -> None:
        honest(inputs.Written(id=event.id) if isinstance(event, inputs.WriteFailed) else event)

    put(machine, step=step)


def _hands_over_early(core: Core) -> None:
    machine = core.machine
    honest = machine.ready

    def ready() -> Ready:
        leader = machine.leader
        going = leader.stopping if leader is not None else None
        if isinstance(going, LeadershipTransfer) and not going.timeout_now_sent:
            going.timeout_now_sent = True
            machine.raft.transfer.send_timeout_now(going.to, within=going.timeout)
        return honest()

    put(machine, ready=ready)


ELECTIONS = (
    Mutant(
        name="vote_not_persisted",
        rule="protocol.md 2",
        without="a vote is sent, but never written to the disk",
        seal=_forgetful,
    ),
    Mutant(
        name="answers_before_ballot",
        rule="protocol.md 2",
        without="messages that depend on a new term or vote are sent before it is durable",
        remodel=_outruns_ballot,
    ),
    Mutant(
        name="vote_by_length",
        rule="protocol.md 2",
        without="a voter compares the lengths of the logs, not their last terms",
        remodel=partial(_asked, change=_as_long),
    ),
    Mutant(
        name="vote_unchecked",
        rule="protocol.md 2",
        without="a voter does not compare the candidate's log with its own",
        remodel=partial(_asked, change=_as_good),
    ),
    Mutant(
        name="votes_twice",
        rule="protocol.md 2",
        without="a voter votes for two candidates in one term",
        remodel=_votes_twice,
    ),
    Mutant(
        name="minority_elects",
        rule="protocol.md 2",
        without="one vote less than a majority is enough to win an election",
        remodel=partial(_campaign_is, kind=_Easy),
    ),
    Mutant(
        name="votes_while_loyal",
        rule="membership.md M11",
        without="a voter breaks the promise that it gave to its leader",
        remodel=partial(_asked, change=_permitted),
    ),
    Mutant(
        name="older_leader_obeyed",
        rule="protocol.md 7",
        without="a follower accepts messages from a leader of an older term",
        remodel=partial(_state_is, kind=_Obedient),
    ),
    Mutant(
        name="entry_before_unchecked",
        rule="protocol.md 7",
        without="a follower appends a batch without checking the entry before it",
        remodel=partial(every_follower, kind=_Unread),
    ),
    Mutant(
        name="failed_write_counts",
        rule="protocol.md 2",
        without="a failed write counts as durable",
        remodel=_failed_is_written,
    ),
    Mutant(
        name="pre_vote_skipped",
        rule="protocol.md 2",
        without="a campaign begins without a pre-vote",
        remodel=partial(_campaign_is, kind=_Abrupt),
        harmless="pre-vote only keeps a flapping node from deposing a healthy leader; votes "
        "decide the election",
    ),
    Mutant(
        name="never_fenced",
        rule="protocol.md 2",
        without="a leader without a quorum does not step down",
        remodel=partial(_state_is, kind=_Unguarded),
        harmless="its writes stay pending without a quorum, and its reads need a quorum or a lease",
    ),
    Mutant(
        name="hung_disk_unnoticed",
        rule="protocol.md 2",
        without="a leader whose disk hangs still sends heartbeats",
        remodel=partial(_disk_is, kind=_Unworried),
        harmless="it still confirms only what a quorum of disks has: only time is lost",
    ),
    Mutant(
        name="hands_over_early",
        rule="protocol.md 2",
        without="a leader transfer starts before the successor has the leader's whole log",
        remodel=_hands_over_early,
        harmless="it wins only if it has every confirmed entry; entries that are cut were never "
        "answered",
    ),
)
