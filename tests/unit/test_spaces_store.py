"""Folded rows: ordered, exact at an index, and never trusted after a crash of the system."""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from election.messages import Index
from qsync.errors import DiskFull, StoreError
from qsync.store import longkeys, mark
from qsync.store.beside import SlowCall
from qsync.store.contract import Spaces
from qsync.store.mark import boot_id
from qsync.store.memory import MemorySpaces
from qsync.store.spaces import SpaceStore
from tests.examples import scaled

LOW, HIGH = b"\0", b"\xff" * 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A fold."""

    folded: Index
    puts: list[tuple[bytes, bytes]] = field(default_factory=list)
    deletes: list[bytes] = field(default_factory=list)


def fold(at: int, *deletes: bytes, **puts: str) -> Rows:
    return Rows(
        folded=Index(at),
        puts=[(key.encode(), value.encode()) for key, value in puts.items()],
        deletes=list(deletes),
    )


@contextmanager
def lmdb_spaces() -> Iterator[SpaceStore]:
    path = Path(tempfile.mkdtemp(prefix="qsync-test-"))
    store = SpaceStore(path / "data", map_size=256 * 1024)
    try:
        yield store
    finally:
        store.close()
        shutil.rmtree(path)


@contextmanager
def memory_spaces() -> Iterator[MemorySpaces]:
    yield MemorySpaces()


STORES: dict[str, Callable[[], AbstractContextManager[Spaces]]] = {
    "lmdb": lmdb_spaces,
    "memory": memory_spaces,
}


@pytest.fixture(params=sorted(STORES))
def store(request: pytest.FixtureRequest) -> Iterator[Spaces]:
    with STORES[request.param]() as opened:
        yield opened


# ------------------------------------------------------------------------ what both stores promise


def test_a_new_store_is_empty_at_index_zero(store: Spaces) -> None:
    assert store.folded == 0
    assert store.get(b"key") is None
    assert list(store.scan(LOW, HIGH)) == []


def test_a_fold_puts_deletes_and_moves_the_index(store: Spaces) -> None:
    store.fold(fold(3, a="1", b="2"))
    assert store.get(b"a") == b"1"
    store.fold(fold(5, b"a", b"never there", b="3", c="4"))
    assert store.folded == 5
    assert list(store.scan(LOW, HIGH)) == [(b"b", b"3"), (b"c", b"4")]


def test_an_empty_fold_only_moves_the_index(store: Spaces) -> None:
    store.fold(fold(3, a="1"))
    store.fold(fold(9))
    assert (store.folded, store.get(b"a")) == (9, b"1")


def test_a_fold_never_goes_back(store: Spaces) -> None:
    store.fold(fold(3))
    with pytest.raises(AssertionError):
        store.fold(fold(2))


def many(index: int, value: bytes, *, count: int = 500) -> Rows:
    return Rows(folded=Index(index), puts=[(b"%04d" % at, value) for at in range(count)])


def test_nothing_of_a_fold_in_steps_is_seen_before_its_end(store: Spaces) -> None:
    store.fold(many(1, b"old"))
    rows = [row for row in many(2, b"new").puts if row[0] != b"0007"]
    steps = store.folding(Rows(folded=Index(2), puts=rows, deletes=[b"0007"]), 100)
    for _ in steps:
        assert (store.folded, store.get(b"0000"), store.get(b"0007")) == (1, b"old", b"old")
        assert {value for _, value in store.scan(LOW, HIGH)} == {b"old"}
        store.sync()
    assert (store.folded, store.get(b"0000"), store.get(b"0007")) == (2, b"new", None)
    assert {value for _, value in store.scan(LOW, HIGH)} == {b"new"}


def test_a_fold_that_is_left_half_way_did_nothing(store: Spaces) -> None:
    store.fold(many(1, b"old"))
    steps = store.folding(many(2, b"new"), 100)
    next(steps)
    assert store.get(b"0000") == b"old"
    steps.close()
    assert (store.folded, store.get(b"0000")) == (1, b"old")
    store.fold(many(3, b"newer"))
    assert (store.folded, store.get(b"0000")) == (3, b"newer")


def test_while_the_commit_is_made_in_another_thread_reads_go_on(store: Spaces) -> None:
    """The last step writes every page that was touched: nobody is to wait for that."""
    store.fold(many(1, b"old"))
    steps = store.folding(many(2, b"new", count=20_000), 1000)
    waits = []
    for wait in steps:
        if wait is not None:
            waits.append(wait)
            with ThreadPoolExecutor(1) as thread:
                done = thread.submit(wait)
                while not done.done():
                    assert store.get(b"0000") in {b"old", b"new"}
                assert done.result() == 0
    assert waits or isinstance(store, MemorySpaces)
    assert (store.folded, store.get(b"0000")) == (2, b"new")
    assert len(list(store.scan(LOW, HIGH))) == 20_000


def test_a_fold_that_is_left_before_its_commit_did_nothing(store: Spaces) -> None:
    store.fold(many(0, b"first"))
    count = sum(1 for _ in store.folding(many(1, b"old"), 100))
    steps = store.folding(many(2, b"new"), 100)
    for _ in range(count):
        next(steps)  # the last of them leaves the commit to be waited for
    steps.close()
    assert (store.folded, store.get(b"0000")) == (1, b"old")
    store.fold(many(3, b"newer"))
    assert (store.folded, store.get(b"0000")) == (3, b"newer")


def test_what_is_waited_for_is_done_once_and_tells_its_owner_of_its_error() -> None:
    made: list[int] = []
    once = SlowCall(lambda: made.append(1))
    assert once.wait() == 0
    once.result()
    assert made == [1]

    def fails() -> None:
        raise OSError("the disk")

    broken = SlowCall(fails)
    assert broken.wait() == 0
    with pytest.raises(OSError, match="the disk"):
        broken.result()
    with pytest.raises(OSError, match="the disk"):
        SlowCall(fails).result()


def test_bounds_are_from_low_to_before_high(store: Spaces) -> None:
    store.fold(fold(1, a="1", b="2", c="3", d="4"))
    assert [key for key, _ in store.scan(b"b", b"d")] == [b"b", b"c"]
    assert [key for key, _ in store.scan(b"b", b"d", reverse=True)] == [b"c", b"b"]
    assert list(store.scan(b"d", b"b")) == []
    assert list(store.scan(b"b", b"b")) == []


def test_a_fold_in_steps_ends_in_the_same_rows_as_one_at_once(store: Spaces) -> None:
    for _ in store.folding(many(1, b"x"), 7):
        pass
    other = MemorySpaces()
    other.fold(many(1, b"x"))
    assert store.digest(LOW, HIGH) == other.digest(LOW, HIGH)


def test_wiping_forgets_rows_and_index(store: Spaces) -> None:
    store.fold(fold(3, a="1"))
    store.wipe()
    assert (store.folded, store.get(b"a")) == (0, None)
    store.fold(fold(1, a="2"))
    assert store.get(b"a") == b"2"


def test_syncing_says_up_to_where_rows_are_safe(store: Spaces) -> None:
    assert store.sync() == 0
    store.fold(fold(3, a="1"))
    assert store.sync() == 3


def test_the_digest_is_of_rows_not_of_how_they_came(store: Spaces) -> None:
    other = MemorySpaces()
    store.fold(fold(1, a="1", b="2"))
    store.fold(fold(2, b"b", c="3"))
    other.fold(fold(7, c="3", a="1"))
    assert store.digest(LOW, HIGH) == other.digest(LOW, HIGH)
    other.fold(fold(8, c="4"))
    assert store.digest(LOW, HIGH) != other.digest(LOW, HIGH)
    assert store.digest(LOW, b"b") == other.digest(LOW, b"b")


def test_a_scan_that_was_begun_goes_on_after_a_fold(store: Spaces) -> None:
    store.fold(Rows(folded=Index(1), puts=[(b"%04d" % at, b"old") for at in range(200)]))
    scan = store.scan(LOW, HIGH)
    first = [next(scan) for _ in range(3)]
    store.fold(Rows(folded=Index(2), puts=[(b"%04d" % at, b"x" * 4000) for at in range(200, 400)]))
    keys = [key for key, _ in [*first, *scan]]
    assert keys[:200] == [b"%04d" % at for at in range(200)]
    assert keys == sorted(set(keys))


# Keys that are short, at the edge, and long with beginnings in common.
EDGE = longkeys.HEAD_SIZE
tails = st.binary(max_size=3)
keys = st.one_of(
    st.binary(min_size=1, max_size=3),
    st.builds(lambda size, tail: b"k" * size + tail, st.integers(EDGE - 4, EDGE + 60), tails),
)
folds = st.lists(
    st.tuples(st.dictionaries(keys, st.binary(max_size=4), max_size=30), st.lists(keys)),
    max_size=6,
)


@pytest.mark.parametrize("store_kind", sorted(STORES))
@settings(max_examples=scaled(60))
@given(folds=folds, lo=keys, hi=keys, reverse=st.booleans())
def test_any_folds_and_any_scan_are_as_in_a_sorted_dict(
    store_kind: str,
    folds: list[tuple[dict[bytes, bytes], list[bytes]]],
    lo: bytes,
    hi: bytes,
    *,
    reverse: bool,
) -> None:
    model: dict[bytes, bytes] = {}
    with STORES[store_kind]() as store:
        for at, (puts, deletes) in enumerate(folds):
            store.fold(Rows(folded=Index(at), puts=list(puts.items()), deletes=deletes))
            for key in deletes:
                model.pop(key, None)
            model.update(puts)
        wanted = [(key, model[key]) for key in sorted(model, reverse=reverse) if lo <= key < hi]
        assert list(store.scan(lo, hi, reverse=reverse)) == wanted
        everything = [(key, model[key]) for key in sorted(model, reverse=reverse)]
        assert list(store.scan(LOW[:0], HIGH, reverse=reverse)) == everything
        for key in [*model, lo, hi]:
            assert store.get(key) == model.get(key)


def test_a_long_scan_crosses_its_chunks_in_both_directions(store: Spaces) -> None:
    puts = [(b"%05d" % at, b"v") for at in range(3000)]
    store.fold(Rows(folded=Index(1), puts=puts))
    assert list(store.scan(LOW, HIGH)) == puts
    assert list(store.scan(LOW, HIGH, reverse=True)) == puts[::-1]
    assert list(store.scan(b"00017", b"02001")) == puts[17:2001]


# --------------------------------------------------------------------------- crashes, in LMDB


def test_rows_survive_closing_and_opening(tmp_path: Path) -> None:
    store = SpaceStore(tmp_path / "data")
    store.fold(fold(3, a="1"))
    store.close()
    again = SpaceStore(tmp_path / "data", boot="another run")
    assert (again.folded, again.get(b"a"), bool(again.rebuilt)) == (3, b"1", False)
    again.close()


def test_rows_survive_the_death_of_the_process(tmp_path: Path) -> None:
    store = SpaceStore(tmp_path / "data", boot="run 1")
    store.fold(fold(3, a="1"))
    store.abandon()
    again = SpaceStore(tmp_path / "data", boot="run 1")
    assert (again.folded, again.get(b"a"), bool(again.rebuilt)) == (3, b"1", False)
    again.close()


@pytest.mark.parametrize("boot", ["run 2", ""])
def test_rows_that_were_not_flushed_are_wiped_after_a_crash_of_the_system(
    tmp_path: Path, boot: str
) -> None:
    store = SpaceStore(tmp_path / "data", boot="run 1" if boot else "")
    store.fold(fold(3, a="1"))
    store.sync()
    store.fold(fold(4, b="2"))
    store.abandon()
    again = SpaceStore(tmp_path / "data", boot=boot)
    assert (again.folded, again.get(b"a"), bool(again.rebuilt)) == (0, None, True)
    again.fold(fold(1, c="1"))
    again.close()
    third = SpaceStore(tmp_path / "data", boot="run 3")
    assert (third.folded, bool(third.rebuilt)) == (1, False)
    third.close()


def test_rows_that_were_all_flushed_are_kept_after_a_crash_of_the_system(tmp_path: Path) -> None:
    store = SpaceStore(tmp_path / "data", boot="run 1")
    store.fold(fold(3, a="1"))
    assert store.sync() == 3
    store.abandon()
    again = SpaceStore(tmp_path / "data", boot="run 2")
    assert (again.folded, again.get(b"a"), bool(again.rebuilt)) == (3, b"1", False)
    again.abandon()


@pytest.mark.parametrize("text", ["", "cle", "clean 7", "run 9"])
def test_a_mark_that_is_torn_or_foreign_is_not_trusted(tmp_path: Path, text: str) -> None:
    store = SpaceStore(tmp_path / "data", boot="run 1")
    store.fold(fold(3, a="1"))
    store.close()
    (tmp_path / "data" / "mark").write_text(text)
    again = SpaceStore(tmp_path / "data", boot="run 1")
    assert (again.folded, bool(again.rebuilt)) == (0, True)
    again.close()


def test_a_mark_that_could_not_be_written_leaves_the_former_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that dies there leaves the same: the rows must not be rebuilt for that."""
    store = SpaceStore(tmp_path / "data", boot="run 1")
    store.fold(fold(3, a="1"))
    store.sync()

    def no_flush(_: int) -> None:
        raise OSError(errno.EIO, "the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_flush)
        with pytest.raises(StoreError):
            store.fold(fold(4, b="2"))
    store.abandon()
    again = SpaceStore(tmp_path / "data", boot="run 2")
    assert (again.folded, again.get(b"b"), bool(again.rebuilt)) == (3, None, False)
    again.close()


def test_a_mark_that_may_have_been_written_is_not_left_when_rows_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its content reached the disk, and then the flush of its name failed."""
    store = SpaceStore(tmp_path / "data", boot="run 1")
    store.fold(fold(3, a="1"))

    def no_flush(_: Path) -> None:
        raise OSError(errno.EIO, "the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(mark, "sync_directory", no_flush)
        with pytest.raises(StoreError):
            store.sync()
    store.fold(fold(4, b="2"))
    store.abandon()
    again = SpaceStore(tmp_path / "data", boot="run 2")
    assert (again.folded, bool(again.rebuilt)) == (0, True)
    again.close()


def test_rows_without_a_mark_are_not_trusted(tmp_path: Path) -> None:
    store = SpaceStore(tmp_path / "data")
    store.fold(fold(3, a="1"))
    store.close()
    (tmp_path / "data" / "mark").unlink()
    again = SpaceStore(tmp_path / "data")
    assert (again.folded, bool(again.rebuilt)) == (0, True)
    again.close()


def test_what_was_wiped_after_a_sync_does_not_come_back(tmp_path: Path) -> None:
    store = SpaceStore(tmp_path / "data", boot="run 1")
    store.fold(fold(3, a="1"))
    store.sync()
    store.wipe()
    store.abandon()
    again = SpaceStore(tmp_path / "data", boot="run 2")
    assert (again.folded, list(again.scan(LOW, HIGH))) == (0, [])
    again.close()


def test_the_run_of_the_system_has_a_name_that_stays() -> None:
    assert boot_id() == boot_id()


@pytest.mark.parametrize(("system", "folded"), [(False, 4), (True, 0)])
def test_memory_forgets_unflushed_rows_only_with_the_system(*, system: bool, folded: int) -> None:
    memory = MemorySpaces()
    memory.fold(fold(3, a="1"))
    memory.sync()
    memory.crash(system=True)
    assert memory.folded == 3
    memory.fold(fold(4, b="2"))
    memory.crash(system=system)
    assert memory.folded == folded


def test_a_fold_into_a_full_map_leaves_everything_as_it_was(tmp_path: Path) -> None:
    store = SpaceStore(tmp_path / "data", map_size=128 * 1024, map_size_max=128 * 1024)
    store.fold(fold(1, a="1"))
    big = Rows(folded=Index(2), puts=[(b"%d" % at, b"x" * 3000) for at in range(100)])
    with pytest.raises(DiskFull):
        store.fold(big)
    assert (store.folded, store.get(b"a"), store.get(b"5")) == (1, b"1", None)
    store.fold(fold(2, b="2"))
    assert store.get(b"b") == b"2"
    store.close()
