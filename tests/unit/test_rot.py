"""Rows that are not what was folded are never given out, and never end the process."""

import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import lmdb
import pytest

from election.messages import Index
from qsync.errors import Rebuilding
from qsync.store import seals
from qsync.store.memory import MemorySpaces
from qsync.store.pages import Pages
from qsync.store.seals import SealChanges, Sums
from qsync.store.spaces import SpaceStore
from tests.unit.logs import ROOT
from tests.unit.test_spaces_store import HIGH, LOW, Rows, fold, lmdb_spaces

PAGE = 4096
HARMS = int(os.environ.get("QSYNC_TEST_HARMS", "60"))
"""How often a stored file is damaged at random."""


def key_of(number: int) -> bytes:
    """A key of one space; of its first index or of its second."""
    return b"\0\0\2\0%c%06d" % (number % 2, number)


def some(index: int, count: int, *, seed: int = 1) -> Rows:
    dice = Random(seed)
    puts = [(key_of(at), dice.randbytes(60)) for at in range(count)]
    return Rows(folded=Index(index), puts=sorted(puts))


def filled(path: Path, count: int = 2000, *, boot: str = "run") -> dict[bytes, bytes]:
    """A store on disk with rows, some on pages of their own, after changes that freed pages."""
    store = SpaceStore(path, boot=boot)
    for at in range(5):
        store.fold(some(at + 1, count, seed=at))
    store.fold(Rows(folded=Index(10), puts=[(b"\0\0\3\0big", b"x" * 50_000)]))
    rows = dict(store.scan(LOW, HIGH))
    store.close()
    return rows


def flip(file: Path, at: int, bit: int = 0) -> None:
    with file.open("r+b") as data:
        data.seek(at)
        (byte,) = data.read(1)
        data.seek(at)
        data.write(bytes([byte ^ (1 << bit)]))


def place_of(file: Path, content: bytes) -> int:
    at = file.read_bytes().rfind(content)
    assert at > 0
    return at


def spoil_a_row(path: Path) -> None:
    """One bit of one value, as a disk may do, in a store that nobody vouches for."""
    rows = filled(path)
    (path / "mark").write_text("clean")
    flip(path / "data.mdb", place_of(path / "data.mdb", rows[key_of(101)]), bit=3)


# ------------------------------------------------------------------------------- while it is open


@pytest.fixture
def damaged(tmp_path: Path) -> SpaceStore:
    """A store that was opened before one of its rows changed on the disk."""
    rows = filled(tmp_path / "data")
    store = SpaceStore(tmp_path / "data", boot="run")
    file = tmp_path / "data" / "data.mdb"
    flip(file, place_of(file, rows[key_of(101)]), bit=3)
    return store


def scrub(store: SpaceStore) -> None:
    while not store.scrub(100):
        pass


READS: dict[str, Callable[[SpaceStore], object]] = {
    "get": lambda store: store.get(key_of(101)),
    "scan": lambda store: list(store.scan(LOW, HIGH)),
    "scan back": lambda store: list(store.scan(LOW, HIGH, reverse=True)),
    "digest": lambda store: store.digest(LOW, HIGH),
    "scrub": scrub,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_row_of_which_a_bit_flipped_is_not_read(
    damaged: SpaceStore, read: Callable[[SpaceStore], object]
) -> None:
    assert damaged.get(key_of(100)) is not None
    with pytest.raises(Rebuilding):
        read(damaged)
    damaged.wipe()
    assert (damaged.folded, list(damaged.scan(LOW, HIGH))) == (0, [])
    damaged.fold(some(3, 100))
    damaged.close()


def test_what_was_found_damaged_is_not_vouched_for_at_the_end(
    tmp_path: Path, damaged: SpaceStore
) -> None:
    with pytest.raises(Rebuilding):
        damaged.get(key_of(101))
    damaged.close()
    again = SpaceStore(tmp_path / "data", boot="run")
    assert (again.folded, bool(again.rebuilt)) == (0, True)
    again.close()


@pytest.mark.parametrize("harm", ["lost", "changed", "added"])
def test_a_scrub_finds_rows_that_came_went_or_changed_behind_our_back(
    tmp_path: Path, harm: str
) -> None:
    """With a checksum that holds: only the sums can tell."""
    store = SpaceStore(tmp_path / "data")
    store.fold(some(1, 500))
    scrub(store)
    store._end_view()
    env, rows = store._env, store._env.db("rows")
    key = b"\0\0\2\0" + b"extra"
    if harm == "lost":
        env.update(lambda txn: txn.delete(key_of(42), db=rows))
    elif harm == "changed":
        value = seals.sealed(b"other", seals.seal(key_of(42), b"other"))
        env.update(lambda txn: txn.put(key_of(42), value, db=rows))
    else:
        value = seals.sealed(b"new", seals.seal(key, b"new"))
        env.update(lambda txn: txn.put(key, value, db=rows))
    with pytest.raises(Rebuilding):
        scrub(store)
    store.abandon()


def test_a_scrub_is_not_misled_by_folds_in_between() -> None:
    dice = Random(7)
    with lmdb_spaces() as store:
        store.fold(some(1, 300))
        index, rounds = 1, 0
        while rounds < 20:
            rounds += store.scrub(dice.randrange(20, 80))
            index += 1
            keys = [key_of(at) for at in dice.sample(range(400), 6)]
            puts = [(key, dice.randbytes(9)) for key in keys[:4]]
            store.fold(Rows(folded=Index(index), puts=puts, deletes=keys[4:]))


def test_both_stores_add_up_to_the_same() -> None:
    memory, dice = MemorySpaces(), Random(3)
    with lmdb_spaces() as store:
        for index in range(1, 30):
            keys = [dice.choice((b"\0\0\2\0", b"\0\0\3\0")) + b"%d" % at for at in range(9)]
            keys += [b"\0\0\2\0" + b"k" * 600 + b"%d" % at for at in range(3)]
            dice.shuffle(keys)
            rows = Rows(
                folded=Index(index),
                puts=[(key, dice.randbytes(5)) for key in keys[:6]],
                deletes=keys[6:9],
            )
            for each in (memory, store):
                each.fold(rows)
            assert memory.sums == store.sums
        everything = [key for key, _ in memory.scan(LOW, HIGH)]
        store.fold(Rows(folded=Index(30), deletes=everything))
        assert store.sums == Sums()


def test_sums_tell_values_that_changed_places() -> None:
    there, swapped = Sums(), Sums()
    for sums, values in ((there, (b"one", b"two")), (swapped, (b"two", b"one"))):
        changes = SealChanges()
        for key, value in zip((b"spc1a", b"spc1b"), values, strict=True):
            changes.put(key, seals.seal(key, value))
        sums.add(changes)
    assert there.differing(swapped) == [b"spc1"]


@pytest.mark.parametrize("groups", [(b"spc1",), (b"spc1", b"spc2")])
def test_rows_of_a_page_add_up_to_what_they_are_one_by_one(groups: tuple[bytes, ...]) -> None:
    rows, single, together = [], SealChanges(), SealChanges()
    for group in groups:
        for number in range(5):
            key, value = group + b"%d" % number, b"v" * number
            single.put(key, seals.seal(key, value))
            rows.append((key, seals.sealed(value, seals.seal(key, value))))
    assert together.verify(rows)
    assert dict(together.upon(Sums())) == dict(single.upon(Sums()))
    assert SealChanges().verify([])
    for at, (key, stored) in enumerate(rows):
        for other in (bytes([stored[0] ^ 1]) + stored[1:], stored[:3], b""):
            assert not SealChanges().verify([*rows[:at], (key, other), *rows[at + 1 :]])


# ------------------------------------------------------------------------------- when it is opened


def test_a_row_that_changed_while_the_store_was_closed_is_found_at_the_opening(
    tmp_path: Path,
) -> None:
    rows = filled(tmp_path / "data")
    file = tmp_path / "data" / "data.mdb"
    flip(file, place_of(file, rows[key_of(101)]))
    again = SpaceStore(tmp_path / "data", boot="another run")
    assert "is not as it was closed" in str(again.rebuilt)
    assert (again.folded, list(again.scan(LOW, HIGH))) == (0, [])
    again.close()


def test_a_row_that_changed_under_a_killed_process_is_found_at_the_opening(
    tmp_path: Path,
) -> None:
    spoil_a_row(tmp_path / "data")
    again = SpaceStore(tmp_path / "data", boot="run")
    assert "checksum of a row" in str(again.rebuilt)
    assert again.folded == 0
    again.close()


def test_whoever_only_looks_removes_nothing_and_vouches_for_nothing(tmp_path: Path) -> None:
    spoil_a_row(tmp_path / "data")
    looking = SpaceStore(tmp_path / "data", boot="run", repair=False)
    with pytest.raises(Rebuilding):
        list(looking.scan(LOW, HIGH))
    looking.close()
    again = SpaceStore(tmp_path / "data", boot="run")
    assert again.rebuilt is not None
    again.close()


def test_rows_of_a_release_without_checksums_are_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.mkdir()
    with lmdb.open(str(path), max_dbs=8) as env:
        rows, meta = env.open_db(b"rows"), env.open_db(b"meta")
        with env.begin(write=True) as txn:
            txn.put(b"\0\0\2\0a", b"one", db=rows)
            txn.put(b"folded", struct.pack(">Q", 3), db=meta)
    (path / "mark").write_text("clean")
    store = SpaceStore(path)
    assert "another release" in str(store.rebuilt)
    assert (store.folded, list(store.scan(LOW, HIGH))) == (0, [])
    store.fold(fold(1, a="1"))
    store.close()
    again = SpaceStore(path)
    assert (again.rebuilt, again.folded) == (None, 1)
    again.close()


# ----------------------------------------------------------------------- any damage whatever


@dataclass(frozen=True, slots=True)
class Harm:
    """What becomes of a file, and how the process that had it open ended."""

    kind: str
    at: int
    mark: str

    def do(self, path: Path) -> None:
        file = path / "data.mdb"
        size = file.stat().st_size
        at = self.at % size
        if self.kind == "bit":
            flip(file, at, bit=self.at % 8)
        elif self.kind == "short":
            os.truncate(file, at)
        else:
            page = at // PAGE * PAGE
            with file.open("r+b") as data:
                data.seek((page + 3 * PAGE) % size // PAGE * PAGE)
                other = data.read(PAGE)
                data.seek(page)
                data.write(other if self.kind == "stale" else bytes(PAGE))
        if self.mark:
            (path / "mark").write_text(self.mark)


OPEN = """
import sys
from pathlib import Path
from tests.unit.test_rot import LOW, HIGH
from qsync.store.spaces import SpaceStore
for path in sys.argv[1:]:
    store = SpaceStore(Path(path), boot="run")
    rows = list(store.scan(LOW, HIGH))
    while not store.scrub(100):
        pass
    print("anew" if store.rebuilt else "kept", int(store.folded), len(rows), flush=True)
    store.abandon()
"""


@pytest.mark.parametrize("mark", ["", "clean", "run"], ids=["closed", "flushed", "killed"])
def test_no_damage_of_the_file_gives_wrong_rows_or_ends_the_process(
    tmp_path: Path, mark: str
) -> None:
    rows = filled(tmp_path / "sound")
    dice, paths = Random(len(mark)), []
    for number in range(HARMS):
        path = tmp_path / str(number)
        shutil.copytree(tmp_path / "sound", path)
        Harm(dice.choice(("bit", "zero", "short", "stale")), dice.randrange(1 << 30), mark).do(path)
        paths.append(str(path))
    done = subprocess.run(
        [sys.executable, "-c", OPEN, *paths],
        capture_output=True, text=True, timeout=60, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = [line.split() for line in done.stdout.splitlines()]
    assert len(said) == HARMS
    # Kept are those whose damage is where nothing is stored.
    assert {tuple(each) for each in said} <= {("anew", "0", "0"), ("kept", "10", str(len(rows)))}
    assert sum(each[0] == "anew" for each in said) > HARMS / 3


def tables(path: Path) -> Sequence[bytes]:
    pages = Pages(path / "data.mdb")
    try:
        found = pages.tables()
        return [key for rows in pages.rows(found[b"rows"]) for key, _ in rows]
    finally:
        pages.close()


def test_a_sound_file_is_read_page_by_page_as_lmdb_reads_it(tmp_path: Path) -> None:
    rows = filled(tmp_path / "data", 5000)
    assert tables(tmp_path / "data") == sorted(rows)
