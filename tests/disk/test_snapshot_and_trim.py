"""A snapshot is written, an old one goes, the log is trimmed, and the power goes at any step."""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from election.messages import Index
from qsync import record
from qsync.store.memory import MemorySpaces
from qsync.store.snapfiles import (
    SNAPSHOTS,
    newest_whole,
    remove_old,
    restore_rows,
    snapshot_files,
)
from qsync.store.snapfiles import write_snapshot as write_file
from tests.disk import traced
from tests.disk.power import Disk, Flushed, Operation, losses
from tests.disk.test_trimming import LAST, made_at
from tests.unit.logs import MEMBER, segment_log, start_behind

STEPS = int(os.environ.get("QSYNC_TEST_POWER_CUTS", "400"))
OLDEST, FORMER, NEWEST = 20, 60, 90
ROWS = 300

CODE = """
from pathlib import Path
from tests.disk import test_snapshot_and_trim as steps
steps.snapshot_and_trim(Path({path!r}), {upto})
"""


@dataclass(frozen=True)
class RowsAt:
    """What a fold gives; the rows say at which index they hold."""

    folded: Index

    @property
    def puts(self) -> list[tuple[bytes, bytes]]:
        return [(b"%05d" % key, b"%d" % self.folded * 20) for key in range(ROWS)]

    @property
    def deletes(self) -> list[bytes]:
        return []


def write_snapshot(path: Path, index: int) -> None:
    """Of the log there, as a node does: the former one that is not to stay goes after it."""
    with closing(segment_log(path)) as log:
        log.recover()
        spaces = MemorySpaces()
        spaces.fold(RowsAt(Index(index)))
        view = spaces.view()
        start = start_behind(log.entries(Index(index), Index(index))[0])
        write_file(path / SNAPSHOTS, view, start)
        view.close()


def snapshot_and_trim(path: Path, upto: int) -> None:
    """The three acts, in the order of the node."""
    write_snapshot(path, NEWEST)
    remove_old(path / SNAPSHOTS, keep=2)
    with closing(segment_log(path)) as log:
        log.recover()
        log.trim(start_behind(log.entries(Index(upto), Index(upto))[0]))


def look(path: Path, upto: int = FORMER) -> int:
    """The rows can be rebuilt, and the log continues after them; return its start."""
    begins = 0
    for _ in range(2):
        with closing(segment_log(path)) as log:
            found = log.recover()
            assert (found.quarantined, found.ballot, found.last) == (None, MEMBER, LAST)
            begins = int(found.start.index)
            assert begins in {0, upto}
            newest, _ = newest_whole(path / SNAPSHOTS, least=Index(begins), most=found.last)
            assert newest is not None, "nothing has the rows of what was trimmed"
            spaces = MemorySpaces()
            head = restore_rows(spaces, newest.path)
            assert spaces.get(b"00007") == b"%d" % head.start.index * 20
            entries = [entry for raw in log.stored() for entry in record.decode(raw)]
            assert [entry.index for entry in entries] == list(range(begins + 1, LAST + 1))
            assert entries[head.start.index - begins].index == head.start.index + 1
    return begins


def traced_steps(tmp_path: Path, upto: int = FORMER) -> tuple[Disk, list[Operation]]:
    if reason := traced.unusable():
        pytest.skip(reason)
    root = tmp_path / "root"
    (root / "n").mkdir(parents=True)
    made_at(root / "n", "trim")
    for index in (OLDEST, FORMER):
        write_snapshot(root / "n", index)
    reader, disk = traced.Reader(root), Disk(root)
    done = traced.run(CODE.format(path=str(root / "n"), upto=upto), log=tmp_path / "calls")
    assert done.returncode == 0, done.stderr
    return disk, list(reader.read(tmp_path / "calls"))


def images(tmp_path: Path, disk: Disk, operations: Iterable[Operation]) -> Iterator[int]:
    """What is found after each step, with one loss or another."""
    kinds = losses(Random(1))
    for at, operation in enumerate(operations):
        disk.take(operation)
        for loss in (kinds[0], kinds[1 + at % (len(kinds) - 1)]):
            image = tmp_path / "image"
            disk.save(image, loss)
            yield look(image / "n")
            shutil.rmtree(image)


@pytest.mark.timeout(60 + STEPS / 5)
def test_what_was_trimmed_is_in_a_whole_snapshot_at_every_step(tmp_path: Path) -> None:
    disk, operations = traced_steps(tmp_path)
    found = list(images(tmp_path, disk, operations))
    assert set(found) == {0, FORMER}
    assert found[-2:] == [FORMER, FORMER], "it was not on the disk when it was done"
    assert [each.index for each in snapshot_files(tmp_path / "root" / "n" / SNAPSHOTS)] == [
        FORMER,
        NEWEST,
    ]


def test_a_log_that_is_trimmed_to_a_snapshot_that_is_not_flushed_is_noticed_here(
    tmp_path: Path,
) -> None:
    """If the test above could not fail, it would prove nothing."""
    disk, operations = traced_steps(tmp_path, upto=NEWEST)
    for operation in operations:
        if not (isinstance(operation, Flushed) and SNAPSHOTS in operation.path):
            disk.take(operation)
    disk.save(tmp_path / "image", losses(Random(1))[1])
    with pytest.raises(AssertionError, match="nothing has the rows"):
        look(tmp_path / "image" / "n", NEWEST)
