"""Versions above the folded state, against a naive model: the log replayed for every look."""

from collections.abc import Iterable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from election.messages import Index
from qsync.data.fold import Fold
from qsync.data.overlay import OverlayLimits, merge
from qsync.data.request import EXPIRED, NEW, KnownRequest, Request
from qsync.data.state import DataState
from qsync.store.memory import MemorySpaces
from tests.examples import scaled
from tests.unit.book import OPEN, Book, pack, rows

NUMBERS = st.integers(0, 5)
CHANGES: st.SearchStrategy[list[object]] = st.lists(
    st.tuples(st.just("put"), NUMBERS, NUMBERS, NUMBERS) | st.tuples(st.just("delete"), NUMBERS),
    max_size=3,
)
Log = list[list[object]]
"""Per entry its effects, in the short hand of `Histories.write`."""


def replay(log: Iterable[list[object]]) -> tuple[dict[int, tuple[int, int]], bool]:
    """The naive state: tuples by number, and whether there is an index on tags."""
    held: dict[int, tuple[int, int]] = {}
    indexed = False
    for ops in log:
        for op in ops:
            match op:
                case ("put", int(number), int(tag), int(value)):
                    held[number] = (tag, value)
                case ("delete", int(number)):
                    held.pop(number, None)
                case ("truncate",):
                    held.clear()
                case ("index",):
                    indexed = True
                case ("no index",):
                    indexed = False
                case _:
                    raise AssertionError(op)
    return held, indexed


class Histories(RuleBasedStateMachine):
    """A leader's state and a follower's state go through the same history and must agree."""

    def __init__(self) -> None:
        super().__init__()
        self.book = Book(memory=OverlayLimits(3))
        self.book.space()
        self.book.write(OPEN)
        self.start = len(self.book.log)
        self.follower_store = MemorySpaces()
        self.follower = self.book.follower(self.follower_store)
        self.log: Log = [[] for _ in self.book.log]
        self.rolled: set[int] = set()
        self.firsts: set[int] = set()
        self.visible = self.confirmed = self.start
        self.cuts = 0
        # Entries written by a leader that did not know yet that its rollback had no say.
        self.stale_from = 10**9

    @property
    def states(self) -> tuple[DataState, DataState]:
        return self.book.state, self.follower

    @initialize()
    def index_first(self) -> None:
        self.toggle_index()

    # -- writing

    def write(self, ops: list[object]) -> None:
        encoded: list[list[object]] = []
        effects: list[object] = []
        for op in ops:
            held, _ = replay([*self.alive(len(self.log)), effects])
            if op[0] != "delete" or op[1] in held:  # type: ignore[index]  # a tuple
                effects.append(op)
            match op:
                case ("put", number, tag, value):
                    encoded.append([2, "t", pack(number, str(tag), value)])
                case ("delete", number):
                    encoded.append([5, "t", 0, [number]])
                case ("truncate",):
                    encoded.append([6, "t"])
                case ("index",):
                    encoded.append(
                        [13, "t", "tag", {"parts": [["tag", "string"]], "unique": False}]
                    )
                case _:
                    assert op == ("no index",)
                    encoded.append([14, "t", "tag"])
        seq = len(self.log) + 1 + 1000 * self.cuts
        self.book.append(Request(self.book.session, seq, 1, encoded))
        self.follower.apply(self.book.log[-1:])
        self.log.append(effects)

    @rule(ops=CHANGES)
    def change(self, ops: list[object]) -> None:
        self.write(ops)

    @rule(number=NUMBERS)
    def truncate(self, number: int) -> None:
        self.write([("put", 9, number, 9), ("truncate",), ("put", number, number, 0)])

    @rule()
    def toggle_index(self) -> None:
        _, indexed = self.replayed(len(self.log))
        self.write([("no index",) if indexed else ("index",)])

    # -- fates

    @rule(part=st.floats(0, 1))
    def see(self, part: float) -> None:
        self.visible += round((len(self.log) - self.visible) * part)
        for state in self.states:
            state.see(Index(self.visible))

    @rule(part=st.floats(0, 1))
    def confirm(self, part: float) -> None:
        upto = min(self.visible, self.stale_from - 1)
        self.confirmed += max(0, round((upto - self.confirmed) * part))

    @precondition(lambda self: self.visible < len(self.log))
    @rule(data=st.data())
    def roll_back(self, data: st.DataObject) -> None:
        first = data.draw(st.integers(self.visible + 1, len(self.log)))
        last = len(self.log)
        self.rolled |= set(range(first, last + 1))
        self.firsts.add(first)
        self.book.state.roll_back(Index(first), Index(last))
        # The follower may get what the leader wrote after the rollback before it hears of it.
        for ops in data.draw(st.lists(CHANGES | st.none(), max_size=2)):
            self.toggle_index() if ops is None else self.write(ops)
        self.follower.roll_back(Index(first), Index(last))

    @precondition(lambda self: any(index > self.confirmed for index in self.rolled & self.firsts))
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        # From the first victim of a stretch on; what is left of it is a stretch of its own.
        victims = sorted(index for index in self.rolled if index > self.confirmed)
        first = data.draw(st.sampled_from([each for each in victims if each in self.firsts]))
        last = data.draw(st.sampled_from([index for index in victims if index >= first]))
        self.firsts.add(last + 1)
        self.rolled -= set(range(first, last + 1))
        self.visible = min(self.visible, first - 1)
        self.stale_from = min(self.stale_from, last + 1)
        for state in self.states:
            state.restore(Index(first), Index(last))

    @rule(part=st.floats(0, 1))
    def cut(self, part: float) -> None:
        above = self.confirmed + round((len(self.log) - self.confirmed) * part)
        del self.log[above:]
        del self.book.log[above:]
        self.cuts += 1
        self.rolled = {index for index in self.rolled if index <= above}
        self.visible = min(self.visible, above)
        if above < self.stale_from:
            self.stale_from = 10**9
        for state in self.states:
            state.cut(Index(above))

    # -- the store

    @rule(rows_max=st.integers(1, 6), which=st.booleans())
    def fold(self, rows_max: int, which: bool) -> None:
        state = self.states[which]
        store = self.follower_store if which else self.book.store
        done: Fold = state.fold(Index(self.confirmed), rows_max)
        assert done.folded <= self.confirmed
        store.fold(done)
        state.folded_to(done)

    @rule()
    def open_again(self) -> None:
        store = self.follower_store
        state = DataState(store, folded=store.folded, memory=OverlayLimits(3))
        state.apply(self.book.log[store.folded :])
        for index in sorted(self.rolled):
            if index > store.folded:
                state.roll_back(Index(index), Index(index))
        state.see(Index(self.visible))
        self.follower = state

    # -- what must hold

    def alive(self, upto: int) -> Log:
        entries = enumerate(self.log[:upto], 1)
        return [effects for index, effects in entries if index not in self.rolled]

    def replayed(self, upto: int) -> tuple[dict[int, tuple[int, int]], bool]:
        return replay(self.alive(upto))

    @invariant()
    def visible_reads_equal_the_replay(self) -> None:
        held, indexed = self.replayed(self.visible)
        expected = [[number, str(tag), value] for number, (tag, value) in sorted(held.items())]
        by_tag = sorted(expected, key=lambda row: (row[1], row[0]))
        for state in self.states:
            assert rows(state.select("t", None, "all")) == expected
            assert rows(state.select("t", None, "le")) == expected[::-1]
            assert state.count("t") == len(expected)
            assert [one.name for one in state.spaces()["t"].secondary] == ["tag"] * indexed
            if indexed:
                assert rows(state.select("t", "tag", "all")) == by_tag
                assert rows(state.select("t", "tag", "req", ["3"])) == [
                    row for row in by_tag[::-1] if row[1] == "3"
                ]
        assert self.states[0].digests() == self.states[1].digests()

    @invariant()
    def head_reads_equal_the_replay_of_the_whole_log(self) -> None:
        held, indexed = self.replayed(len(self.log))
        for state in self.states:
            found = state.select("t", None, "all", head=True)
            assert {row[0]: row[2] for row in rows(found)} == {n: v for n, (_, v) in held.items()}
            if indexed:
                assert sorted(state.select("t", "tag", "all", head=True)) == sorted(found)

    @invariant()
    def past_reads_equal_the_replay_up_to_there(self) -> None:
        for state in self.states:
            at = (state.folded + self.visible) // 2
            if at <= self.start:
                continue
            held, _ = self.replayed(at)
            assert [row[0] for row in rows(state.select("t", None, "all", at=at))] == sorted(held)

    @invariant()
    def requests_in_the_log_are_known_and_others_are_not(self) -> None:
        for state in self.states:
            assert state.known_request(b"nobody", 1) is EXPIRED
            assert state.known_request(self.book.session, 10**9) is NEW
            numbers = {txn.seq: txn.index for txn in state.overlay.unfolded()}
            for seq, index in numbers.items():
                if seq:
                    assert state.known_request(self.book.session, seq) == KnownRequest(
                        index, 1, index in self.rolled
                    )

    @invariant()
    def the_overlay_knows_its_weight(self) -> None:
        for state in self.states:
            kept = [txn for each in state.overlay.memtables for txn in each.txns]
            writes = [write for txn in kept for write in txn.writes]
            assert state.overlay_bytes == sum(len(key) + len(v or b"") for key, v in writes)
            waiting = [txn for txn in kept if txn.index > state.folded]
            assert state.overlay_rows == sum(len(txn.writes) for txn in waiting)
            if state.folded == len(self.log):
                assert not kept


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=scaled(60), stateful_step_count=30, deadline=None)


def test_merging_prefers_the_upper_run_and_hides_what_it_deletes() -> None:
    upper = [(b"b", b"new"), (b"c", None), (b"e", b"5")]
    lower = [(b"a", b"1"), (b"b", b"old"), (b"c", b"3"), (b"d", b"4")]
    expected = [(b"a", b"1"), (b"b", b"new"), (b"d", b"4"), (b"e", b"5")]
    assert list(merge(upper, iter(lower), reverse=False)) == expected
    backwards = merge(upper[::-1], iter(lower[::-1]), reverse=True)
    assert list(backwards) == expected[::-1]
