"""A reference automaton for each rule about the past: it takes all events of a run in order."""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import ClassVar

from typing_extensions import override

from admin.checker.replay.disks import CHANGES, DiskReplay
from admin.checker.replay.voters import Pair, Voters
from admin.checker.rules import texts
from admin.checker.rules.rule import RuleFinding, Where
from admin.checker.rules.run import NodeEvent, Whose

PROMISES, ACKED, PLACES, DIRECTORIES = (
    "promise-kept",
    "confirm-by-acks",
    "reads-by-place",
    "same-directory",
)


class Automaton(ABC):
    """Knows the rule, and nothing of the code that implements it."""

    id: ClassVar[str]
    names: ClassVar[frozenset[str]]

    def __init__(self, quorum: int) -> None:
        """`quorum`: the smallest quorum that confirms an entry."""
        self.quorum = quorum
        self.found = RuleFinding()

    @abstractmethod
    def step(self, each: NodeEvent) -> None:
        """Take the next step of a node."""


class PromiseReplay(Automaton):
    """membership.md M11: no vote for another node while a promise is in force.

    It ends by its time or by a message of the leader (f, i), also after a restart (c). A candidate
    keeps its own (d): no node becomes leader while it is in force. (A node that an operator asks to
    lead first votes for itself on its disk, and asks its leader before other nodes.)
    """

    id = PROMISES
    names = frozenset({"promised", "released", "vote", "leads", "slept"})

    def __init__(self, quorum: int) -> None:
        super().__init__(quorum)
        self._slept: dict[int, int] = {}
        self._given: dict[Whose, NodeEvent] = {}
        self._released: dict[Whose, tuple[int | None, int]] = {}

    @override
    def step(self, each: NodeEvent) -> None:
        """A promise, its end, or a vote.

        The time of a promise runs while a machine is suspended (j), and the clock of events does
        not.
        """
        if each.name == "slept":
            self._slept[each.node] = each.floor or 0
            return
        given = self._given.get(each.whose)
        if each.name == "promised":
            self.found.facts += 1
            if self._released.get(each.whose) == (each.peer, each.term):
                return  # same batch as the leader's message; that term has no lease
            if given is None or (given.floor or 0) < (each.floor or 0):
                self._given[each.whose] = each
            return
        if each.name == "released":
            self._given.pop(each.whose, None)
            self._released[each.whose] = (each.peer, each.term)
            return
        if given is None or each.term <= given.term or each.peer == given.peer:
            return
        now = each.time_mono + self._slept.get(each.node, 0)
        left = ((given.floor or 0) - now) / 1e6
        if left > 0:
            does = "leads" if each.name == "leads" else f"voted for {each.peer} in"
            message = (
                f"node {each.node} {does} term {each.term}; what it promised to "
                f"{given.peer} had {left:.0f} ms to run"
            )
            rows = (given.shows(), each.shows())
            self.found.broken(PROMISES, message, rows, node=each.node, term=each.term)


class AckReplay(Automaton):
    """protocol.md 3.5 and 3.6: a leader confirms entries acked by a quorum in its own term.

    A quorum of the voters of the configuration in force, each on the directory that the
    configuration names (membership.md M1 b, d; M10 a).
    """

    id = ACKED
    names = Voters.names | CHANGES | {"leads", "ack", "confirmed"}

    def __init__(self, quorum: int) -> None:
        super().__init__(quorum)
        self.found.lacks = "" if quorum else "the quorum is not known"
        self._disks = DiskReplay()
        self._voters = Voters()
        self._leads: dict[int, int] = {}
        self._highest = 0
        self._acks: dict[tuple[int, int], dict[Pair, NodeEvent]] = {}

    @override
    def step(self, each: NodeEvent) -> None:
        """Take an event: a node leads, acks or confirms."""
        self._disks.apply(each)
        if each.name in Voters.names:
            self._voters.step(each)
        if each.name == "started":
            self._leads.pop(each.node, None)
        elif each.name == "configured":
            self.found.lacks = ""
        elif each.name == "leads":
            self._leads[each.node] = each.term
        elif each.name == "ack":
            # A node that acks to another one in a later term no longer leads.
            if each.term > self._leads.get(each.node, each.term):
                del self._leads[each.node]
            known = self._acks.setdefault((each.peer or 0, each.term), {})
            pair = self._voters.pair(each.node)
            if pair not in known or known[pair].index < each.index:
                known[pair] = each
        elif each.name == "confirmed" and not self.found.lacks:
            self._confirmed(each, self._leads.get(each.node, 0))

    def _confirmed(self, each: NodeEvent, term: int) -> None:
        # A node may learn from others what they confirmed: after it hears of another leader it no
        # longer leads, and its event comes later. Its log may show what earlier leaders confirmed.
        first, self._highest = each.index > self._highest, max(self._highest, each.index)
        by = self._voters.counted_by(each)
        if each.term != term or not first or not (by or self.quorum):
            return
        self.found.facts += 1
        acks = self._acks.get((each.node, term), {})
        have = {pair for pair, ack in acks.items() if ack.index >= each.index}
        if self._disks.holds(each.whose, each.index, each.crc):
            have.add(self._voters.pair(each.node))
        if by and not any(len(have & voters) >= quorum for voters, quorum in by):
            voters, quorum = by[0]
            strange = texts.strangers({node for node, _ in have - voters})
            of = f"; the quorum of {sorted(node for node, _ in voters)} is {quorum}{strange}"
            self._lacks(each, have & voters, acks, of)
        elif not by and len({node for node, _ in have}) < self.quorum:
            self._lacks(each, have, acks, f"; the quorum is {self.quorum}")

    def _lacks(
        self, each: NodeEvent, have: Iterable[Pair], acks: Mapping[Pair, NodeEvent], of: str
    ) -> None:
        nodes = sorted({node for node, _ in have})
        message = f"node {each.node} confirmed {each.index} in term {each.term} with the acks of "
        rows = (each.shows(), *(ack.shows() for ack in acks.values()))
        where: Where = {"node": each.node, "index": each.index, "term": each.term}
        self.found.broken(ACKED, f"{message}{nodes}{of}", rows, **where)


class PlaceReplay(Automaton):
    """protocol.md 7: a read is served by a log that has the entry, not by one of equal length.

    Terms never decrease in a log. So a log whose last visible entry has an older term than an
    acknowledged entry does not have that entry, however long it is.
    """

    id = PLACES
    names = frozenset({"confirmed", "served"})

    def __init__(self, quorum: int) -> None:
        super().__init__(quorum)
        self._index, self._term = [0], [0]

    @override
    def step(self, each: NodeEvent) -> None:
        """Take a step that confirms or shows entries: `term` is the term of the last one."""
        if each.name == "confirmed":
            if each.index > self._index[-1]:
                self._index.append(each.index)
                self._term.append(each.term)
        elif each.floor is not None and each.term:
            self.found.facts += 1
            term = self._term[bisect_right(self._index, each.floor) - 1]
            if each.term < term:
                message = (
                    f"node {each.node} served a read at {each.index} of term {each.term}, though "
                    f"{each.floor} of term {term} had been answered before it was asked"
                )
                where = {"node": each.node, "index": each.number}
                self.found.broken(PLACES, message, (each.shows(),), **where)


class Directories(Automaton):
    """membership.md M7 a, c: an instance is one directory, and a copy of it is another instance.

    During one life the log is also one file, however often it is opened: a process that continues
    with another file has lost what it acked (b). The exception is a new log that begins at a
    snapshot; it is opened once it begins there.
    """

    id = DIRECTORIES
    names = frozenset({"opened", "log-opened", "begins", "ack"})

    def __init__(self, quorum: int) -> None:
        super().__init__(quorum)
        self._opened: dict[tuple[int, ...], NodeEvent] = {}
        self._anew: set[tuple[int, ...]] = set()

    @override
    def step(self, each: NodeEvent) -> None:
        """`floor`: the instance; `peer` and `index`: device and inode."""
        if each.name in {"begins", "ack"}:
            self._begin(each)
            return
        self.found.facts += 1
        is_log = each.name == "log-opened"
        which = (*each.whose, each.life) if is_log else (each.node, each.floor or 0)
        if is_log and which in self._anew:
            self._anew.remove(which)
            self._opened[which] = each
        before = self._opened.setdefault(which, each)
        if (before.peer, before.index) != (each.peer, each.index):
            as_what = "the log of one life" if is_log else "the instance"
            message = (
                f"node {each.node} opened inode {each.index} of device {each.peer} as {as_what} "
                f"that was inode {before.index} of device {before.peer}"
            )
            rows = (before.shows(), each.shows())
            self.found.broken(DIRECTORIES, message, rows, node=each.node, index=each.number)

    def _begin(self, each: NodeEvent) -> None:
        """The log begins later: it is a new file, if it is opened before the next ack."""
        life = (*each.whose, each.life)
        opened = self._opened.get(life)
        if each.name == "ack":
            self._anew.discard(life)
        elif (
            opened is not None and opened.time_mono != each.time_mono
        ):  # the event also occurs at a start
            self._anew.add(life)


AUTOMATA: tuple[type[Automaton], ...] = (PromiseReplay, AckReplay, PlaceReplay, Directories)
