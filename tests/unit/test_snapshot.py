"""Snapshots of the folded spaces: exact at an index, the same bytes everywhere, or refused."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from election.messages import Index
from qsync.core.logstart import LogStart
from qsync.errors import Damaged, SnapshotLost, StoreError
from qsync.store import importing, snapshot
from qsync.store.contract import Spaces
from qsync.store.environment import FILE, sync_directory
from qsync.store.memory import MemorySpaces
from qsync.store.snapfiles import (
    newest_whole,
    read_snapshot,
    remove_old,
    restore_rows,
    snapshot_files,
    verify_snapshot,
    write_snapshot,
)
from qsync.store.snapshot import SnapshotChunk, SnapshotHead, chunks, decode_chunk, decode_head
from qsync.store.spaces import SpaceStore
from tests.disk.life import Fold
from tests.unit.logs import some, start_behind

LOW, HIGH = b"\0", b"\xff" * 600
MAP_SIZE = 1 << 20


def opened(kind: str, path: Path) -> Spaces:
    return MemorySpaces() if kind == "memory" else SpaceStore(path / "data", map_size=MAP_SIZE)


@pytest.fixture(params=["lmdb", "memory"])
def spaces(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Spaces]:
    found = opened(request.param, tmp_path)
    yield found
    found.close()


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "CHUNK_BYTES", 2000)


def fold(spaces: Spaces, upto: int, *, seed: int = 1, count: int = 200) -> LogStart:
    """Rows up to an index, some with keys that are longer than LMDB takes."""
    dice = Random(seed)
    rows = {
        b"%04d" % number + b"k" * (600 if not number % 50 else 3): dice.randbytes(90)
        for number in range(count)
    }
    spaces.fold(Fold(folded=Index(upto), puts=sorted(rows.items()), deletes=[]))
    return start(upto)


def start(upto: int) -> LogStart:
    return start_behind(some(upto)[-1])


def stream(spaces: Spaces, place: LogStart) -> tuple[SnapshotHead, list[bytes]]:
    view = spaces.view()
    try:
        return SnapshotHead(start=place, sums=view.sums), [each.encode() for each in chunks(view)]
    finally:
        view.close()


pytestmark = [pytest.mark.pure, pytest.mark.usefixtures("small_chunks")]


def test_rows_are_the_same_after_a_snapshot_was_installed(spaces: Spaces, tmp_path: Path) -> None:
    place = fold(spaces, 9)
    head, made = stream(spaces, place)
    assert head.rows == 200
    assert len(made) > 5
    for kind in ("lmdb", "memory"):
        other = opened(kind, tmp_path / f"to-{kind}")
        fold(other, 4, seed=2, count=300)
        rows = other.importing(decode_head(head.encode()))
        for chunk in made:
            rows.take_chunk(chunk)
        rows.finish()
        other.install(rows)
        assert (other.folded, other.sums) == (9, spaces.sums)
        assert other.digest(LOW, HIGH) == spaces.digest(LOW, HIGH)
        assert stream(other, place) == (head, made)
        fold(other, 12, seed=3)
        assert other.folded == 12
        other.close()
    again = SpaceStore(tmp_path / "to-lmdb" / "data", map_size=MAP_SIZE)
    assert (again.rebuilt, again.folded) == (None, 12)
    again.close()


def test_memory_and_disk_make_the_same_bytes(tmp_path: Path) -> None:
    made = []
    for kind in ("lmdb", "memory"):
        spaces = opened(kind, tmp_path)
        fold(spaces, 3, seed=7)
        place = fold(spaces, 9)
        head, each = stream(spaces, place)
        made.append((head.encode(), each))
        spaces.close()
    assert made[0] == made[1]


def test_a_view_is_exact_whatever_is_folded_meanwhile(spaces: Spaces) -> None:
    place = fold(spaces, 9)
    _, before = stream(spaces, place)
    view = spaces.view()
    found = []
    for number, chunk in enumerate(chunks(view)):
        found.append(chunk.encode())
        fold(spaces, 10 + number, seed=5 + number, count=250)
    assert found == before
    assert (view.folded, spaces.folded) == (9, 9 + len(found))
    view.close()


def test_a_map_that_must_grow_ends_the_view_and_another_one_can_be_had(tmp_path: Path) -> None:
    spaces = SpaceStore(tmp_path / "data", map_size=1 << 17)
    place = fold(spaces, 9)
    view = spaces.view()
    going = chunks(view)
    next(going)
    fold(spaces, 10, seed=2, count=3000)
    with pytest.raises(SnapshotLost):
        list(going)
    view.close()
    assert sum(len(decode_chunk(each).rows) for each in stream(spaces, place)[1]) == 3000
    spaces.close()


def test_an_import_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    spaces = SpaceStore(tmp_path / "from", map_size=MAP_SIZE)
    head, made = stream(spaces, fold(spaces, 9))
    target = SpaceStore(tmp_path / "data", map_size=MAP_SIZE)
    for number, chunk in enumerate(made):
        rows = target.importing(head)
        assert rows.taken == number
        rows.take_chunk(chunk)
        rows.close()
    assert target.folded == 0
    rows = target.importing(replace(head, start=start(8)))
    assert rows.taken == 0, "another snapshot is another import"
    rows.close()
    spaces.close()
    target.close()


def test_an_import_takes_nothing_but_the_next_chunk(spaces: Spaces) -> None:
    head, made = stream(spaces, fold(spaces, 9))
    rows = spaces.importing(head)
    for wrong in (made[1], made[0][:-1] + b"x", made[0][:-9]):
        with pytest.raises(Damaged):
            rows.take_chunk(wrong)
    rows.take_chunk(made[0])
    with pytest.raises(Damaged):
        rows.take_chunk(made[0])
    with pytest.raises(Damaged, match="not those that it was made of"):
        rows.finish()
    for chunk in made[1:]:
        rows.take_chunk(chunk)
    rows.finish()
    spaces.install(rows)
    assert spaces.folded == 9


def test_every_changed_byte_of_a_chunk_is_damage() -> None:
    spaces = MemorySpaces()
    head, made = stream(spaces, fold(spaces, 9, count=3))
    for text, decode in ((head.encode(), decode_head), (made[0], decode_chunk)):
        for at in range(len(text)):
            with pytest.raises(Damaged):
                decode(text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :])


def test_a_row_without_the_seal_of_the_store_is_damage() -> None:
    with pytest.raises(Damaged, match="a row of chunk 1"):
        decode_chunk(SnapshotChunk(1, [(b"key", b"no seal")]).encode())


def test_a_folder_that_takes_no_change_is_an_error_of_the_store(tmp_path: Path) -> None:
    """Also where what was begun cannot be removed: a node goes on without that snapshot."""
    spaces = MemorySpaces()
    place = fold(spaces, 9)
    half = tmp_path / "00000000000000000009.part"
    half.mkdir()
    with pytest.raises(StoreError, match=r"9\.snap"):
        write_snapshot(tmp_path, spaces.view(), place)
    half.rmdir()
    file = write_snapshot(tmp_path, spaces.view(), place)
    assert verify_snapshot(file.path).rows == 200


# ---------------------------------------------------------------------------- switches and kills


def imported(tmp_path: Path) -> tuple[SpaceStore, str]:
    """A store with rows at 4 whose import of rows at 9 is finished; the digest of the latter."""
    source = SpaceStore(tmp_path / "from", map_size=MAP_SIZE)
    head, made = stream(source, fold(source, 9))
    digest = source.digest(LOW, HIGH)
    source.close()
    target = SpaceStore(tmp_path / "n" / "data", map_size=MAP_SIZE)
    fold(target, 4, seed=2)
    rows = target.importing(head)
    for chunk in made:
        rows.take_chunk(chunk)
    rows.finish()
    return target, digest


class Killed(Exception):
    """The process is gone."""


def fail_at(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process dies at its nth call that changes names."""
    left = [count]

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **named: object) -> object:
            if not left[0]:
                raise Killed
            left[0] -= 1
            return real(*args, **named)

        return call

    monkeypatch.setattr(Path, "rename", counted(Path.rename))
    monkeypatch.setattr("qsync.store.importing.sync_directory", counted(sync_directory))
    monkeypatch.setattr(shutil, "rmtree", counted(shutil.rmtree))


@pytest.mark.parametrize("count", range(5))
@pytest.mark.parametrize("begins", [0, 9])
def test_a_kill_within_a_switch_leaves_the_old_rows_or_the_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, begins: int
) -> None:
    """`begins`: was the log begun again behind the snapshot before? Then there is no way back."""
    target, digest = imported(tmp_path)
    target.close()
    data = tmp_path / "n" / "data"
    with monkeypatch.context() as patched:
        fail_at(count, patched)
        with pytest.raises(Killed):
            importing.put_in_place(data)
    importing.settle(data, begins=Index(begins))
    spaces = SpaceStore(data, map_size=MAP_SIZE)
    switched = spaces.folded == 9
    assert spaces.folded == (9 if begins or count > 0 else 4)
    assert (spaces.digest(LOW, HIGH) == digest) == switched
    assert not importing.former(data).exists()
    spaces.close()


def test_an_import_whose_seal_could_not_be_written_is_finished_when_that_is_repeated(
    tmp_path: Path,
) -> None:
    """By the same process: it need not be started again when the disk has room again."""
    source = SpaceStore(tmp_path / "from", map_size=MAP_SIZE)
    head, made = stream(source, fold(source, 9))
    source.close()
    target = SpaceStore(tmp_path / "data", map_size=MAP_SIZE)
    rows = target.importing(head)
    for chunk in made:
        rows.take_chunk(chunk)
    in_the_way = tmp_path / "data.new" / "mark.new"
    in_the_way.mkdir()
    for _ in range(2):
        with pytest.raises(StoreError, match=r"data\.new"):
            rows.finish()
        assert (rows.finished, rows.taken) == (False, len(made))
    in_the_way.rmdir()
    rows.finish()
    assert rows.finished
    target.install(rows)
    assert (target.folded, target.sums) == (9, head.sums)
    target.close()


def test_rows_that_wait_are_used_only_by_a_log_that_begins_there(tmp_path: Path) -> None:
    target, digest = imported(tmp_path)
    target.close()
    data = tmp_path / "n" / "data"
    importing.settle(data, begins=Index(3))
    assert importing.is_finished(data)
    importing.settle(data, begins=Index(9))
    spaces = SpaceStore(data, map_size=MAP_SIZE)
    assert (spaces.folded, spaces.digest(LOW, HIGH)) == (9, digest)
    spaces.close()


@pytest.mark.parametrize("confirmed", [8, 9])
def test_an_import_of_what_the_log_has_is_forgotten_at_a_start(
    tmp_path: Path, confirmed: int
) -> None:
    """And no other one: it will be continued."""
    target, _ = imported(tmp_path)
    target.close()
    data = tmp_path / "n" / "data"
    importing.settle(data, begins=Index(3), confirmed=Index(confirmed))
    assert importing.beside(data).exists() == (confirmed == 8)


def test_an_import_that_is_behind_is_forgotten(tmp_path: Path) -> None:
    target, _ = imported(tmp_path)
    target.close()
    data = tmp_path / "n" / "data"
    importing.settle(data, begins=Index(10))
    assert not importing.beside(data).exists()
    spaces = SpaceStore(data, map_size=MAP_SIZE)
    assert spaces.folded == 4
    spaces.close()


# --------------------------------------------------------------------------------------- in files


def written(spaces: Spaces, folder: Path, place: LogStart) -> Path:
    view = spaces.view()
    try:
        return write_snapshot(folder, view, place).path
    finally:
        view.close()


def test_a_file_gives_back_what_it_was_made_of(spaces: Spaces, tmp_path: Path) -> None:
    place = fold(spaces, 9)
    path = written(spaces, tmp_path / "snap", place)
    head, frames = read_snapshot(path)
    assert (head, list(frames)) == stream(spaces, place)
    assert verify_snapshot(path) == head
    other = SpaceStore(tmp_path / "other" / "data", map_size=MAP_SIZE)
    assert restore_rows(other, path) == head
    assert (other.folded, other.digest(LOW, HIGH)) == (9, spaces.digest(LOW, HIGH))
    other.close()


def test_a_file_with_any_fault_is_refused_and_the_one_before_it_is_taken(tmp_path: Path) -> None:
    spaces, folder = MemorySpaces(), tmp_path / "snap"
    former = written(spaces, folder, fold(spaces, 5))
    path = written(spaces, folder, fold(spaces, 9, seed=2))
    whole = path.read_bytes()
    dice = Random(1)
    for at in [*range(40), *(dice.randrange(len(whole)) for _ in range(60))]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(Damaged):
            verify_snapshot(path)
    for cut in (0, 3, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(Damaged):
            verify_snapshot(path)
    found, wrong = newest_whole(folder, least=Index(5), most=Index(9))
    assert found is not None
    assert (found.path, len(wrong)) == (former, 1)
    assert newest_whole(folder, least=Index(6), most=Index(9))[0] is None
    path.write_bytes(whole)
    found, wrong = newest_whole(folder, least=Index(5), most=Index(9))
    assert found is not None
    assert (found.index, wrong) == (9, [])
    found, _ = newest_whole(folder, least=Index(5), most=Index(8))
    assert found is not None
    assert found.index == 5


def test_old_files_go_and_half_of_one_is_none(tmp_path: Path) -> None:
    spaces, folder = MemorySpaces(), tmp_path / "snap"
    assert snapshot_files(folder) == []
    for upto in (3, 5, 20, 100):
        written(spaces, folder, fold(spaces, upto))
    (folder / "00000000000000000200.part").write_bytes(b"half")
    assert [each.index for each in remove_old(folder, keep=2)] == [3, 5]
    assert [each.index for each in snapshot_files(folder)] == [20, 100]
    assert not list(folder.glob("*.part"))


def test_a_store_that_cannot_vouch_for_a_row_makes_no_snapshot(tmp_path: Path) -> None:
    spaces = SpaceStore(tmp_path / "data", map_size=MAP_SIZE)
    place = fold(spaces, 9)
    spaces.close()
    file = tmp_path / "data" / FILE
    whole = file.read_bytes()
    at = whole.index(b"0003kkk") + 20
    file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    (tmp_path / "data" / "mark").unlink()
    spaces = SpaceStore(tmp_path / "data", map_size=MAP_SIZE, repair=False)
    view = spaces.view()
    with pytest.raises(Damaged):
        write_snapshot(tmp_path / "snap", view, place)
    assert snapshot_files(tmp_path / "snap") == []
    assert not list((tmp_path / "snap").iterdir())
    view.close()
    spaces.abandon()
