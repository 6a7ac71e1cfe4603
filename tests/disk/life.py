"""What a store goes through, step by step, from one seed; and what it holds after each step."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random

from election.messages import Ballot, Index, Replica, Term
from qsync import record
from qsync.core.ready import Write
from qsync.record import Entry
from qsync.store.contract import NO_BALLOT
from tests.unit.logs import chain

KEYS = 40
BODY_MAX, BIG_BODY_MAX = 300, 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Rows up to an index, as the store takes them."""

    folded: Index
    puts: list[tuple[bytes, bytes]]
    deletes: list[bytes]


@dataclass(frozen=True, slots=True)
class Flush:
    """Make the folded rows durable."""


@dataclass(frozen=True, slots=True)
class Reopen:
    """Close everything and open it again."""


Step = Write | Fold | Flush | Reopen


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a directory holds after a step."""

    entries: tuple[Entry, ...] = ()
    ballot: Ballot = NO_BALLOT
    confirmed: int = 0
    tails: tuple[bytes, ...] = ()
    folded: int = 0

    @property
    def log(self) -> "Held":
        """The part that the log answers for: it must never be lost."""
        return replace(self, folded=0)


class Life:
    """The same steps for the same seed, each told before it is taken."""

    def __init__(self, seed: int) -> None:
        self.held = Held()
        self._dice = Random(seed)

    def step(self) -> Step:
        """The next step; `held` is what there is to be after it."""
        dice, held = self._dice, self.held
        chance = dice.random()
        if chance < 0.12 and held.confirmed > held.folded:
            return self._fold(dice.randint(held.folded + 1, held.confirmed))
        if chance < 0.16:
            return Flush()
        if chance < 0.19:
            return Reopen()
        if chance < 0.24:
            return self._write([], term=held.ballot.term + dice.randint(0, 1))
        if chance < 0.38 and len(held.entries) > held.confirmed:
            above = dice.randint(held.confirmed, len(held.entries) - 1)
            return self._write(self._bodies(0, 3), term=held.ballot.term + 1, above=above)
        return self._write(self._bodies(1, 8), term=held.ballot.term)

    def _bodies(self, least: int, most: int) -> list[bytes]:
        """Each is a key of one byte and its value; without one the key is deleted."""
        dice = self._dice
        count = dice.randint(least, most)
        size = BIG_BODY_MAX if dice.random() < 0.05 else BODY_MAX
        return [
            bytes((dice.randrange(KEYS),)) + dice.randbytes(dice.choice((0, dice.randint(1, size))))
            for _ in range(count)
        ]

    def _write(self, bodies: Sequence[bytes], *, term: int, above: int | None = None) -> Write:
        held, dice = self.held, self._dice
        kept = held.entries if above is None else held.entries[:above]
        added = chain(bodies, after=kept[-1] if kept else None, term=term)
        entries = (*kept, *added)
        vote = None if dice.random() < 0.5 else Replica(dice.randint(1, 3))
        if term == held.ballot.term and held.ballot.vote is not None:
            vote = held.ballot.vote
        ballot = Ballot(term=Term(term), vote=vote, member=True)
        confirmed = dice.randint(held.confirmed, len(entries))
        tail = () if above is None else (record.encode(held.entries[above:]),)
        self.held = Held(
            entries=entries,
            ballot=ballot,
            confirmed=confirmed,
            tails=held.tails + tail,
            folded=held.folded,
        )
        return Write(
            id=0,
            cut_above=None if above is None else Index(above),
            cut_reason="" if above is None else "a life of its own",
            entries=added,
            ballot=ballot,
            confirmed=Index(confirmed),
        )

    def _fold(self, upto: int) -> Fold:
        held = self.held
        self.held = replace(held, folded=upto)
        return fold(held.entries[held.folded : upto], upto=upto)


def fold(entries: Iterable[Entry], *, upto: int) -> Fold:
    """The last value of every key that these entries write."""
    last = {entry.body[:1]: entry.body[1:] for entry in entries}
    return Fold(
        folded=Index(upto),
        puts=[(key, value) for key, value in last.items() if value],
        deletes=[key for key, value in last.items() if not value],
    )


def replay(entries: Iterable[Entry]) -> list[tuple[bytes, bytes]]:
    """The rows, in order, that a log makes when it is read from its beginning."""
    rows: dict[bytes, bytes] = {}
    for entry in entries:
        key, value = entry.body[:1], entry.body[1:]
        if value:
            rows[key] = value
        else:
            rows.pop(key, None)
    return sorted(rows.items())
