"""What the leader knows of each follower: how far it is, and how to go on with it."""

from collections.abc import Iterable

from election.messages import Index, Replica, Term
from qsync.core.logindex import LogIndex
from qsync.core.messages import Appended


class Progress:
    """One follower, within one connection epoch. Acks of an older epoch do not count.

    `empty`: it had no log when we connected; `term`: the one it was in then. `match`: durable
    there and equal to our log. `sent`: everything up to it is on its way.
    While `probing` the leader asks with an empty batch where the logs agree.
    """

    __slots__ = (
        "asked",
        "connected",
        "empty",
        "epoch",
        "heard_at",
        "match",
        "moved_at",
        "peer",
        "probing",
        "recruit",
        "sent",
        "term",
    )

    def __init__(self, peer: Replica) -> None:
        self.peer = peer
        self.epoch = 0
        self.connected = False
        self.empty = False
        self.term = Term(0)
        self.recruit = True
        self.match = Index(0)
        self.sent = Index(0)
        self.probing = True
        self.asked = False
        self.heard_at = float("-inf")
        self.moved_at = float("-inf")

    def __repr__(self) -> str:
        how = "probing" if self.probing else "streaming"
        return f"{self.peer}: {how} match={self.match} sent={self.sent}"

    def begin(self, *, epoch: int, connected: bool, last: Index, now: float) -> None:
        """Start over: a new connection, or a new term of ours."""
        self.epoch = epoch
        self.connected = connected
        self.recruit = True
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

    def refused(self, answer: Appended, log: LogIndex) -> None:
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
    return [each for each in followers if not each.recruit]


def acked_by(followers: Iterable[Progress], index: Index) -> list[Replica]:
    """Who has `index`, of those that count."""
    return [each.peer for each in followers if each.match >= index and not each.recruit]


def is_current(answer_term: Term, term: Term, answer_epoch: int, progress: Progress) -> bool:
    """The term is looked at before anything else; then the connection (protocol.md 3.5)."""
    return answer_term == term and answer_epoch == progress.epoch
