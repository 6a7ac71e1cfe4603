"""A State with its log and its store, for the tests of qsync.data: writes, folds, opens again."""

from collections.abc import Sequence

import cbor2

from election.messages import Index, Position, Term
from qsync import record
from qsync.data.overlay import OverlayLimits
from qsync.data.request import ExecutedTransaction, Request
from qsync.data.sessions import born
from qsync.data.state import DataState
from qsync.record import CHAIN_SEED, Entry, EntryKind
from qsync.store.memory import MemorySpaces

Row = list[object]
SEED = b"s"
OPEN: list[object] = [30, SEED]


def session(index: int, seed: bytes = SEED) -> bytes:
    """The id of one that was opened there."""
    return born(seed, Position(Term(1), Index(index)))


def pack(*fields: object) -> bytes:
    """A tuple as it travels."""
    return cbor2.dumps(list(fields))


def rows(found: Sequence[bytes]) -> list[Row]:
    """Tuples as lists."""
    return [cbor2.loads(each) for each in found]


class Book:
    """Everything is written, confirmed and visible at once, unless a test says otherwise."""

    def __init__(self, *, memory: OverlayLimits | None = None) -> None:
        self.store = MemorySpaces()
        self.log: list[Entry] = []
        self.memory = memory
        self.state = DataState(self.store, folded=Index(0), memory=memory)
        self.session = b""
        """The session that was opened first."""

    @property
    def last(self) -> Index:
        """Index of the last entry."""
        return Index(len(self.log))

    def append(self, request: Request) -> ExecutedTransaction:
        """Execute and append; nothing becomes visible."""
        done = self.state.execute(request, at=Position(Term(1), Index(len(self.log) + 1)))
        entry = self.entry(done.body)
        self.state.applied(entry.index, entry.term, done)
        if not self.session and done.changes:
            self.session = done.changes[0].session
        return done

    def entry(self, body: bytes) -> Entry:
        """The next entry of the log."""
        previous = self.log[-1].crc if self.log else CHAIN_SEED
        index = len(self.log) + 1
        self.log.append(
            record.make(
                index=index,
                term=1,
                origin=1,
                lsn=index,
                kind=EntryKind.TXN,
                flags=0,
                time=0.0,
                body=body,
                previous=previous,
            )
        )
        return self.log[-1]

    def pend(self, *ops: list[object], seq: int = 0, low: int = 0) -> list[bytes | None]:
        """A transaction that stays pending; with a number, one of the session."""
        return self.append(Request(self.session if seq else b"", seq, low, ops)).results

    def write(self, *ops: list[object], seq: int = 0, low: int = 0) -> list[bytes | None]:
        """A transaction that is visible at once."""
        results = self.pend(*ops, seq=seq, low=low)
        self.state.see(self.last)
        return results

    def space(self, name: str = "t", **options: object) -> None:
        """A space with the format and the primary index that most tests want."""
        format_ = [["id", "unsigned"], ["tag", "string?"], ["n", "integer?"]]
        given: dict[str, object] = {"format": format_, "primary": [["id", "unsigned"]]}
        self.write([10, name, given | options])

    def all(self, space: object = "t", index: object = None, *, head: bool = False) -> list[Row]:
        """Every visible tuple, in the order of an index."""
        return rows(self.state.select(space, index, "all", (), head=head))

    def fold(self, upto: int | None = None, *, rows_max: int = 1000) -> int:
        """One slice; the index it reached."""
        fold = self.state.fold(Index(self.last if upto is None else upto), rows_max)
        self.store.fold(fold)
        self.state.folded_to(fold)
        return fold.folded

    def follower(self, store: MemorySpaces | None = None) -> DataState:
        """A node that has the same log, and what `store` has folded of it."""
        store = store or MemorySpaces()
        state = DataState(store, folded=store.folded, memory=self.memory)
        state.apply(self.log[store.folded :])
        state.see(self.last)
        return state
