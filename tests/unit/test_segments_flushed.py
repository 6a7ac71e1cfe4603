"""Entries that a start finds in the page cache are on the disk before they are acked."""

import os
from collections import defaultdict
from pathlib import Path
from random import Random

import pytest

from election.messages import Index
from qsync.errors import StoreError
from qsync.record import Entry
from qsync.store.segments.format import SECTOR
from qsync.store.segments.log import SegmentLog
from tests.unit.logs import chain, segment_log, write

LIVES = 25
"""How many are ended in each of the two ways."""


class Killed(BaseException):
    """The process is gone; what it wrote is in the memory of the system."""


class PageCache:
    """Between a process and its disk: what was written since the last flush is in memory only.

    Files are known by their inodes, names are taken to be safe. `kill_at`: before so many calls
    are done, the process is gone. `fail_at`: that flush fails, and its pages count as flushed
    though they never were, as Linux has it.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        self.kill_at = self.fail_at = -1
        self._dirty: dict[int, set[int]] = defaultdict(set)
        self._safe: dict[tuple[int, int], bytes] = {}
        """By inode and offset: what the disk has in a sector where memory has something else."""
        self._pwrite, self._fdatasync, self._fsync = os.pwrite, os.fdatasync, os.fsync
        monkeypatch.setattr(os, "pwrite", self._write)
        monkeypatch.setattr(os, "fdatasync", lambda handle: self._flush(handle, self._fdatasync))
        monkeypatch.setattr(os, "fsync", lambda handle: self._flush(handle, self._fsync))

    def power_cut(self, folder: Path, dice: Random, *, lost: float = 1.0) -> None:
        """This share of what is in memory only. Of a flush that failed, all."""
        for path in folder.iterdir():
            inode = path.stat().st_ino
            with path.open("r+b") as file:
                for (whose, at), content in self._safe.items():
                    if whose == inode and (at not in self._dirty[inode] or dice.random() < lost):
                        file.seek(at)
                        file.write(content)
        self._dirty.clear()
        self._safe.clear()

    def _count(self) -> None:
        self.calls += 1
        if self.calls - 1 == self.kill_at:
            raise Killed

    def _write(self, handle: int, data: bytes, at: int) -> int:
        self._count()
        inode, size = os.fstat(handle).st_ino, os.fstat(handle).st_size
        with Path(f"/proc/self/fd/{handle}").open("rb") as file:
            for sector in range(at // SECTOR * SECTOR, at + len(data), SECTOR):
                if sector < size:
                    file.seek(sector)
                    self._safe.setdefault((inode, sector), file.read(SECTOR))
                self._dirty[inode].add(sector)
        return self._pwrite(handle, data, at)

    def _flush(self, handle: int, call: object) -> None:
        self._count()
        assert callable(call)
        inode = os.fstat(handle).st_ino
        dirty = self._dirty.pop(inode, set())
        if self.calls - 1 == self.fail_at:
            raise OSError(5, "input/output error")
        for sector in dirty:
            self._safe.pop((inode, sector), None)
        call(handle)


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> PageCache:
    return PageCache(monkeypatch)


def opened(path: Path) -> SegmentLog:
    log = segment_log(path)
    log.recover()
    return log


def live(path: Path, made: list[Entry]) -> int:
    """Go on where the log ends until all is written, or the process is gone; what was told."""
    told = 0
    try:
        log = opened(path)
        told = log.last
        for entry in made[told:]:
            log.write(write([entry]))
            told = log.last
    except (Killed, StoreError):
        pass
    return told


def test_a_record_that_was_not_flushed_is_so_before_a_start_tells_of_it(
    tmp_path: Path, cache: PageCache
) -> None:
    made = chain([b"1", b"2"])
    assert live(tmp_path, made[:1]) == 1
    log = opened(tmp_path)
    assert log.last == 1
    cache.kill_at = cache.calls + 1
    with pytest.raises(Killed):
        log.write(write(made[1:]))
    assert opened(tmp_path).last == 2  # found, and told to others
    cache.power_cut(tmp_path / "log", Random(1))
    assert opened(tmp_path).last == 2


def test_a_record_whose_flush_failed_is_written_again_before_a_start_tells_of_it(
    tmp_path: Path, cache: PageCache
) -> None:
    """The system takes its pages for flushed: another flush alone would do nothing."""
    made = chain([b"1", b"2"])
    log = opened(tmp_path)
    log.write(write(made[:1]))
    cache.fail_at = cache.calls + 1
    with pytest.raises(StoreError):
        log.write(write(made[1:]))
    assert opened(tmp_path).last == 2
    cache.power_cut(tmp_path / "log", Random(1))
    assert opened(tmp_path).last == 2


@pytest.mark.parametrize("harm", ["kill_at", "fail_at"])
def test_whatever_a_life_and_the_next_told_survives_a_power_cut(
    tmp_path: Path, cache: PageCache, harm: str
) -> None:
    """The first life ends at any call, the second a few calls later; switches are in both."""
    made = chain([b"%02d" % number * 400 for number in range(14)])
    assert live(tmp_path / "n", made) == len(made)
    calls, dice = cache.calls, Random(1)
    for first in sorted(dice.sample(range(14, calls), LIVES)):
        path = tmp_path / str(first)
        begun = cache.calls
        setattr(cache, harm, begun + first)
        told = live(path, made)
        cache.kill_at = cache.calls + dice.randrange(12) if first % 2 else -1
        told = max(told, live(path, made[: told + 2]))
        cache.kill_at = cache.fail_at = -1
        cache.power_cut(path / "log", dice, lost=0.7)
        log = segment_log(path)
        found = log.recover()
        assert found.quarantined is None, first
        assert found.last >= told, first
        assert log.entries(Index(1), found.last) == made[: found.last]
        log.close()
