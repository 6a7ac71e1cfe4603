"""What the leader knows of each follower: how far it is, and how to go on with it."""

from collections.abc import Iterable
from enum import Enum

from election.messages import Index, Replica, Term
from qsync.core.logindex import LogIndex
from qsync.core.messages import AppendResponse
from qsync.record import Instance


class Membership(Enum):
    """What a peer is to the leader."""

    STRANGER = 1
    """The configuration in force does not name the directory that it runs on."""
    RECRUIT = 2
    """A voter that may have forgotten acks, or has not said yet that it has not."""
    VOTER = 3


class Progress:
    """One follower, within one connection epoch. Acks of an older epoch do not count.

    `instance`: the directory that it runs on.
    `match`: durable there and equal to our log. `sent`: everything up to it is on its way.
    While `probing` the leader asks with an empty batch where the logs agree.
    `hello_at`: how long our log was when we connected.
    """

    __slots__ = (
        "asked",
        "connected",
        "epoch",
        "heard_at",
        "hello_at",
        "instance",
        "match",
        "membership",
        "moved_at",
        "peer",
        "probing",
        "sent",
    )

    def __init__(self, peer: Replica) -> None:
        self.peer = peer
        self.epoch = 0
        self.connected = False
        self.instance: Instance | None = None
        self.membership = Membership.STRANGER
        self.hello_at = Index(0)
        self.match = Index(0)
        self.sent = Index(0)
        self.probing = True
        self.asked = False
        self.heard_at = float("-inf")
        self.moved_at = float("-inf")

    @property
    def counts(self) -> bool:
        """It is a voter by its pair (membership.md M1 d), and cannot have forgotten an ack."""
        return self.membership is Membership.VOTER

    def answered(self, *, recruit: bool, now: float) -> None:
        """It was heard, and said whether it may have forgotten acks."""
        self.heard_at = now
        if self.membership is not Membership.STRANGER:
            self.membership = Membership.RECRUIT if recruit else Membership.VOTER

    def __repr__(self) -> str:
        how = "probing" if self.probing else "streaming"
        return f"{self.peer}: {how} match={self.match} sent={self.sent}"

    def begin(self, *, epoch: int, connected: bool, last: Index, now: float) -> None:
        """Start over: a new connection, or a new term of ours."""
        self.epoch = epoch
        self.connected = connected
        self.hello_at = last
        self.match = Index(0)
        self.sent = last
        self.probing = True
        self.asked = False
        self.moved_at = now

    def accepted(self, index: Index, *, now: float) -> None:
        """The follower has everything up to `index`, durable."""
        self.asked = False
        if self.probing:
            self.probing = False
            self.sent = index
        if index > self.match:
            self.match = index
            self.moved_at = now
        self.sent = max(self.sent, self.match)

    def refused(self, answer: AppendResponse, log: LogIndex) -> None:
        """The follower lacks the entry before our batch: step back to where we may agree."""
        hint = min(answer.index, log.last)
        if log.term_at(hint) != answer.index_term:
            hint = min(hint, log.last_of_term_at_most(answer.index_term))
            if log.term_at(hint) == answer.index_term:
                hint = min(hint, Index(answer.index))
        back = self.sent - 1 if self.probing else self.sent
        self.sent = Index(max(self.match, min(hint, back), 0))
        self.probing = True
        self.asked = False

    def stalled(self, *, now: float, patience: float) -> bool:
        """Something was sent and nothing came back for too long: it may be lost."""
        waits = self.asked or self.sent > self.match
        return waits and now - self.moved_at > patience

    def ask_again(self, *, now: float) -> None:
        """Forget what is on its way and probe from what is known."""
        if not self.probing:
            self.sent = self.match
        self.probing = True
        self.asked = False
        self.moved_at = now


def quorumth(values: Iterable[float], quorum: int) -> float:
    """The largest value that at least `quorum` of the values reach."""
    return sorted(values, reverse=True)[quorum - 1]


def counted(followers: Iterable[Progress]) -> list[Progress]:
    """Those that count in a quorum: voters that cannot have forgotten an ack."""
    return [each for each in followers if each.counts]


def acked_by(followers: Iterable[Progress], index: Index) -> list[Replica]:
    """Who has `index`, of those that count."""
    return [each.peer for each in followers if each.match >= index and each.counts]


def is_current(answer_term: Term, term: Term, answer_epoch: int, progress: Progress) -> bool:
    """The term is looked at before anything else; then the connection (protocol.md 3.5)."""
    return answer_term == term and answer_epoch == progress.epoch
