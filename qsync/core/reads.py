"""The conditions of reads (protocol.md section 7, Reads)."""

from collections import deque
from dataclasses import dataclass

from election.messages import Position, Term
from qsync.core.messages import ReadIndexResponse
from qsync.core.ready import ReadSettled, Ticket
from qsync.core.replicated_log import ReplicatedLog


class LeaderReads:
    """Linearizable reads on the leader: one quorum round serves all reads gathered before it began.

    A round that began before a read was noted says nothing about it, so a read waits for the next
    one. Until the leader's own PROMOTE is confirmed nothing is noted: its confirmed index may lag
    (Raft §6.4).
    """

    def __init__(self) -> None:
        self.round = 0
        self._parked: list[Ticket] = []
        self._in_round: deque[tuple[int, list[Ticket]]] = deque()

    def ask(self, ticket: Ticket) -> None:
        """Note a read for the next round."""
        self._parked.append(ticket)

    @property
    def wants_round(self) -> bool:
        """Whether a read waits for a round that has not begun."""
        return bool(self._parked)

    @property
    def oldest_round(self) -> int | None:
        """The oldest round that reads wait for. None: they wait for none that has begun."""
        return self._in_round[0][0] if self._in_round else None

    def start_round(self) -> int:
        """Begin a round; every noted read waits for it."""
        self.round += 1
        if self._parked:
            self._in_round.append((self.round, self._parked))
            self._parked = []
        return self.round

    def answered(self, round_: int) -> list[ReadSettled]:
        """Serve the reads that were noted before `round_`, in which a quorum follows us."""
        # Rounds are numbered and begin in order; no node answers one that has not begun.
        assert round_ <= self.round
        done: list[ReadSettled] = []
        waiting = self._in_round
        while waiting and waiting[0][0] <= round_:
            done += [ReadSettled(ticket) for ticket in waiting.popleft()[1]]
        return done

    def refuse_all(self, why: str) -> list[ReadSettled]:
        """Refuse all reads: the leadership has ended."""
        tickets = [*self._parked, *(each for _, some in self._in_round for each in some)]
        self._parked.clear()
        self._in_round.clear()
        return [ReadSettled(ticket=ticket, refused=why) for ticket in tickets]


@dataclass(frozen=True, slots=True)
class _AtLeast:
    """`asked_in`: the term whose leader named the place; 0 when a client did."""

    ticket: Ticket
    place: Position
    asked_in: Term


_LIFE_BITS = 32
"""Above the number of a question is the life of the process that asked it."""


class ReplicaReads:
    """Reads on any replica that wait until it shows an entry: at_least, and asked of the leader.

    The entry is named by its place, never by an index alone: this log may have another one there.
    `life` is another one for every process: what the leader answers to a former life of ours must
    not be taken for the answer to what we ask now, which may have to be newer.
    """

    def __init__(self, life: int = 0) -> None:
        self._waiting: list[_AtLeast] = []
        self._asked: dict[int, Ticket] = {}
        self._asks = life << _LIFE_BITS

    def at_least(self, ticket: Ticket, place: Position, *, asked_in: Term = Term(0)) -> None:
        """Wait until that entry is visible here."""
        self._waiting.append(_AtLeast(ticket, place, asked_in))

    def ask_leader(self, ticket: Ticket) -> int:
        """Return the number under which the leader's answer will come back."""
        self._asks += 1
        self._asked[self._asks] = ticket
        return self._asks

    def on_response(self, answer: ReadIndexResponse) -> list[ReadSettled]:
        """Take the leader's answer: wait for that entry, or give up."""
        ticket = self._asked.pop(answer.ask, None)
        if ticket is None:
            return []
        if answer.place is None:
            return [
                ReadSettled(ticket=ticket, refused="the leader could not confirm that it leads")
            ]
        self.at_least(ticket, answer.place, asked_in=answer.term)
        return []

    def leader_lost(self) -> list[ReadSettled]:
        """Refuse all that waits for the former leader: its entries may never be in this log."""
        tickets = [*self._asked.values(), *(each.ticket for each in self._waiting if each.asked_in)]
        self._asked.clear()
        self._waiting = [each for each in self._waiting if not each.asked_in]
        return [ReadSettled(ticket=each, refused="the leader changed") for each in tickets]

    def settle(self, replicated_log: ReplicatedLog) -> list[ReadSettled]:
        """Return the reads that may be served now, or never."""
        if not self._waiting:
            return []
        done: list[ReadSettled] = []
        left: list[_AtLeast] = []
        for wait in self._waiting:
            shown = shows(replicated_log, wait.place)
            if shown is None:
                left.append(wait)
            else:
                refused = None if shown else "the receipt names an entry that is not in the log"
                done.append(ReadSettled(wait.ticket, refused, wait.place))
        self._waiting = left
        return done

    def forget(self, ticket: Ticket) -> None:
        """Forget a read whose client is gone."""
        self._waiting = [wait for wait in self._waiting if wait.ticket != ticket]
        self._asked = {ask: each for ask, each in self._asked.items() if each != ticket}


def shows(replicated_log: ReplicatedLog, place: Position) -> bool | None:
    """Whether that entry, and so every entry before it, is visible. None: not yet; False: never.

    Equal places mean equal prefixes (log matching). A rolled-back stretch around it is this node's
    own, perhaps stale, opinion until the ROLLBACK is confirmed.
    """
    index, log = place.index, replicated_log.log
    if index > replicated_log.visible:
        confirmed = replicated_log.confirmed
        is_past = confirmed < index and place.term < log.term_at(confirmed)
        return False if is_past else None  # terms never fall along a log
    rolled_back = replicated_log.limbo.stretch_at(index) is not None or log.start.took_back(index)
    if log.has(index, place.term) and not rolled_back:
        return True
    return False if replicated_log.confirmed >= index else None


def shown_to_fresh(replicated_log: ReplicatedLog, asked: Position) -> Position:
    """Return what a follower shows to a read that asked for that place.

    No asynchronous data beyond it: this node may have that on its disk before the leader has, and
    who reads at the leader next would be shown less (protocol.md section 7, Reads).
    """
    index = min(max(asked.index, replicated_log.confirmed), replicated_log.visible)
    index = replicated_log.limbo.clip(index)
    return Position(replicated_log.log.term_at(index), index)
