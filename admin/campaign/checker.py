"""Checks a campaign while it runs, from nothing but the requests and answers of its clients.

Every write has a value of its own. A synchronous write also adds one to a counter and leaves its
value in it, so that the number says how many were committed before it: numbers go up in the order
of receipts, a read that began after an answer must show at least that number, of a log that has the
very entry of that answer, and at the end each counter is as high as there are writes of it. What
is asynchronous may be lost, and nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from admin.campaign.figures import BrokenPromise, Figures
from admin.checker import places
from admin.checker.places import misses

Value: TypeAlias = int


class WritePlace(NamedTuple):
    """The place of a write in the log, as its receipt says."""

    term: int
    at: int


NOWHERE = WritePlace(0, 0)


class Fate(Enum):
    """The outcome of a write that its client knows so far."""

    OPEN = auto()
    COMMITTED = auto()
    REFUSED = auto()


@dataclass(slots=True)
class CampaignWrite:
    """One write. `counter` is None in a space without counters. `strong`: must not be lost."""

    value: Value
    counter: int | None
    strong: bool
    floor: int
    fate: Fate = Fate.OPEN
    place: WritePlace | None = None
    number: int | None = None
    told: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRead:
    """A read that has begun. `floor`: the number it must show at least."""

    counter: int
    floor: int
    level: str
    node: str


class StoredState(NamedTuple):
    """The final state of one node: how often each write was applied, and the counters."""

    journal: Mapping[Value, tuple[int, int]]
    """For each counted write: its counter, and how often it was applied."""
    notes: Mapping[Value, int]
    """For each other write: how often it was applied."""
    counters: Mapping[int, tuple[int, Value]]
    """For each counter: its number, and the value of its last write."""


@dataclass(slots=True)
class Checker:
    """Takes events in the order in which they happened, and counts violations in `figures`."""

    figures: Figures = field(default_factory=Figures)
    at: float = 0.0
    newest: WritePlace = NOWHERE
    """The last answered strong write in the log."""
    written: dict[Value, CampaignWrite] = field(default_factory=dict)
    _floors: dict[int, int] = field(default_factory=dict)
    _begun: dict[int, int] = field(default_factory=dict)
    _numbers: dict[tuple[int, int], Value] = field(default_factory=dict)
    _places: dict[WritePlace, Value] = field(default_factory=dict)
    _read: dict[Value, str] = field(default_factory=dict)

    # -- writes

    def invoke(self, value: Value, *, counter: int | None, strong: bool) -> None:
        """Note that a write is about to be sent for the first time."""
        floor = 0 if counter is None else self._floors.get(counter, 0)
        self.written[value] = CampaignWrite(
            value=value, counter=counter, strong=strong, floor=floor
        )
        if counter is not None:
            self._begun[counter] = self._begun.get(counter, 0) + 1

    def commit(self, value: Value, place: WritePlace, number: int | None) -> None:
        """Note the answer: committed at this place; `number` if the answer has it."""
        write = self.written[value]
        if write.fate is Fate.REFUSED:
            self._wrong(f"write {value} was refused ({write.told}), then committed at {place}")
        if write.place not in {None, place}:
            self._wrong(f"write {value} was committed at {write.place} and at {place}")
        other = self._places.setdefault(place, value)
        if other != value:
            self._wrong(f"writes {other} and {value} have the receipt {place}")
        if write.number is not None and number is not None and write.number != number:
            self._add(
                BrokenPromise.DOUBLED, f"write {value} was number {write.number}, then {number}"
            )
        write.fate, write.place = Fate.COMMITTED, place
        if write.strong:
            self.newest = max(self.newest, place)
        if write.counter is None or number is None:
            return
        write.number = number
        if number <= write.floor:
            self._add(
                BrokenPromise.LOST,
                f"write {value} is number {number} of counter {write.counter}, which was at "
                f"{write.floor} before it began",
            )
        self._know(write.counter, number, value, "its receipt")

    def refuse(self, value: Value, why: str) -> None:
        """Note the answer: not done, and never will be."""
        write = self.written[value]
        if write.fate is Fate.COMMITTED:
            self._wrong(f"write {value} was committed at {write.place}, then refused: {why}")
        elif write.strong and value in self._read:
            self._wrong(f"write {value} was refused ({why}), and was read by {self._read[value]}")
        write.fate, write.told = Fate.REFUSED, why

    # -- reads

    def look(self, counter: int, level: str, node: str, *, floor: int | None = None) -> OpenRead:
        """Note that a read begins: it must show all that is known now, or its `floor`."""
        known = self._floors.get(counter, 0) if floor is None else floor
        return OpenRead(counter=counter, floor=known, level=level, node=node)

    def show(self, look: OpenRead, number: int, value: Value) -> None:
        """Check the answer to a read of a counter."""
        who = f"a {look.level} read of {look.node}"
        if number < look.floor:
            self._add(
                BrokenPromise.STALE,
                f"{who} showed {number} of counter {look.counter}; it was at {look.floor} before",
            )
        if number > self._begun.get(look.counter, 0):
            self._add(
                BrokenPromise.DOUBLED,
                f"{who} showed {number} of counter {look.counter}, of which "
                f"{self._begun.get(look.counter, 0)} writes were begun",
            )
        if value:
            self.meet(value, who)
            self._know(look.counter, number, value, who)

    def reach(self, who: str, floor: WritePlace, seen: WritePlace) -> None:
        """Check that a read, which showed the log up to `seen`, showed at least `floor`."""
        if misses(places.LogPlace(seen.at, seen.term), places.LogPlace(floor.at, floor.term)):
            text = f"{who} showed a log up to {seen.at} of term {seen.term}"
            self._add(BrokenPromise.STALE, f"{text}, not {floor.at} of term {floor.term}")

    def look_for(self, value: Value) -> bool:
        """Return whether a strong read that begins now must find this write."""
        write = self.written[value]
        return write.strong and write.fate is Fate.COMMITTED

    def find(self, value: Value, who: str, *, must: bool, found: bool) -> None:
        """Check the answer to a read for one write. `must`: it had to be there."""
        if found:
            self.meet(value, who)
        elif must:
            self._add(
                BrokenPromise.STALE, f"{who} did not find write {value}, committed before it began"
            )

    def look_out(self, value: Value) -> bool:
        """Return whether no read that begins now may find this write."""
        return self.written[value].fate is Fate.REFUSED

    def meet(self, value: Value, who: str, *, gone: bool = False) -> None:
        """Note that a read showed this write. `gone`: refused before the read began."""
        write = self.written.get(value)
        if write is None:
            self._wrong(f"{who} showed {value}, which was never written")
        elif gone or (write.strong and write.fate is Fate.REFUSED):
            self._wrong(f"{who} showed write {value}, which was refused: {write.told}")
        elif write.strong:
            self._read.setdefault(value, who)

    # -- the end

    def end(self, stored: Mapping[str, StoredState]) -> None:
        """Check what each node holds at the end, after healing, when nothing is under way."""
        for node, held in stored.items():
            self._end_of(node, held)
        for counter in sorted({key[0] for key in self._numbers}):
            self._order(counter)
        names = list(stored)
        for name in names[1:]:
            if stored[name] != stored[names[0]]:
                self._add(BrokenPromise.DIFFERENT, f"{names[0]} and {name} hold different data")

    def _end_of(self, node: str, held: StoredState) -> None:
        times = {value: times for value, (_, times) in held.journal.items()} | dict(held.notes)
        for value, write in self.written.items():
            if write.fate is Fate.COMMITTED and write.strong and value not in times:
                self._add(
                    BrokenPromise.LOST,
                    f"write {value}, committed at {write.place}, is not on {node}",
                )
            if write.fate is Fate.REFUSED and value in times:
                self._wrong(f"write {value}, refused ({write.told}), is on {node}")
        for value, count in times.items():
            if value not in self.written:
                self._wrong(f"{node} holds {value}, which was never written")
            if count != 1:
                self._add(BrokenPromise.DOUBLED, f"write {value} was done {count} times on {node}")
        for value, who in self._read.items():
            if value not in times:
                self._wrong(f"{who} showed write {value}, which is not on {node} at the end")
        self._end_of_counters(node, held)

    def _end_of_counters(self, node: str, held: StoredState) -> None:
        rows: dict[int, int] = {}
        for counter, _ in held.journal.values():
            rows[counter] = rows.get(counter, 0) + 1
        for counter in sorted(rows.keys() | held.counters.keys() | self._floors.keys()):
            number, _ = held.counters.get(counter, (0, 0))
            kind = BrokenPromise.DOUBLED if number > rows.get(counter, 0) else BrokenPromise.LOST
            if number != rows.get(counter, 0):
                self._add(
                    kind,
                    f"counter {counter} is at {number} on {node}, with {rows.get(counter, 0)} "
                    f"writes of it",
                )
            if number < self._floors.get(counter, 0):
                self._add(
                    BrokenPromise.LOST,
                    f"counter {counter} is at {number} on {node}; "
                    f"it was at {self._floors[counter]} before",
                )

    def _order(self, counter: int) -> None:
        """Check that the numbers of a counter rise in the order of receipts."""
        known = sorted(
            (write.number, write.place, write.value)
            for write in self.written.values()
            if write.counter == counter and write.number is not None and write.place is not None
        )
        for (_, before, first), (_, after, second) in pairwise(known):
            if before >= after:
                self._wrong(f"write {second} follows {first}, but {after} is not after {before}")

    def _know(self, counter: int, number: int, value: Value, who: str) -> None:
        """Note which write has this number of the counter; all later numbers must be higher."""
        other = self._numbers.setdefault((counter, number), value)
        if other != value:
            self._wrong(
                f"number {number} of counter {counter} is write {value} by {who}, "
                f"and was write {other}"
            )
        write = self.written.get(value)
        if write is not None and write.number not in {None, number}:
            self._wrong(f"write {value} is number {write.number}, and {number} by {who}")
        self._floors[counter] = max(number, self._floors.get(counter, 0))

    def _wrong(self, text: str) -> None:
        self._add(BrokenPromise.WRONG, text)

    def _add(self, kind: BrokenPromise, text: str) -> None:
        self.figures.add(kind, text, at=self.at)
