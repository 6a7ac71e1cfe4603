"""The leader's knowledge of each follower: how far it is, and how to replicate to it."""

from collections.abc import Iterable
from enum import Enum
from typing import assert_never

from election.messages import Index, Replica, Term
from qsync.core.logindex import LogIndex
from qsync.core.messages import AppendResponse
from qsync.member import MemberRole
from qsync.record import Instance


class Membership(Enum):
    """The membership of a peer, as the leader sees it."""

    STRANGER = 1
    """The configuration in force does not name the directory that it runs on."""
    LEARNER = 2
    """A member that receives everything and counts nowhere."""
    RECRUIT = 3
    """A voter that may have forgotten acks, or has not said yet that it has not."""
    VOTER = 4
    ANONYMOUS = 5
    """No member, and admitted to follow all the same."""


class ReplicationState(Enum):
    """How the leader sends to a follower (etcd-io/raft, `tracker/state.go`: Probe, Replicate).

        PROBE        an empty batch is due that asks where the logs agree
        PROBE_SENT   it is on its way; nothing else is sent until it is answered or given up
        REPLICATE    batches are sent one after the other, without waiting for answers

        SNAPSHOT        what it lacks is not in our log any more: a snapshot is to be offered
        SNAPSHOT_SENT   the offer is on its way, or the rows are

    A new connection or term begins with PROBE. An ack leads to REPLICATE from any state, a refusal
    and a silence that lasts lead back to PROBE; a refusal that leads to before our log, to SNAPSHOT
    (protocol.md section 7: too far behind for the log).
    """

    PROBE = 1
    PROBE_SENT = 2
    REPLICATE = 3
    SNAPSHOT = 4
    SNAPSHOT_SENT = 5


class Progress:
    """One follower, within one connection epoch. Acks of an older epoch do not count.

    `instance`: the directory that it runs on. `features`: those of the log that it knows.
    `match`: durable there and equal to our log. `sent`: everything up to it is on its way.
    Invariant: 0 <= match <= sent (etcd-io/raft says 0 <= Match < Next, and Next is sent + 1).
    `hello_at`: how long our log was when we connected.
    """

    __slots__ = (
        "connected",
        "epoch",
        "features",
        "heard_at",
        "hello_at",
        "instance",
        "match",
        "membership",
        "moved_at",
        "peer",
        "sent",
        "state",
    )

    def __init__(self, peer: Replica) -> None:
        self.peer = peer
        self.epoch = 0
        self.connected = False
        self.instance: Instance | None = None
        self.features: frozenset[str] | None = None
        self.membership = Membership.STRANGER
        self.hello_at = Index(0)
        self.match = Index(0)
        self.sent = Index(0)
        self.state = ReplicationState.PROBE
        self.heard_at = float("-inf")
        self.moved_at = float("-inf")

    @property
    def counts(self) -> bool:
        """Whether its acks count: a voter by its pair (membership.md M1 d) that forgot no ack."""
        return self.membership is Membership.VOTER

    @property
    def is_voter(self) -> bool:
        """Whether the configuration in force names its directory as a voter, caught up or not."""
        return self.membership is Membership.VOTER or self.membership is Membership.RECRUIT

    @property
    def is_outside(self) -> bool:
        """Whether the configuration in force does not name its directory."""
        return self.membership is Membership.STRANGER or self.membership is Membership.ANONYMOUS

    @property
    def is_replicating(self) -> bool:
        """Whether it is known where the logs agree."""
        return self.state is ReplicationState.REPLICATE

    def answered(self, *, recruit: bool, now: float) -> None:
        """Whether it answered, and said whether it may have forgotten acks."""
        self.heard_at = now
        if self.is_voter:
            self.membership = Membership.RECRUIT if recruit else Membership.VOTER

    def take_role(self, role: MemberRole | None) -> None:
        """Give it the role of its directory in the configuration in force; None: a stranger."""
        match role:
            case None if self.membership is Membership.ANONYMOUS:
                pass
            case None:
                self.membership = Membership.STRANGER
            case MemberRole.LEARNER | MemberRole.JOINING:
                self.membership = Membership.LEARNER
            case MemberRole.VOTER if not self.is_voter:
                # Whether a newcomer has forgotten something is in its next answer.
                self.membership = Membership.RECRUIT
            case MemberRole.VOTER:
                pass
            case _:
                assert_never(role)

    def __repr__(self) -> str:
        return f"{self.peer}: {self.state.name.lower()} match={self.match} sent={self.sent}"

    def reset(self, *, epoch: int, connected: bool, last: Index, now: float) -> None:
        """Start over: a new connection, or a new term of ours."""
        # protocol.md section 3.5: acks are kept per connection, and a follower may start again.
        assert epoch >= self.epoch
        assert last >= 0
        self.epoch = epoch
        self.connected = connected
        self.hello_at = last
        self.match = Index(0)
        self.sent = last
        self.state = ReplicationState.PROBE
        self.moved_at = now

    def probed(self, *, now: float) -> None:
        """Note that an empty batch at `sent` is on its way."""
        assert self.connected
        assert self.state is ReplicationState.PROBE
        self.state = ReplicationState.PROBE_SENT
        self.moved_at = now

    def keep_within(self, log: LogIndex) -> None:
        """Go back to where our log begins, if the next entries to be sent were trimmed."""
        if self.sent < log.start.index:
            self.sent = log.start.index
            self.state = ReplicationState.PROBE

    def ends_at(self, last: Index, log: LogIndex) -> bool:
        """Send nothing behind that entry. Return whether it lacks something up to there.

        A probe has entries too, where the checksum of the entry that it asks for is not known.
        """
        if self.match >= last or last < log.start.index:
            return False
        if self.state is ReplicationState.PROBE:
            self.sent = min(self.sent, last)
        return True

    def offered(self, *, now: float) -> None:
        """Note that a snapshot was offered."""
        assert self.connected
        assert self.state is ReplicationState.SNAPSHOT
        self.state = ReplicationState.SNAPSHOT_SENT
        self.moved_at = now

    def streamed(self, upto: Index) -> None:
        """Note that a batch that ends there is on its way."""
        assert self.connected
        assert self.state is ReplicationState.REPLICATE
        assert self.match <= self.sent < upto
        self.sent = upto

    def accepted(self, index: Index, *, now: float) -> None:
        """Note that the follower has everything up to `index`, durable."""
        if self.state is not ReplicationState.REPLICATE:
            self.state = ReplicationState.REPLICATE
            self.sent = index
        if index > self.match:
            self.match = index
            self.moved_at = now
        self.sent = max(self.sent, self.match)
        assert 0 <= index <= self.match <= self.sent

    def refused(self, answer: AppendResponse, log: LogIndex) -> None:
        """Step back to where the logs may agree: the follower lacks the entry before our batch.

        That may be before our log: then it needs a snapshot.
        """
        begins, hint = log.start.index, min(answer.index, log.last)
        if hint >= begins and log.term_at(hint) != answer.index_term:
            hint = min(hint, log.last_of_term_at_most(answer.index_term))
        back = self.sent if self.is_replicating else self.sent - 1
        # Entries acked in this term over this connection are never probed again (log matching, Raft
        # §5.3): the search ends at `match`.
        self.sent = Index(max(self.match, min(hint, back), 0))
        self.state = ReplicationState.PROBE
        if self.sent < begins:
            self.sent, self.state = begins, ReplicationState.SNAPSHOT
        assert 0 <= self.match <= self.sent

    def stalled(self, *, now: float, timeout: float) -> bool:
        """Return whether an answer is overdue: the batch or the answer may be lost."""
        waits = self.state is ReplicationState.PROBE_SENT or self.sent > self.match
        return waits and now - self.moved_at > timeout

    def probe_again(self, *, now: float) -> None:
        """Forget what is on its way and probe from what is known."""
        if self.is_replicating:
            self.sent = self.match
        self.state = ReplicationState.PROBE
        self.moved_at = now
        assert 0 <= self.match <= self.sent


def quorumth(values: Iterable[float], quorum: int) -> float:
    """Return the largest value that at least `quorum` of the values reach."""
    return sorted(values, reverse=True)[quorum - 1]


def counted(followers: Iterable[Progress]) -> list[Progress]:
    """Return those that count in a quorum: voters that cannot have forgotten an ack."""
    return [each for each in followers if each.counts]


def acked_by(followers: Iterable[Progress], index: Index) -> list[Replica]:
    """Return which of the counting replicas have `index`."""
    return [each.peer for each in followers if each.match >= index and each.counts]


def is_current(answer_term: Term, term: Term, answer_epoch: int, progress: Progress) -> bool:
    """Return whether a message is of our term, then of this connection (protocol.md 3.5)."""
    return answer_term == term and answer_epoch == progress.epoch
