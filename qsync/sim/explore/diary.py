"""What a node has been, over all its lives: no machine looks into it."""

from dataclasses import dataclass

from election.messages import Index, Replica, Term
from qsync.sim import properties
from qsync.sim.explore.answers import AnswerLog, Name


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedPlace:
    """What a leader confirmed, and the voters in its log at that moment."""

    index: Index
    crc: int
    voters: tuple[Replica, ...]


class RunningRelease:
    """Which features of the log the release knows that runs, and whom it does not let in.

    `barred`: peers that could not read the log, `foreign`: those of another cluster; no connection
    stands between the two.
    """

    def __init__(self) -> None:
        self.features: frozenset[str] = frozenset()
        self.barred: frozenset[Replica] = frozenset()
        self.foreign: frozenset[Replica] = frozenset()

    @property
    def shut_out(self) -> frozenset[Replica]:
        """Who is connected to no more, and says nothing that is heard."""
        return self.barred | self.foreign


class GhostState:
    """Kept beside the node, so that what it forgets in a crash can still be held against it."""

    def __init__(self, me: Replica) -> None:
        self.me = me
        self.answers = AnswerLog(me)
        self.release = RunningRelease()
        self.voted: tuple[Term, Replica] | None = None
        """The newest vote that it gave."""
        self.led: tuple[tuple[Term, Index], ...] = ()
        """Terms that it led, and the index of its PROMOTE."""
        self.confirmed_crcs: tuple[int, ...] = ()
        """Checksums of the longest log that it confirmed, and below the fates."""
        self.gone: tuple[bool, ...] = ()
        self.counted: CountedPlace | None = None
        """Where voters come and go: the last place that it confirmed as a leader."""
        self.effective: frozenset[Name] = frozenset()
        """Requests that it has seen take effect."""
        self.shown: tuple[tuple[Index, Term], ...] = ()
        """Transactions that it shows and does not know as confirmed, and its term when each of
        them became visible; and their checksums."""
        self.shown_crcs: tuple[int, ...] = ()
        self.lost_crcs: tuple[int, ...] = ()
        """What was on its disk before that was wiped."""

    def elsewhere(self) -> "GhostState":
        """Of the same node on an empty directory of a cluster that was made of its own."""
        fresh = GhostState(self.me)
        fresh.release, fresh.lost_crcs = self.release, self.lost_crcs
        fresh.answers.before = self.answers.before | self.answers.promised
        return fresh

    def votes(self, term: Term, candidate: Replica) -> None:
        """A vote leaves. Property 5."""
        if self.voted is not None and term <= self.voted[0]:
            properties.vote_stands(self.me, term, self.voted[1], candidate)
            properties.term_stands(self.me, self.voted[0], term)
        self.voted = (term, candidate)

    def leads(self, term: Term, promoted_at: Index) -> None:
        """It leads that term."""
        if (term, promoted_at) not in self.led:
            self.led = (*self.led, (term, promoted_at))
