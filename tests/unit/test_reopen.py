"""After a fault the log goes on in the very file that it was in, or not at all."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from election.messages import Index
from qsync.errors import DirectoryGone, StoreError
from qsync.record import Entry
from qsync.store.contract import PlacedLog
from qsync.store.log import LmdbLog
from qsync.store.memory import NOBODY
from qsync.store.segments.files import MARK
from qsync.store.segments.log import SegmentLog
from tests.unit.logs import some, write


@dataclass(frozen=True, slots=True)
class Form:
    """A form of a log, and the file that it is in."""

    open: Callable[[Path], PlacedLog]
    file: str


FORMS = {
    "lmdb": Form(lambda path: LmdbLog(path, identity=NOBODY), "data.mdb"),
    "segments": Form(lambda path: SegmentLog(path, identity=NOBODY), "000000000001.log"),
}


@pytest.fixture(params=sorted(FORMS))
def form(request: pytest.FixtureRequest) -> Form:
    return FORMS[request.param]


@pytest.fixture
def log(tmp_path: Path, form: Form) -> Iterator[PlacedLog]:
    made = form.open(tmp_path / "log")
    made.recover()
    yield made
    made.close()


def fail_once(log: PlacedLog, entries: list[Entry]) -> None:
    """A write that the disk refuses; the next one opens the log again."""

    def broken() -> None:
        raise OSError(errno.EIO, "the volume is gone")

    log.before_commit = broken
    with pytest.raises(StoreError):
        log.write(write(entries))
    log.before_commit = None


def overwrite(file: Path, content: bytes) -> None:
    """Other content in the same file."""
    handle = os.open(file, os.O_WRONLY)
    os.pwrite(handle, content, 0)
    os.close(handle)


def test_nothing_is_written_into_an_empty_directory_in_place_of_the_log(
    tmp_path: Path, log: PlacedLog, form: Form
) -> None:
    path, away = tmp_path / "log", tmp_path / "volume"
    first = some(3)
    log.write(write(first))
    more = some(2, after=first[-1])
    fail_once(log, more)
    path.rename(away)
    path.mkdir()
    for _ in range(2):
        with pytest.raises(DirectoryGone):
            log.write(write(more))
        assert not list(path.iterdir())
        assert log.last == 3
    path.rmdir()
    away.rename(path)
    log.write(write(more))
    log.close()
    again = form.open(path)
    assert again.recover().last == 5
    again.close()


def test_a_directory_that_is_not_there_any_more_is_not_made_anew(
    tmp_path: Path, log: PlacedLog
) -> None:
    first = some(3)
    log.write(write(first))
    fail_once(log, some(1, after=first[-1]))
    shutil.rmtree(tmp_path / "log")
    with pytest.raises(DirectoryGone):
        log.write(write(some(1, after=first[-1])))
    assert not (tmp_path / "log").exists()


def test_a_write_to_a_directory_that_was_removed_is_no_ack(tmp_path: Path, log: PlacedLog) -> None:
    first = some(3)
    log.write(write(first))
    assert log.gone() is None
    shutil.rmtree(tmp_path / "log")
    assert "does not exist any more" in str(log.gone())
    with pytest.raises(DirectoryGone):
        log.write(write(some(1, after=first[-1])))
    assert log.last == 3


def test_a_copy_of_the_log_is_another_log(tmp_path: Path, log: PlacedLog) -> None:
    path = tmp_path / "log"
    first = some(3)
    log.write(write(first))
    shutil.copytree(path, tmp_path / "copy")
    path.rename(tmp_path / "original")
    (tmp_path / "copy").rename(path)
    assert "another file" in str(log.gone())
    with pytest.raises(DirectoryGone):
        log.write(write(some(1, after=first[-1])))


def test_an_older_content_of_the_same_file_is_another_log(
    tmp_path: Path, log: PlacedLog, form: Form
) -> None:
    file = tmp_path / "log" / form.file
    first = some(3)
    log.write(write(first))
    older = file.read_bytes()
    second = some(3, after=first[-1])
    log.write(write(second))
    fail_once(log, some(1, after=second[-1]))
    overwrite(file, older)
    with pytest.raises(DirectoryGone):
        log.write(write(some(1, after=second[-1])))
    assert log.last == 6


def test_a_commit_that_failed_and_landed_all_the_same_is_the_same_log(
    tmp_path: Path, log: PlacedLog, form: Form
) -> None:
    file = tmp_path / "log" / form.file
    first = some(3)
    log.write(write(first))
    before = file.read_bytes()
    more = some(2, after=first[-1])
    log.write(write(more))
    landed = file.read_bytes()
    log.close()
    overwrite(file, before)
    (tmp_path / "log" / MARK).unlink(missing_ok=True)  # the file is as it was before
    again = form.open(tmp_path / "log")
    assert again.recover().last == 3
    fail_once(again, more)
    overwrite(file, landed)
    again.write(write(more))
    assert again.last == 5
    again.close()


@pytest.mark.parametrize("form", [FORMS["lmdb"]], ids=["lmdb"])
def test_a_reopening_that_fails_is_an_error_until_one_succeeds(
    tmp_path: Path, log: PlacedLog
) -> None:
    lock = tmp_path / "log" / "lock.mdb"
    first = some(3)
    log.write(write(first))
    more = some(2, after=first[-1])
    fail_once(log, more)
    lock.unlink()
    lock.mkdir()
    for _ in range(2):
        with pytest.raises(StoreError):
            log.write(write(more))
        for read in (
            lambda: log.entries(Index(1), Index(3)),
            lambda: log.read(Index(1), bytes_max=100),
            log.archived,
            log.bytes_used,
        ):
            with pytest.raises(StoreError):
                read()
    lock.rmdir()
    log.write(write(more))
    assert [entry.index for entry in log.entries(Index(1), Index(5))] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("form", [FORMS["segments"]], ids=["segments"])
def test_segments_that_cannot_be_opened_anew_take_no_write_until_they_can(
    tmp_path: Path, log: PlacedLog
) -> None:
    mark = tmp_path / "log" / MARK
    first = some(3)
    log.write(write(first))
    more = some(2, after=first[-1])
    fail_once(log, more)
    mark.rename(tmp_path / "mark")
    mark.mkdir()
    for _ in range(2):
        with pytest.raises(StoreError):
            log.write(write(more))
        assert log.last == 3
    mark.rmdir()
    (tmp_path / "mark").rename(mark)
    log.write(write(more))
    assert [entry.index for entry in log.entries(Index(1), Index(5))] == [1, 2, 3, 4, 5]
