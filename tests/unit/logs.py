"""Entries and logs for the tests of the store."""

import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from election.messages import Ballot, Index, Replica, Term
from qsync import record
from qsync.core.limbo import NOBODY as NO_OWNER
from qsync.core.logstart import LogStart
from qsync.core.ready import Write
from qsync.record import Entry, Lsn
from qsync.store.contract import Identity, Log, RecoveredLog
from qsync.store.log import LmdbLog
from qsync.store.memory import NOBODY, MemoryLog
from qsync.store.segments.log import SegmentLog
from qsync.store.segments.spare import SpareInPlace, SpareMaker

ROOT = Path(__file__).parents[2]
ME = Identity(cluster="c-1", instance="i-1", replica=Replica(1), name="n1")
MEMBER = Ballot(term=Term(1), vote=Replica(1), member=True)


def chain(bodies: Sequence[bytes], *, after: Entry | None = None, term: int = 1) -> list[Entry]:
    """Entries with these bodies that follow `after`."""
    made: list[Entry] = []
    for body in bodies:
        before = made[-1] if made else after
        index = before.index + 1 if before else 1
        made.append(
            record.make(
                index=index,
                term=term,
                origin=1,
                lsn=index,
                kind=record.EntryKind.TXN,
                flags=0,
                time=0.0,
                body=body,
                previous=before.crc if before else record.CHAIN_SEED,
            )
        )
    return made


def some(count: int, *, after: Entry | None = None, term: int = 1) -> list[Entry]:
    """So many entries, with bodies that differ."""
    first = after.index + 1 if after else 1
    return chain([b"body %d" % (first + at) for at in range(count)], after=after, term=term)


def start_behind(entry: Entry) -> LogStart:
    """Where a log begins that was trimmed up to this entry; all of them are of one origin."""
    return LogStart(
        index=entry.index,
        term=entry.term,
        crc=entry.crc,
        origin=entry.origin,
        vclock=((entry.origin, Lsn(entry.index)),),
        owner=NO_OWNER,
        configuration=b"",
    )


def write(
    entries: list[Entry] | None = None,
    *,
    cut_above: int | None = None,
    ballot: Ballot = MEMBER,
    confirmed: int = 0,
) -> Write:
    return Write(
        id=1,
        cut_above=None if cut_above is None else Index(cut_above),
        cut_reason="" if cut_above is None else "another leader has another entry",
        cut_answered=0 if cut_above is None else 3,
        entries=entries or [],
        ballot=ballot,
        confirmed=Index(confirmed),
    )


class Disk(Protocol):
    """Something that a log can be opened on, again and again."""

    def open(self) -> Log: ...


class LmdbDisk:
    """A directory; the log that was opened before is closed first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._opened: LmdbLog | None = None

    def open(self) -> LmdbLog:
        self.close()
        self._opened = LmdbLog(self.path / "log", identity=NOBODY, wall=lambda: 7.0)
        return self._opened

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()


FIRST_BYTES, SEGMENT_BYTES = 8192, 32768
"""Small segments, so that tests have many."""


class SegmentDisk:
    """A directory; the log that was opened before is closed first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._opened: SegmentLog | None = None

    def open(self) -> SegmentLog:
        self.close()
        self._opened = segment_log(self.path)
        return self._opened

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()


class MemoryDisk:
    """The same log each time, recovered again by the caller."""

    def __init__(self) -> None:
        self._log = MemoryLog(wall=lambda: 7.0)

    def open(self) -> MemoryLog:
        return self._log


@contextmanager
def lmdb_disk() -> Iterator[LmdbDisk]:
    path = Path(tempfile.mkdtemp(prefix="qsync-test-"))
    disk = LmdbDisk(path)
    try:
        yield disk
    finally:
        disk.close()
        shutil.rmtree(path)


@contextmanager
def segment_disk() -> Iterator[SegmentDisk]:
    path = Path(tempfile.mkdtemp(prefix="qsync-test-"))
    disk = SegmentDisk(path)
    try:
        yield disk
    finally:
        disk.close()
        shutil.rmtree(path)


@contextmanager
def memory_disk() -> Iterator[MemoryDisk]:
    yield MemoryDisk()


DISKS: dict[str, Callable[[], AbstractContextManager[Disk]]] = {
    "lmdb": lmdb_disk,
    "memory": memory_disk,
    "segments": segment_disk,
}


def lmdb_log(path: Path) -> LmdbLog:
    return LmdbLog(path / "log", identity=NOBODY)


def segment_log(path: Path, *, spares: SpareMaker | None = None) -> SegmentLog:
    return SegmentLog(
        path / "log",
        identity=NOBODY,
        wall=lambda: 7.0,
        sizes=(FIRST_BYTES, SEGMENT_BYTES),
        spares=SpareInPlace() if spares is None else spares,
    )


@contextmanager
def recovered(path: Path) -> Iterator[tuple[LmdbLog, RecoveredLog]]:
    log = lmdb_log(path)
    try:
        yield log, log.recover()
    finally:
        log.close()


CHILD = """
import sys
sys.path.insert(0, {root!r})
"""


def child(code: str, *args: object) -> str:
    """Run code in a process of its own; what it printed last."""
    text = CHILD.format(root=str(ROOT)) + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-c", text, *map(str, args)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return str(done.stdout).strip()
