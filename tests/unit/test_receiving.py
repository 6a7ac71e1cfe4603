"""A snapshot comes in chunk by chunk: stopped anywhere it goes on; its file is whole or none."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest

from qsync.errors import Damaged, DiskFull, StoreError
from qsync.store.environment import FILE
from qsync.store.receiving import (
    INCOMING,
    ReceivedSnapshot,
    newest_incoming,
    remove_incoming,
)
from qsync.store.snapfiles import snapshot_files, verify_snapshot, write_frame
from qsync.store.snapshot import SnapshotHead, decode_chunk
from qsync.store.snapsource import FileSource, SnapshotSource, ViewSource, find_file
from qsync.store.spaces import SpaceStore
from tests.unit.test_snapshot import (
    HIGH,
    LOW,
    MAP_SIZE,
    Killed,
    fail_at,
    fold,
    small_chunks,
    start,
    stream,
)

__all__ = ["small_chunks"]
pytestmark = pytest.mark.usefixtures("small_chunks")
Sent = tuple[SnapshotHead, list[bytes]]


@pytest.fixture
def sent(tmp_path: Path) -> Sent:
    """Head and chunks of 80 rows at index 9."""
    return made_of(tmp_path, 80)


def made_of(path: Path, count: int) -> Sent:
    source = SpaceStore(path / "from", map_size=MAP_SIZE)
    found = stream(source, fold(source, 9, count=count))
    source.close()
    return found


def store(path: Path) -> SpaceStore:
    return SpaceStore(path / "data", map_size=MAP_SIZE)


def take_all(received: ReceivedSnapshot, made: list[bytes]) -> None:
    if not received.is_whole:
        for chunk in made[received.taken :]:
            received.take_chunk(chunk)
        received.finish()


def test_a_stop_behind_any_chunk_loses_none(tmp_path: Path, sent: Sent) -> None:
    head, made = sent
    target, snap = store(tmp_path), tmp_path / "snap"
    for number, chunk in enumerate(made):
        received = ReceivedSnapshot(target, snap, head)
        assert (received.taken, received.is_whole) == (number, False)
        received.take_chunk(chunk)
        received.close()
    assert snapshot_files(snap) == []
    received = ReceivedSnapshot(target, snap, head)
    received.finish()
    (file,) = snapshot_files(snap)
    assert verify_snapshot(file.path) == head
    again = ReceivedSnapshot(target, snap, head)
    assert again.is_whole
    target.install(again.rows)
    assert (target.folded, target.sums) == (9, head.sums)
    target.close()


def killed_at(count: int, target: SpaceStore, snap: Path, sent: Sent) -> bool:
    """Take all of it, and die before the nth flush or change of names; false if there are fewer."""
    head, made = sent
    received: ReceivedSnapshot | None = None
    with pytest.MonkeyPatch.context() as dying:
        fail_at(count, dying)
        left = [count // 2]

        def write(file: BinaryIO, content: bytes) -> None:
            left[0] -= 1
            if left[0] < 0:
                file.write(b"half of it")
                file.flush()
                raise Killed
            write_frame(file, content)

        dying.setattr("qsync.store.receiving.write_frame", write)
        try:
            received = ReceivedSnapshot(target, snap, head)
            take_all(received, made)
        except Killed:
            return True
        finally:
            if received is not None:
                received.close()
    return False


def test_a_kill_at_any_step_is_gone_on_from(tmp_path: Path) -> None:
    sent = head, made = made_of(tmp_path, 30)
    for count in range(100):
        path = tmp_path / str(count)
        target, snap = store(path), path / "snap"
        was_killed = killed_at(count, target, snap, sent)
        received = ReceivedSnapshot(target, snap, head)
        take_all(received, made)
        target.install(received.rows)
        assert target.sums == head.sums
        (file,) = snapshot_files(snap)
        assert verify_snapshot(file.path) == head
        assert list(snap.iterdir()) == [file.path]
        target.close()
        if not was_killed:
            assert count > 2 * len(made)
            return
    raise AssertionError("it never came to its end")


def test_without_its_file_or_of_another_head_it_begins_anew(tmp_path: Path, sent: Sent) -> None:
    head, made = sent
    target, snap = store(tmp_path), tmp_path / "snap"
    received = ReceivedSnapshot(target, snap, head)
    received.take_chunk(made[0])
    received.close()
    (incoming,) = snap.glob(f"*{INCOMING}")
    assert newest_incoming(snap) == head
    whole = incoming.read_bytes()
    for text in (b"", whole[:-1], whole[:9] + b"x" + whole[10:]):
        incoming.write_bytes(text)
        received = ReceivedSnapshot(target, snap, head)
        assert received.taken == 0
        received.take_chunk(made[0])
        received.close()
    incoming.unlink()
    received = ReceivedSnapshot(target, snap, head)
    assert received.taken == 0
    received.discard()
    assert list(snap.iterdir()) == []
    assert newest_incoming(snap) is None
    target.close()


def test_a_damaged_chunk_is_not_taken(tmp_path: Path, sent: Sent) -> None:
    head, made = sent
    target = store(tmp_path)
    received = ReceivedSnapshot(target, tmp_path / "snap", head)
    received.take_chunk(made[0])
    for wrong in (made[2], made[1][:-1] + bytes([made[1][-1] ^ 1])):
        with pytest.raises(Damaged):
            received.take_chunk(wrong)
    take_all(received, made)
    assert received.is_whole
    received.close()
    target.close()


@contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """No file of this process grows beyond that: what is written behind it is cut short."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("room", [0, 2, 4, 500])
def test_a_chunk_that_had_no_room_is_in_the_file_once(
    tmp_path: Path, sent: Sent, room: int
) -> None:
    """Nothing of the failed write comes later, when there is room again."""
    head, made = sent
    target, snap = store(tmp_path), tmp_path / "snap"
    received = ReceivedSnapshot(target, snap, head)
    received.take_chunk(made[0])
    (incoming,) = snap.glob(f"*{INCOMING}")
    with files_end_at(incoming.stat().st_size + room):
        for _ in range(2):
            with pytest.raises(DiskFull):
                received.take_chunk(made[1])
    assert received.taken == 1
    take_all(received, made)
    (file,) = snapshot_files(snap)
    assert verify_snapshot(file.path) == head
    target.install(received.rows)
    assert target.sums == head.sums
    target.close()


def test_a_file_that_could_not_have_its_name_gets_it_when_that_is_repeated(
    tmp_path: Path, sent: Sent
) -> None:
    """All rows are here by then. Without the file a power cut would take them for good."""
    head, made = sent
    target, snap = store(tmp_path), tmp_path / "snap"
    received = ReceivedSnapshot(target, snap, head)
    for chunk in made:
        received.take_chunk(chunk)
    (incoming,) = snap.glob(f"*{INCOMING}")
    in_the_way = incoming.with_suffix(".snap")
    in_the_way.mkdir()
    with pytest.raises(StoreError):
        received.finish()
    assert received.is_whole
    in_the_way.rmdir()
    for _ in range(2):
        received.finish()
    (file,) = snapshot_files(snap)
    assert verify_snapshot(file.path) == head
    file.path.unlink()
    with pytest.raises(Damaged, match="was removed"):
        received.finish()
    received.close()
    target.close()


def test_what_nobody_waits_for_is_removed_at_a_start(tmp_path: Path) -> None:
    for name in ("00000000000000000007", "00000000000000000009"):
        (tmp_path / f"{name}{INCOMING}").write_bytes(b"some")
    remove_incoming(tmp_path, keep=start(9).index)
    assert [each.stem for each in tmp_path.iterdir()] == ["00000000000000000009"]
    remove_incoming(tmp_path / "none", keep=start(9).index)


# -------------------------------------------------------------------------------- where it is from


def read_all(source: SnapshotSource) -> list[bytes]:
    found: list[bytes] = []
    while chunk := source.read_chunk(len(found) + 1):
        found.append(chunk)
    return found


def test_a_file_and_the_rows_give_the_same_chunks_from_any_on(tmp_path: Path, sent: Sent) -> None:
    head, made = sent
    target = store(tmp_path)
    received = ReceivedSnapshot(target, tmp_path / "snap", head)
    take_all(received, made)
    target.install(received.rows)
    file = find_file(tmp_path / "snap", least=start(9).index, wanted=None, damaged={})
    assert file is not None
    for source in (file, ViewSource(target.view(), head.start)):
        assert (source.head, source.text) == (head, head.encode())
        assert read_all(source) == made
        assert source.read_chunk(4) == made[3]
        assert source.read_chunk(2) == made[1]
        source.close()
    assert (file.chunks, file.snapshot_bytes) == (len(made), sum(map(len, made)))
    assert decode_chunk(made[0]).rows
    assert target.digest(LOW, HIGH)
    assert (tmp_path / "data" / FILE).exists()
    target.close()


def test_of_files_the_wanted_one_counts_then_the_newest_that_holds(
    tmp_path: Path, sent: Sent
) -> None:
    head, made = sent
    target = store(tmp_path)
    received = ReceivedSnapshot(target, tmp_path, head)
    name = received.name
    take_all(received, made)
    (old,) = snapshot_files(tmp_path)
    newer = old.path.with_stem("00000000000000000012")
    newer.write_bytes(old.path.read_bytes())

    def found(least: int, damaged: dict[Path, str], *, wanted: bool = False) -> Path | None:
        asked = name if wanted else None
        source = find_file(tmp_path, least=start(least).index, wanted=asked, damaged=damaged)
        if source is None:
            return None
        source.close()
        return source.path

    damaged: dict[Path, str] = {}
    assert found(5, damaged) == newer
    assert found(5, damaged, wanted=True) == old.path
    assert found(13, damaged) is None
    newer.write_bytes(newer.read_bytes()[:-1])
    assert found(5, damaged) == old.path
    assert "ends within a chunk" in damaged[newer]
    assert found(10, damaged) is None
    rotten = bytearray(old.path.read_bytes())
    rotten[-1] ^= 1
    old.path.write_bytes(rotten)
    source = FileSource(old.path)
    with pytest.raises(Damaged):
        read_all(source)
    source.close()
    target.close()
