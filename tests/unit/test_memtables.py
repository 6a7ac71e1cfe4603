"""Memtables against the plainest model: a dictionary of versions, and a store that is replayed."""

from collections.abc import Iterator
from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from qsync.data import schema
from qsync.data.keys import prefix as prefix_of
from qsync.data.memtable import SORT_KEYS_MIN, USER_KEYS
from qsync.data.overlay import MEMTABLE_BYTES, Overlay, OverlayLimits, VersionView
from qsync.data.request import LoggedTransaction, Write
from qsync.store.memory import MemorySpaces
from tests.examples import scaled

KEYS = [prefix_of(space, 0) for space in (schema.GC_CONSUMERS, schema.SETTINGS)]
KEYS += [b"%d" % number for number in range(5)]
WRITES = st.dictionaries(st.sampled_from(KEYS), st.none() | st.sampled_from([b"x", b"yy"]))
ENDS = st.sampled_from([b"", *KEYS, USER_KEYS, b"9"])


def logged(index: int, writes: list[Write]) -> LoggedTransaction:
    return LoggedTransaction(
        index, 1, session=b"", seq=0, low=0, changes=(), body=b"", writes=writes, schema=None
    )


class Slice:
    """What a store is given."""

    def __init__(self, folded: int, writes: dict[bytes, bytes | None]) -> None:
        self.folded = folded
        self.puts = [(key, value) for key, value in writes.items() if value is not None]
        self.deletes = [key for key, value in writes.items() if value is None]


class Generations(RuleBasedStateMachine):
    """Entries come, the newest are taken back, the oldest are folded; a fold may be half done."""

    @initialize(rows_max=st.sampled_from([1, 2, 3, 4, 5, 40, 60]))
    def begin(self, rows_max: int) -> None:
        self.overlay = Overlay(OverlayLimits(rows_max))
        self.rows_max = rows_max
        self.store = MemorySpaces()
        self.log: list[dict[bytes, bytes | None]] = []
        self.versions: dict[bytes, list[tuple[int, bytes | None]]] = {}
        self.folded = 0
        self.begun = 0
        """Up to here the store has rows already of which the overlay does not know."""

    @rule(writes=WRITES)
    def put(self, writes: dict[bytes, bytes | None]) -> None:
        self.log.append(writes)
        index = len(self.log)
        self.overlay.put(logged(index, list(writes.items())))
        for key, value in writes.items():
            self.versions.setdefault(key, []).append((index, value))

    @precondition(lambda self: len(self.log) > self.begun)
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        for _ in range(data.draw(st.integers(1, len(self.log) - self.begun))):
            last = self.overlay.last()
            assert last is not None
            assert last.index == len(self.log)
            assert self.overlay.undo() is last
            for key in self.log.pop():
                self.versions[key].pop()

    @precondition(lambda self: self.begun == self.folded)
    @rule(part=st.floats(0, 1))
    def store_takes_a_slice(self, part: float) -> None:
        self.begun += round((len(self.log) - self.folded) * part)
        last: dict[bytes, bytes | None] = {}
        for writes in self.log[self.folded : self.begun]:
            last.update(writes)
        self.store.fold(Slice(self.begun, last))  # type: ignore[arg-type]  # plain numbers

    @rule()
    def overlay_hears_of_it(self) -> None:
        slice_ = self.log[self.folded : self.begun]
        self.overlay.fold(len(slice_), sum(map(len, slice_)))
        self.folded = self.begun

    # -- what must hold

    def at(self, index: int) -> Iterator[Write]:
        """Of each key what the model has at an index."""
        for key in KEYS:
            known = [value for when, value in self.versions.get(key, []) if when <= index]
            yield key, known[-1] if known else None

    @invariant()
    def every_index_that_may_be_read_is_as_the_model_has_it(self) -> None:
        for index in range(self.begun, len(self.log) + 1):
            view = VersionView(self.overlay, self.store, index)
            expected = list(self.at(index))
            assert [(key, view.get(key)) for key in KEYS] == expected
            rows = [row for row in expected if row[1] is not None]
            assert list(view.scan(b"", b"\xff")) == rows
            assert list(view.scan(b"", b"\xff", reverse=True)) == rows[::-1]
        head = VersionView(self.overlay, self.store, None)
        assert [(key, head.get(key)) for key in KEYS] == list(self.at(len(self.log)))

    @rule(lo=ENDS, hi=ENDS, reverse=st.booleans())
    def part_of_the_keys(self, lo: bytes, hi: bytes, reverse: bool) -> None:
        expected = [row for row in self.at(len(self.log)) if row[1] is not None]
        view = VersionView(self.overlay, self.store, None)
        found = list(view.scan(lo, hi, reverse=reverse))
        assert found == [row for row in expected if lo <= row[0] < hi][:: -1 if reverse else 1]

    @invariant()
    def what_is_not_folded_is_counted_and_in_order(self) -> None:
        rest = self.log[self.folded :]
        assert [txn.index for txn in self.overlay.unfolded()] == [
            index + 1 for index in range(self.folded, len(self.log))
        ]
        assert self.overlay.rows == sum(map(len, rest))
        last = self.overlay.last()
        assert (0 if last is None else last.index) == (len(self.log) if rest else 0)
        for key in {key for writes in rest for key in writes}:
            assert self.overlay.changed(key) == self.versions[key][-1][0]

    @invariant()
    def no_more_stays_in_memory_than_one_memtable_that_is_folded_in_part(self) -> None:
        kept = [len(each.txns) for each in self.overlay.memtables]
        waiting = len(self.log) - self.folded
        assert sum(kept[1:]) < waiting <= sum(kept) if waiting else not any(kept)
        assert len(kept) == 1 or min(kept) > 0
        assert max(kept) <= self.rows_max
        assert self.overlay.weight == sum(
            len(key) + len(value or b"")
            for each in self.overlay.memtables
            for txn in each.txns
            for key, value in txn.writes
        )


TestGenerations = Generations.TestCase
TestGenerations.settings = settings(max_examples=scaled(150), stateful_step_count=40, deadline=None)


def test_a_memtable_is_dropped_whole_when_its_last_entry_is_folded() -> None:
    overlay = Overlay(OverlayLimits(3))
    for index in range(1, 8):
        overlay.put(logged(index, [(b"%d" % index, b"v")]))
    assert [len(each.txns) for each in overlay.memtables] == [3, 3, 1]
    overlay.fold(2, 2)
    assert [len(each.txns) for each in overlay.memtables] == [3, 3, 1]
    assert overlay.rows == 5
    overlay.fold(2, 2)
    assert [len(each.txns) for each in overlay.memtables] == [3, 1]
    overlay.fold(3, 3)
    assert [len(each.txns) for each in overlay.memtables] == [0]
    assert overlay.rows == overlay.weight == 0


def test_a_memtable_is_full_by_its_weight_too() -> None:
    overlay = Overlay()
    value = bytes(MEMTABLE_BYTES // 4)
    for index in range(1, 10):
        overlay.put(logged(index, [(b"%d" % index, value)]))
    assert [each.rows for each in overlay.memtables] == [4, 4, 1]
    assert overlay.has_frozen


def test_what_little_is_left_of_the_active_memtable_is_put_anew() -> None:
    """On a quiet node a last entry that waits for its confirmation holds no more in memory."""
    overlay = Overlay(OverlayLimits(100))
    for index in range(1, 51):
        overlay.put(logged(index, [(b"%d" % index, b"v")]))
    assert overlay.fold(44, 44) == []
    assert len(overlay.memtables[0].txns) == 50
    (dropped,) = overlay.fold(1, 1)
    assert len(dropped.txns) == 50
    assert [txn.index for txn in overlay.unfolded()] == [46, 47, 48, 49, 50]
    assert overlay.rows == 5
    assert overlay.tables == (overlay.memtables[0].versions,)


def test_few_entries_of_many_rows_are_not_put_anew() -> None:
    """It would take as long as all their rows took before, in one piece."""
    overlay = Overlay(OverlayLimits(100))
    for index in range(1, 11):
        overlay.put(logged(index, [(b"%d-%d" % (index, n), b"v") for n in range(6)]))
    assert overlay.fold(9, 54) == []
    assert len(overlay.memtables[0].txns) == 10
    assert overlay.rows == 6


def test_an_entry_of_many_rows_is_not_divided() -> None:
    overlay = Overlay(OverlayLimits(3))
    many: list[Write] = [(b"%02d" % number, b"v") for number in range(50)]
    overlay.put(logged(1, many))
    overlay.put(logged(2, many))
    assert [each.rows for each in overlay.memtables] == [50, 50]
    assert list(overlay.keys(b"", b"9")) == [key for key, _ in many]


def test_scans_stay_right_while_keys_come_and_go() -> None:
    """Keys that are taken back are not in the order any more."""
    overlay = Overlay(OverlayLimits(100_000))
    for turn in range(4):
        keys = [b"%d-%05d" % (turn, n) for n in range(2000)]
        overlay.put(logged(turn + 1, [(key, b"v") for key in keys]))
        assert list(overlay.keys(b"0", b"9")) == keys
        overlay.undo()
        assert list(overlay.keys(b"0", b"9")) == []
    assert len(overlay.memtables[0]._order) == 0


def test_a_scan_of_a_system_space_orders_no_other_keys() -> None:
    """A node looks at one every second, however many rows are written meanwhile."""
    overlay = Overlay(OverlayLimits(100_000))
    system, user = (
        [prefix + b"%05d" % n for n in range(2000)]
        for prefix in (prefix_of(schema.GC_CONSUMERS, 0), USER_KEYS)
    )
    overlay.put(logged(1, [(key, b"v") for key in (*user[:1000], *reversed(system[:1000]))]))
    assert list(overlay.keys(b"", USER_KEYS)) == system[:1000]
    overlay.put(logged(2, [(key, b"v") for key in (*system[1000:], *user[1000:])]))
    assert list(overlay.keys(b"", USER_KEYS, reverse=True)) == system[::-1]
    overlay.undo()
    assert list(overlay.keys(b"", USER_KEYS)) == system[:1000]
    overlay.put(logged(2, [(key, b"v") for key in (*user[1000:], *system[1000:])]))
    assert list(overlay.keys(system[500], system[1500])) == system[500:1500]
    assert len(overlay.memtables[0]._order) == 0
    assert list(overlay.keys(b"", b"\xff")) == [*system, *user]


def test_one_memtable_is_put_in_order_at_a_time_and_each_once() -> None:
    overlay = Overlay(OverlayLimits(SORT_KEYS_MIN))
    keys = [b"%05d" % n for n in range(3 * SORT_KEYS_MIN + 1)]
    for index, key in enumerate(reversed(keys), start=1):
        overlay.put(logged(index, [(key, b"v")]))
    assert [overlay.sort() for _ in range(5)] == [True, True, True, False, False]
    assert list(overlay.keys(b"", b"9")) == keys
    overlay.put(logged(len(keys) + 1, [(b"new", b"v")]))
    assert not overlay.sort()
    assert list(overlay.keys(b"", b"z")) == [*keys, b"new"]


def test_a_large_memtable_is_put_in_order_in_steps_while_keys_come_and_go() -> None:
    """Each step takes a few keys more than before, wherever the newest entries are meanwhile."""
    overlay, dice = Overlay(OverlayLimits(100_000)), Random(1)
    written = [b"%05d" % n for n in dice.sample(range(100_000), 20_000)]

    def put(keys: list[bytes]) -> None:
        index = 1 + sum(len(each.txns) for each in overlay.memtables)
        overlay.put(logged(index, [(key, b"v") for key in keys]))

    put(written[:10_000])
    assert overlay.sort()
    put(written[10_000:])
    steps = 1
    while overlay.sort():
        steps += 1
        if steps == 5:
            overlay.undo()  # keys of which none are in order yet
            put(written[10_000:])
    assert steps == 12
    overlay.undo()  # keys that are in order
    assert list(overlay.keys(b"", b"99999")) == sorted(written[:10_000])
    put(written[15_000:])
    assert list(overlay.keys(b"5", b"7")) == sorted(
        key for key in (*written[:10_000], *written[15_000:]) if b"5" <= key < b"7"
    )
