"""Segments on a disk that is full, does not answer or holds more than it should."""

import errno
import os
from pathlib import Path

import pytest

from election.messages import Index
from qsync.errors import DiskFull, DiskUnreadable, StoreError
from qsync.store.contract import RecoveredLog
from qsync.store.segments import files
from qsync.store.segments import format as form
from qsync.store.segments.files import (
    MARK,
    PIECE_BYTES,
    SPARE,
    UNREADY,
    make_spare,
    segment_numbers,
    segment_path,
)
from qsync.store.segments.format import SECTOR
from tests.unit.logs import FIRST_BYTES, chain, segment_log, some, write

PIECES = 6


def found_in(path: Path) -> RecoveredLog:
    log = segment_log(path)
    try:
        return log.recover()
    finally:
        log.close()


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A log of several segments, closed."""
    log = segment_log(tmp_path)
    log.recover()
    for entry in chain([b"x" * 700 for _ in range(60)]):
        log.write(write([entry]))
    log.close()
    assert len(segment_numbers(tmp_path / "log")) > 2
    return tmp_path


# --------------------------------------------------------------------------------- no room left


class FullAt:
    """A disk with room for so many bytes of a file; remembers where was written."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.room = 0
        self.written: list[int] = []
        self._pwrite = os.pwrite
        monkeypatch.setattr(os, "pwrite", self.pwrite)

    def pwrite(self, handle: int, data: bytes, at: int) -> int:
        if at + len(data) > self.room:
            raise OSError(errno.ENOSPC, "no room")
        self.written.append(at)
        return self._pwrite(handle, data, at)


def test_filling_a_spare_goes_on_where_a_full_disk_stopped_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A retry does not write existing entries again: each try would cost a whole segment."""
    disk = FullAt(monkeypatch)
    size, first = PIECES * PIECE_BYTES, (PIECES - 2) * PIECE_BYTES
    disk.room = first
    for _ in range(3):
        with pytest.raises(OSError, match="no room"):
            make_spare(tmp_path, size)
    # The last piece once more each time: it alone may have come without a flush.
    assert disk.written == [*range(0, first, PIECE_BYTES), first - PIECE_BYTES, first - PIECE_BYTES]
    disk.room = size
    disk.written.clear()
    make_spare(tmp_path, size)
    assert disk.written == list(range(first - PIECE_BYTES, size, PIECE_BYTES))
    assert (tmp_path / SPARE).read_bytes() == bytes(size)


def test_what_a_power_cut_left_in_the_last_piece_of_a_spare_is_not_taken_for_zeros(
    tmp_path: Path,
) -> None:
    (tmp_path / UNREADY).write_bytes(bytes(PIECE_BYTES) + b"?" * 5000)
    make_spare(tmp_path, 2 * PIECE_BYTES)
    assert (tmp_path / SPARE).read_bytes() == bytes(2 * PIECE_BYTES)


@pytest.mark.pure
def test_a_log_whose_disk_is_full_at_a_switch_fills_the_spare_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PIECE_BYTES", 4096)
    log = segment_log(tmp_path)
    log.recover()
    made = chain([b"x" * 700 for _ in range(30)])
    disk = FullAt(monkeypatch)
    disk.room = 24 << 10
    acked, refused = 0, 0
    while acked < len(made):
        try:
            log.write(write([made[acked]]))
            acked += 1
        except DiskFull:
            refused += 1
            disk.room += 4096 if refused > 3 else 0
    log.close()
    assert refused > 3
    spare = [at for at in disk.written if at and not at % 4096]
    assert len(spare) < 40, "each attempt filled the spare from its beginning"
    assert found_in(tmp_path).last == len(made)


# ------------------------------------------------------------------------- what cannot be read


def unreadable(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """From now on reading this file fails."""
    pread, read_bytes = os.pread, Path.read_bytes

    def broken(handle: int, size: int, at: int) -> bytes:
        if Path(f"/proc/self/fd/{handle}").readlink().name == name:
            raise OSError(errno.EIO, "Input/output error")
        return pread(handle, size, at)

    def broken_file(path: Path) -> bytes:
        if path.name == name:
            raise OSError(errno.EIO, "Input/output error")
        return read_bytes(path)

    monkeypatch.setattr(os, "pread", broken)
    monkeypatch.setattr(Path, "read_bytes", broken_file)


@pytest.mark.parametrize("which", ["first", "last", MARK])
def test_a_log_that_the_disk_does_not_give_back_is_left_as_it_is(
    many: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    """That is no damage: the disk may answer again, and then the log has all that was acked."""
    numbers = segment_numbers(many / "log")
    numbered = {"first": numbers[0], "last": numbers[-1]}
    name = segment_path(many / "log", numbered[which]).name if which in numbered else which
    before = {each.name: each.read_bytes() for each in (many / "log").iterdir()}
    unreadable(monkeypatch, name)
    with pytest.raises(DiskUnreadable, match=name) as caught:
        found_in(many)
    assert "try again when the disk answers" in str(caught.value)
    monkeypatch.undo()
    assert {each.name: each.read_bytes() for each in (many / "log").iterdir()} == before
    assert [each.name for each in many.iterdir()] == ["log"]
    found = found_in(many)
    assert (found.last, found.quarantined) == (60, None)


# ---------------------------------------------------------------------- what is not of the segment


def test_what_stands_behind_the_end_of_a_segment_is_not_of_the_log(tmp_path: Path) -> None:
    """A copy that was made longer: nothing of it can be a record, so nothing was torn."""
    made = some(20)
    log = segment_log(tmp_path)
    log.recover()
    log.write(write(made[:10]))
    log.close()
    with segment_path(tmp_path / "log", 1).open("r+b") as file:
        file.seek(FIRST_BYTES)
        file.write(b"?" * 3 * SECTOR)
    for _ in range(2):
        found = found_in(tmp_path)
        assert (found.last, found.quarantined, found.dropped_tail) == (10, None, 0)
    log = segment_log(tmp_path)
    log.recover()
    log.write(write(made[10:]))
    assert log.entries(Index(1), Index(20)) == made
    log.close()
    assert found_in(tmp_path).last == 20


# --------------------------------------------------------------------------------- too much at once


@pytest.mark.pure
def test_a_record_that_its_head_cannot_describe_is_refused_and_the_log_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(form, "PAYLOAD_BYTES_MAX", 4000)
    log = segment_log(tmp_path)
    log.recover()
    made = chain([b"x" * 700 for _ in range(10)])
    for entry in made:
        log.write(write([entry]))
    other = some(1, after=made[1], term=2)
    with pytest.raises(StoreError, match="more than the 4000 bytes of one record") as cut:
        log.write(write(other, cut_above=2))
    assert cut.value.details["limit"] == 4000
    with pytest.raises(StoreError, match="more than the 4000 bytes of one record"):
        log.write(write(chain([b"y" * 5000], after=made[-1])))
    assert log.last == 10
    other = some(1, after=made[7], term=2)
    log.write(write(other, cut_above=8))
    assert log.entries(Index(1), Index(9)) == made[:8] + other
    log.close()
    assert found_in(tmp_path).last == 9
