"""The history of a node, over all its lives: no machine reads it."""

from dataclasses import dataclass

from election.messages import Index, Replica, Term
from qsync.sim import properties
from qsync.sim.explore.answers import AnswerLog, Name


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedPlace:
    """The confirmed index of a leader, and the voters in its log at that moment."""

    index: Index
    crc: int
    voters: tuple[Replica, ...]


class RunningRelease:
    """The log features of the running release, and the refused peers.

    `barred`: peers that could not read the log, `foreign`: peers of another cluster; they are not
    connected.
    """

    def __init__(self) -> None:
        self.features: frozenset[str] = frozenset()
        self.barred: frozenset[Replica] = frozenset()
        self.foreign: frozenset[Replica] = frozenset()

    @property
    def shut_out(self) -> frozenset[Replica]:
        """Peers that are no longer connected, and whose messages are ignored."""
        return self.barred | self.foreign


class GhostState:
    """Kept outside the node, to check it against state that it loses in a crash."""

    def __init__(self, me: Replica) -> None:
        self.me = me
        self.answers = AnswerLog(me)
        self.release = RunningRelease()
        self.voted: tuple[Term, Replica] | None = None
        """The newest vote that it gave."""
        self.led: tuple[tuple[Term, Index], ...] = ()
        """Terms that it led, and the index of its PROMOTE."""
        self.confirmed_crcs: tuple[int, ...] = ()
        """Checksums of the longest log that it confirmed, and below the outcomes."""
        self.gone: tuple[bool, ...] = ()
        self.counted: CountedPlace | None = None
        """If voters change: the last index that it confirmed as a leader."""
        self.effective: frozenset[Name] = frozenset()
        """Requests that it has seen take effect."""
        self.shown: tuple[tuple[Index, Term], ...] = ()
        """Transactions that it shows and does not know as confirmed, and its term when each of
        them became visible; and their checksums."""
        self.shown_crcs: tuple[int, ...] = ()
        self.lost_crcs: tuple[int, ...] = ()
        """The content of its disk before it was wiped."""

    def elsewhere(self) -> "GhostState":
        """The diary of the same node on an empty directory of a recovered cluster."""
        fresh = GhostState(self.me)
        fresh.release, fresh.lost_crcs = self.release, self.lost_crcs
        fresh.answers.before = self.answers.before | self.answers.promised
        return fresh

    def votes(self, term: Term, candidate: Replica) -> None:
        """A vote is sent. Property 5."""
        if self.voted is not None and term <= self.voted[0]:
            properties.vote_stands(self.me, term, self.voted[1], candidate)
            properties.term_stands(self.me, self.voted[0], term)
        self.voted = (term, candidate)

    def leads(self, term: Term, promoted_at: Index) -> None:
        """It leads that term."""
        if (term, promoted_at) not in self.led:
            self.led = (*self.led, (term, promoted_at))
