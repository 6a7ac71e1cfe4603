"""Logs of the model, and all that follows from a log alone (protocol.md 4, membership.md M1 b)."""

from __future__ import annotations

from typing import NamedTuple

PROMOTE, SYNC, ASYNC, CONFIRM, ROLLBACK, VOTERS = "P", "S", "A", "C", "R", "G"


class Entry(NamedTuple):
    """One entry. `arg` by kind: S and A the request, C and R an index, G the voters."""

    term: int
    kind: str
    arg: int = 0


class Facts(NamedTuple):
    """What a log, known to be confirmed up to some index, says of its entries.

    `fates`: a letter for each, v visible, p pending, r rolled back, - for those that have none.
    `shown`, `gone`: requests (a bit each) that are visible, or rolled back for good. `twice`: one
    request has two entries that are not rolled back.
    """

    fates: str
    pending: tuple[int, ...]
    shown: int
    gone: int
    twice: bool


class Log:
    """A log. There is one object for each: equal logs are the same, and a prefix is an ancestor."""

    __slots__ = (
        "_facts",
        "_next",
        "configurations",
        "length",
        "number",
        "prefixes",
        "requests",
        "term",
    )

    def __init__(self, before: Log | None, entry: Entry | None, number: int) -> None:
        self.number = number
        self._next: dict[Entry, Log] = {}
        self._facts: dict[int, Facts] = {}
        if before is None or entry is None:
            self.length, self.term, self.requests = 0, 0, 0
            self.configurations: tuple[tuple[int, int], ...] = ()
            self.prefixes: tuple[tuple[Entry | None, Log], ...] = ((None, self),)
            return
        self.length, self.term, self.requests = before.length + 1, entry.term, before.requests
        self.prefixes = (*before.prefixes, (entry, self))
        self.configurations = before.configurations
        if entry.kind in (SYNC, ASYNC):
            self.requests |= 1 << entry.arg
        elif entry.kind == VOTERS:
            self.configurations += ((self.length, entry.arg),)

    def __len__(self) -> int:
        return self.length

    def __repr__(self) -> str:
        return " ".join(f"{e.kind}{e.arg or ''}/{e.term}" for e in self.entries()) or "empty"

    def entries(self) -> list[Entry]:
        """First to last."""
        return [entry for entry, _ in self.prefixes if entry is not None]

    def at(self, index: int) -> Entry:
        """The entry at an index that the log has."""
        entry = self.prefixes[index][0]
        assert entry is not None, (self, index)
        return entry

    def upto(self, index: int) -> Log:
        """Its beginning."""
        return self.prefixes[index][1]

    def has(self, other: Log) -> bool:
        """Whether the other one is a beginning of it."""
        return other.length <= self.length and self.prefixes[other.length][1] is other

    def common(self, other: Log) -> int:
        """How many entries both begin with."""
        low, high = 0, min(self.length, other.length)
        while low < high:
            middle = (low + high + 1) // 2
            if self.prefixes[middle][1] is other.prefixes[middle][1]:
                low = middle
            else:
                high = middle - 1
        return low

    def longer(self) -> dict[Entry, Log]:
        """Those with one more entry that are known."""
        return self._next

    def known(self) -> dict[int, Facts]:
        """Facts that were computed, by confirmed index."""
        return self._facts

    @property
    def voters(self) -> int:
        """The configuration in force: that of the last entry, confirmed or not (M1 b)."""
        return self.configurations[-1][1] if self.configurations else 0

    def stretches(self) -> list[tuple[int, int]]:
        """From the first that a ROLLBACK covers to the ROLLBACK, for each."""
        return [(e.arg, at) for at, e in enumerate(self.entries(), 1) if e.kind == ROLLBACK]

    def own_promote(self, term: int) -> int:
        """Where the PROMOTE of this term is, 0 if nowhere."""
        for at in range(self.length, 0, -1):
            entry = self.at(at)
            if entry.term < term:
                return 0
            if entry.kind == PROMOTE:
                return at
        return 0


class Logs:
    """All logs that occur under the rules of one model; `broken`: the one that is not kept."""

    def __init__(self, broken: str = "") -> None:
        self.broken = broken
        self.empty = Log(None, None, 0)
        self._count = 1
        self._renamed: dict[tuple[Log, tuple[int, ...]], Log] = {}

    def add(self, log: Log, entry: Entry) -> Log:
        """The log with this entry behind it."""
        found = log.longer().get(entry)
        if found is None:
            found = log.longer()[entry] = Log(log, entry, self._count)
            self._count += 1
            if entry.kind == ROLLBACK and self.broken != "change_stays_rolled_back":
                # M3 a: the former configuration is in force from where the ROLLBACK is appended.
                kept = tuple(each for each in log.configurations if each[0] < entry.arg)
                found.configurations = kept
        return found

    def renamed(self, log: Log, names: tuple[int, ...], bits: tuple[int, ...]) -> Log:
        """The same with other names of nodes: `names` of nodes, `bits` of voters."""
        if not log.configurations or log.length == 0:
            return log
        found = self._renamed.get((log, names))
        if found is None:
            before = self.renamed(log.upto(log.length - 1), names, bits)
            entry = log.at(log.length)
            if entry.kind == VOTERS:
                entry = entry._replace(arg=rename_bits(entry.arg, bits))
            found = self._renamed[log, names] = self.add(before, entry)
        return found

    def facts(self, log: Log, confirmed: int) -> Facts:
        """The fates of its entries."""
        found = log.known().get(confirmed)
        if found is None:
            found = log.known()[confirmed] = self._facts(log, confirmed)
        return found

    def _facts(self, log: Log, confirmed: int) -> Facts:
        fates, rolled = ["-"] * log.length, dict[int, int]()
        queue = list[int]()

        def decide(upto: int) -> None:
            while queue and (queue[0] <= upto or log.at(queue[0]).kind == ASYNC):
                fates[queue.pop(0) - 1] = "v"

        for at, entry in enumerate(log.entries(), 1):
            if entry.kind == CONFIRM:
                decide(entry.arg)
            elif entry.kind == ROLLBACK:
                for victim in [each for each in queue if each >= entry.arg]:
                    queue.remove(victim)
                    fates[victim - 1], rolled[victim] = "r", at
            elif entry.kind == ASYNC and not queue:
                fates[at - 1] = "v"
            else:
                queue.append(at)
            # Section 4: what is at or below the confirmed index is decided by the log up to it
            # alone; a ROLLBACK beyond it has no say.
            if at == confirmed and self.broken != "rollback_beyond_confirmed":
                decide(confirmed)
        decide(confirmed)
        for at in queue:
            fates[at - 1] = "p"
        definite = frozenset(at for at, record in rolled.items() if record <= confirmed)
        return _requests(log, "".join(fates), tuple(queue), definite)


def _requests(log: Log, fates: str, pending: tuple[int, ...], definite: frozenset[int]) -> Facts:
    """The outcomes of requests: a rollback is definite after its record is confirmed (5)."""
    shown = gone = 0
    twice = False
    for at, entry in enumerate(log.entries(), 1):
        if entry.kind in (SYNC, ASYNC):
            bit, visible = 1 << entry.arg, fates[at - 1] == "v"
            twice |= visible and bool(shown & bit)
            shown |= bit if visible else 0
            gone |= bit if at in definite else 0
    return Facts(fates, pending, shown, gone, twice)


def rename_bits(mask: int, bits: tuple[int, ...]) -> int:
    """The same set under other names."""
    found, at = 0, 0
    while mask:
        if mask & 1:
            found |= 1 << bits[at]
        mask >>= 1
        at += 1
    return found


def lowered(log: Log, index: int) -> int:
    """Section 3.8: a confirmed index never stops inside a rolled-back stretch."""
    for first, rollback in reversed(log.stretches()):
        if first <= index < rollback:
            index = first - 1
    return index
