"""Heartbeat rounds of one leadership: which voters still follow, and which reads that allows."""

from collections.abc import Callable, Iterable, Mapping

from election.messages import Index, Replica, Term
from qsync.core.config import LEASE_SHARE, CoreConfig
from qsync.core.messages import Heartbeat, Message
from qsync.core.progress import Membership, Progress, counted, quorumth
from qsync.core.reads import LeaderReads
from qsync.core.ready import ReadSettled
from qsync.core.replicated_log import ReplicatedLog
from qsync.core.trimming import carried

WANTED_PROMISES = 5
"""After this many consecutive promises without a lease read, a leader requests no more promises."""

Send = Callable[[Replica, Message], None]


class HeartbeatRounds:
    """Rounds are numbered and never reused, so an answer proves that it is not older."""

    def __init__(
        self,
        config: CoreConfig,
        replicated_log: ReplicatedLog,
        followers: Mapping[Replica, Progress],
        *,
        term: Term,
    ) -> None:
        self.reads = LeaderReads()
        self.config = config
        self._replicated_log = replicated_log
        self._followers = followers
        self._term = term
        self._began: dict[int, float] = {}
        self._asked_all = 0
        self._answered: dict[Replica, int] = {}
        self._lease_until: dict[Replica, float] = {}
        self._wanted_until = float("-inf")

    def start_round(self, send: Send, *, promoted_at: Index) -> None:
        """Ask all followers whether they still follow; admit recruits that have caught up."""
        self._asked_all = self._ask(self._followers.values(), send, promoted_at)

    def start_read_round(self, send: Send, *, promoted_at: Index) -> None:
        """Ask only as many voters as a quorum takes, those that were the quickest of late.

        All, while a round that asked all is under way: then it is not known who answers. And all
        while promises are requested, so that a lease rests on every one that it can.
        """
        few = self.answered() >= self._asked_all and not self._wants_promises
        quickest = self._quickest() if few else None
        if quickest is None:
            self.start_round(send, promoted_at=promoted_at)
        else:
            self._ask(quickest, send, promoted_at)

    @property
    def oldest_of_few(self) -> int | None:
        """The oldest round that asked only the quickest voters and that a read waits for."""
        oldest = self.reads.oldest_round
        return None if oldest is None or oldest <= self._asked_all else oldest

    def _ask(self, followers: Iterable[Progress], send: Send, promoted_at: Index) -> int:
        """Begin a round; return its number.

        A recruit lost a part of its log, and nothing but acks with it: term and vote are intact.
        It needs our whole log of a moment after its hello (membership.md M5): an ack that it forgot
        was of this term or an older one, so what it acked is in there. That it has our PROMOTE is
        not enough. Not to wait until the PROMOTE is confirmed: that may need the recruit.
        """
        replicated_log = self._replicated_log
        round_ = self.reads.start_round()
        self._began[round_] = replicated_log.now
        for progress in followers:
            if not progress.connected:
                continue
            reach = max(progress.hello_at, promoted_at)
            caught_up = progress.is_replicating and progress.match >= reach
            send(
                progress.peer,
                Heartbeat(
                    term=self._term,
                    leader=self.config.me,
                    epoch=progress.epoch,
                    round=round_,
                    matched=progress.match,
                    confirmed=carried(replicated_log, progress.match),
                    promise=self._wants_promises,
                    admit=progress.membership is Membership.RECRUIT and caught_up,
                ),
            )
        return round_

    def _quickest(self) -> list[Progress] | None:
        """Return the voters that make a quorum with this node; None if too few ever answered.

        Who answered the newest round comes first, and of those of one round the first to answer.
        """
        needed = self._majority - self.config.votes
        newest_first = sorted(self._answered.items(), key=_by_round, reverse=True)
        known = [self._followers.get(follower) for follower, _ in newest_first]
        voters = [each for each in known if each is not None and each.counts and each.connected]
        return voters[:needed] if len(voters) >= needed else None

    def heard(self, follower: Replica, round_: int, *, promised_s: float) -> None:
        """Take a follower's answer to a round, with the length of its promise.

        Its word counts, not our own timing: theirs may be another one, above all while it changes.
        The lease runs from the sending of the round: the promise ran while the answer travelled
        (membership.md M11 a).
        """
        if round_ > self._answered.get(follower, 0):
            # Put behind those who answered before: the order of the keys is the order of answers.
            self._answered.pop(follower, None)
            self._answered[follower] = round_
            until = self.rests_until(round_, promised_s)
            if until is not None:
                # Promises are never shortened, so the later end of two holds.
                self._lease_until[follower] = max(until, self._lease_until.get(follower, until))

    def rests_until(self, round_: int, promised_s: float) -> float | None:
        """Return until when a lease may rest on that answer; None for a round that is long over."""
        began = self._began.get(round_)
        if began is None:
            return None
        return began + LEASE_SHARE * min(promised_s, self.config.disconnect_timeout)

    def forget(self, follower: Replica) -> None:
        """Forget a follower's answers: they came over a former connection."""
        self._answered.pop(follower, None)
        self._lease_until.pop(follower, None)

    def answered(self) -> int:
        """Return the newest round in which a quorum of the voters said that they follow."""
        rounds: list[float] = [self.reads.round] if self.config.votes else []
        followers = counted(self._followers.values())
        rounds += [self._answered.get(each.peer, 0) for each in followers]
        majority = self._majority
        return int(quorumth(rounds, majority)) if len(rounds) >= majority else 0

    def settle(self) -> list[ReadSettled]:
        """Return the reads whose round a quorum answered; forget older rounds."""
        round_ = self.answered()
        for old in [each for each in self._began if each < round_]:
            del self._began[old]
        return self.reads.answered(round_)

    def lease_wanted(self) -> None:
        """Ask for promises from now on, and for a while: a client reads by lease.

        A promise delays the next election, so followers give none unless clients read by lease.
        """
        self._wanted_until = self._replicated_log.now + WANTED_PROMISES * self.config.promise

    def leased_until(self) -> float:
        """Return until when no other leader can be elected, by this node's monotonic clock."""
        followers = counted(self._followers.values())
        own = self._replicated_log.now + self.config.lease
        times = [own] if self.config.votes else []
        times += [self._lease_until.get(each.peer, float("-inf")) for each in followers]
        if len(times) < self._majority:
            return float("-inf")
        return quorumth(times, self._majority)

    @property
    def _wants_promises(self) -> bool:
        return self._replicated_log.now < self._wanted_until

    @property
    def _majority(self) -> int:
        return len(self.config.voters) // 2 + 1


def _by_round(answer: tuple[Replica, int]) -> int:
    return answer[1]
