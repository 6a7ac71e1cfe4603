"""What a read must wait for before it may look (protocol.md section 7, Reads)."""

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from election.messages import Index, Term
from qsync.core.ledger import Ledger
from qsync.core.ready import ReadSettled, Ticket


class _InRound(NamedTuple):
    ticket: Ticket
    round: int


class LeaderReads:
    """Linearizable reads on the leader: one quorum round serves all reads gathered before it began.

    A round that began before a read was noted says nothing about it, so a read waits for the next
    one. Until the leader's own PROMOTE is confirmed nothing is noted: its confirmed index may lag
    (Raft §6.4).
    """

    def __init__(self) -> None:
        self.round = 0
        self._parked: list[Ticket] = []
        self._in_round: deque[_InRound] = deque()

    def ask(self, ticket: Ticket) -> None:
        """A read to be noted when the next round begins."""
        self._parked.append(ticket)

    @property
    def wants_round(self) -> bool:
        """Somebody waits for a round that has not begun."""
        return bool(self._parked)

    def begin(self) -> int:
        """A new round begins now; every parked read waits for it."""
        self.round += 1
        self._in_round.extend(_InRound(ticket, self.round) for ticket in self._parked)
        self._parked.clear()
        return self.round

    def answered(self, round_: int) -> list[ReadSettled]:
        """A quorum follows us in `round_`: the reads noted before it began may be served."""
        done: list[ReadSettled] = []
        waiting = self._in_round
        while waiting and waiting[0].round <= round_:
            done.append(ReadSettled(ticket=waiting.popleft().ticket))
        return done

    def refuse_all(self, why: str) -> list[ReadSettled]:
        """The leadership is over."""
        tickets = [*self._parked, *(each.ticket for each in self._in_round)]
        self._parked.clear()
        self._in_round.clear()
        return [ReadSettled(ticket=ticket, refused=why) for ticket in tickets]


@dataclass(frozen=True, slots=True)
class _AtLeast:
    ticket: Ticket
    index: Index
    term: Term
    """0: any."""


_LIFE_BITS = 32
"""Above the number of a question is the life of the process that asked it."""


class ReplicaReads:
    """Reads on any replica that wait until it shows an index: at_least, and asked of the leader.

    `life` is another one for every process: what the leader answers to a former life of ours must
    not be taken for the answer to what we ask now, which may have to be newer.
    """

    def __init__(self, life: int = 0) -> None:
        self._waiting: list[_AtLeast] = []
        self._asked: dict[int, Ticket] = {}
        self._asks = life << _LIFE_BITS

    def at_least(self, ticket: Ticket, *, index: Index, term: Term) -> None:
        """Wait until `index` is visible here, and is the entry of `term`."""
        self._waiting.append(_AtLeast(ticket, index, term))

    def ask_leader(self, ticket: Ticket) -> int:
        """The number under which the leader's answer will come back."""
        self._asks += 1
        self._asked[self._asks] = ticket
        return self._asks

    def told(self, ask: int, index: Index | None) -> list[ReadSettled]:
        """The leader answered: wait for that index, or give up."""
        ticket = self._asked.pop(ask, None)
        if ticket is None:
            return []
        if index is None:
            return [
                ReadSettled(ticket=ticket, refused="the leader could not confirm that it leads")
            ]
        self.at_least(ticket, index=index, term=Term(0))
        return []

    def leader_lost(self) -> list[ReadSettled]:
        """Nobody will answer what was asked."""
        tickets = list(self._asked.values())
        self._asked.clear()
        return [ReadSettled(ticket=each, refused="the leader changed") for each in tickets]

    def settle(self, ledger: Ledger) -> list[ReadSettled]:
        """Those that may be served now, or never."""
        if not self._waiting:
            return []
        done: list[ReadSettled] = []
        left: list[_AtLeast] = []
        visible, confirmed, log = ledger.visible, ledger.confirmed, ledger.log
        for wait in self._waiting:
            if wait.index > visible:
                left.append(wait)
            elif wait.term == 0 or log.term_at(wait.index) == wait.term:
                done.append(ReadSettled(ticket=wait.ticket))
            elif wait.index <= confirmed:
                done.append(
                    ReadSettled(
                        ticket=wait.ticket, refused="the receipt names an entry that was cut off"
                    )
                )
            else:
                left.append(wait)
        self._waiting = left
        return done

    def forget(self, ticket: Ticket) -> None:
        """Its client is gone."""
        self._waiting = [wait for wait in self._waiting if wait.ticket != ticket]
        self._asked = {ask: each for ask, each in self._asked.items() if each != ticket}
