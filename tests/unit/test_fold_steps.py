"""A frozen memtable is folded step by step, and between two steps everything else goes on."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from typing_extensions import override

from election.messages import Index
from qsync.data import fold
from qsync.data.fold import STEP, Fold
from qsync.data.keys import prefix
from qsync.data.memtable import RELEASE_STEP, release
from qsync.data.overlay import OverlayLimits
from qsync.data.request import ExecutedTransaction, LoggedTransaction
from qsync.data.sessions import Session, Sessions
from qsync.data.state import DataState
from qsync.store.spaces import STEP_BYTES, SpaceStore

SLICE_ROWS = 50
MEMTABLE_ROWS = 20 * SLICE_ROWS
KEYS = 3000
SPACE = prefix(512, 0)


class Drawn(list[tuple[bytes, bytes]]):
    """Rows that know how many of them were taken, and how large."""

    rows = size = 0

    @override
    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        for row in super().__iter__():
            self.rows += 1
            self.size += len(row[1])
            yield row


@dataclass
class Rows:
    """What a store is given."""

    folded: Index
    puts: Drawn
    deletes: list[bytes]


class Store:
    """Spaces above a real store, and what they must hold: a dictionary."""

    def __init__(self, path: Path, *, seed: int) -> None:
        self.spaces = SpaceStore(path / "data")
        self.state = DataState(
            self.spaces, folded=Index(0), memory=OverlayLimits(memtable_rows=MEMTABLE_ROWS)
        )
        self.model: dict[bytes, bytes] = {}
        self.dice = Random(seed)

    def put(self, size: int = 40) -> None:
        index = self.state.head + 1
        key = SPACE + b"\x04" + self.dice.randrange(KEYS).to_bytes(8, "big")
        if self.dice.random() < 0.1:
            self.model.pop(key, None)
            self._apply(index, key, None)
        else:
            self.model[key] = b"%d" % index * (size // 4)
            self._apply(index, key, self.model[key])

    def _apply(self, index: int, key: bytes, value: bytes | None) -> None:
        done = ExecutedTransaction(
            b"", sync=True, results=[], writes=[(key, value)], session=b"", seq=0, low=0
        )
        self.state.applied(index, 1, done)
        self.state.see(Index(index))

    def look(self) -> None:
        """Single keys and a range, as clients read them."""
        view = self.state.view(None)
        for _ in range(5):
            key = SPACE + b"\x04" + self.dice.randrange(KEYS).to_bytes(8, "big")
            assert view.get(key) == self.model.get(key)
        lo = SPACE + b"\x04" + self.dice.randrange(KEYS).to_bytes(8, "big")
        hi = SPACE + b"\x04" + self.dice.randrange(KEYS).to_bytes(8, "big")
        rows = {key: value for key, value in self.model.items() if lo <= key < hi}
        assert dict(view.scan(lo, hi)) == rows

    def whole(self) -> None:
        assert dict(self.state.view(None).scan(SPACE, SPACE + b"\xff")) == self.model


@pytest.mark.parametrize("seed", range(3))
def test_reads_and_writes_between_the_steps_of_a_fold_see_all_that_was_written(
    tmp_path: Path, seed: int
) -> None:
    store = Store(tmp_path, seed=seed)
    for _ in range(3 * MEMTABLE_ROWS):
        store.put()
    frozen = len(store.state.overlay.memtables) - 1
    assert frozen >= 2
    steps = folds = 0
    while store.state.overlay.has_frozen:
        plan = store.state.folding(store.state.visible, MEMTABLE_ROWS)
        fold: Fold | None = None
        while fold is None:
            try:
                next(plan)
            except StopIteration as done:
                fold = done.value
            store.put()
            store.look()
        for wait in store.spaces.folding(fold, SLICE_ROWS):
            if wait is not None:
                wait()
            steps += 1
            if steps % 3 == 0:
                store.put()
            store.look()
        dropped = store.state.folded_to(fold)
        folds += 1
        store.look()
        for _ in release(dropped):
            store.put()
            store.look()
    assert steps > folds * (MEMTABLE_ROWS // SLICE_ROWS) // 2
    store.whole()
    store.spaces.close()


def test_a_step_of_a_fold_writes_so_many_rows_or_so_many_bytes(tmp_path: Path) -> None:
    """Its time is theirs; what a machine makes of them is measured elsewhere."""
    spaces = SpaceStore(tmp_path / "data")
    for size in (10, 3000, STEP_BYTES // 4, 3 * STEP_BYTES):
        puts = Drawn((b"%08d-%08d" % (size, number), b"v" * size) for number in range(200))
        deletes = [b"gone %03d" % number for number in range(120)]
        index = Index(spaces.folded + 1)
        before = (0, 0)
        for wait in spaces.folding(Rows(index, puts, deletes), SLICE_ROWS):
            if wait is not None:
                wait()
            rows, written = puts.rows - before[0], puts.size - before[1]
            assert rows <= SLICE_ROWS
            assert written <= STEP_BYTES + size
            before = puts.rows, puts.size
        assert before[0] == 200
    spaces.close()


def test_planning_and_dropping_a_memtable_take_bounded_steps(tmp_path: Path) -> None:
    store = Store(tmp_path, seed=1)
    for _ in range(4 * STEP):
        store.put()
    plan, steps = store.state.folding(store.state.visible, 4 * STEP), 0
    fold: Fold | None = None
    while fold is None:
        try:
            next(plan)
            steps += 1
        except StopIteration as done:
            fold = done.value
    # Gathered (an entry, and a row of it), put in order, written down.
    assert steps >= 4 * fold.txns // STEP - 4
    store.spaces.fold(fold)
    dropped = store.state.folded_to(fold)
    entries = [len(each.txns) for each in dropped]
    assert sum(entries) == 4 * STEP
    # Each step gives back one piece of one memtable, its last piece with the next one.
    assert sum(1 for _ in release(dropped)) == sum(-(-each // RELEASE_STEP) - 1 for each in entries)
    store.spaces.close()


@dataclass
class Asked:
    """Transactions of these sessions, in turn, one row each; and how many were taken."""

    sessions: list[bytes]
    taken: int = 0

    def __iter__(self) -> Iterator[LoggedTransaction]:
        for index, name in enumerate(self.sessions, 1):
            self.taken += 1
            yield LoggedTransaction(
                index, 1, session=name, seq=index, low=0, changes=(), body=b"",
                writes=[(b"%06d" % index, b"row")], schema=None,
            )  # fmt: skip


def plan_steps(outcomes: int) -> int:
    """Plan for sessions that remember so many requests: how many steps that takes."""
    names, known = [b"a", b"b", b"c", b"d"], Sessions([])
    upto = STEP // 10 * len(names)
    for name in names:
        known.folded[name] = session = Session(opened=1)
        session.outcomes = {each: (each, 1, False) for each in range(upto, upto + outcomes)}
    asked = Asked(names * (STEP // 10))
    steps, before = 0, 0
    for _ in fold.plan(asked, upto=upto, rows_max=upto, known=known, rolled={}):
        assert asked.taken - before <= STEP // 2 + 1  # each is an entry, and a row
        before, steps = asked.taken, steps + 1
    return steps


def test_planning_counts_what_sessions_remember() -> None:
    """Each outcome is written into the row of its session: a few sessions may have thousands."""
    assert plan_steps(outcomes=2 * STEP) == plan_steps(outcomes=0) + 4
