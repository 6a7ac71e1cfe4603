"""A log is trimmed, or restarted after a snapshot, with a power cut at any step."""

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from election.messages import Index
from qsync import record
from qsync.core.logstart import EMPTY, LogStart
from qsync.errors import Compacted
from qsync.record import Entry
from qsync.store.segments.beginning import BEGINNING
from qsync.store.segments.files import USED, segment_numbers
from tests.disk import traced
from tests.disk.power import Disk, Flushed, Operation, losses
from tests.unit.logs import MEMBER, SegmentDisk, chain, segment_log, some, start_behind, write

CUTS = int(os.environ.get("QSYNC_TEST_POWER_CUTS", "400"))

CODE = """
from pathlib import Path
from tests.unit.logs import segment_log
from qsync.core.logstart import decode
log = segment_log(Path({path!r}))
log.recover()
log.{act}(decode({start!r}))
log.close()
"""

LAST = 120
TRIMMED_TO = 90


@dataclass
class Before:
    """A log of several segments, with a cut in it, and what is asked of it."""

    act: str
    start: LogStart
    made: list[Entry]
    tails: list[list[Entry]] = field(default_factory=list)

    def after(self, log_start: LogStart, found: list[Entry], tails: list[list[Entry]]) -> bool:
        """Is that what it was, or what it is to be? True for the latter."""
        if log_start == EMPTY:
            assert (found, tails) == (self.made, self.tails)
            return False
        assert log_start == self.start
        if self.act == "trim":
            assert (found, tails) == (self.made[self.start.index :], self.tails)
        else:
            assert (found, tails) == ([], [*self.tails, self.made[TRIMMED_TO:]])
        return True


def made_at(path: Path, act: str) -> Before:
    log = segment_log(path)
    log.recover()
    lost = some(9)
    log.write(write(lost, confirmed=3))
    made = lost[:3]
    for term in range(2, 2 + (LAST - 3) // 9):
        added = chain([b"%d" % term * 400] * 9, after=made[-1], term=term)
        log.write(write(added, cut_above=3 if term == 2 else None, confirmed=TRIMMED_TO))
        made += added
    log.close()
    assert len(segment_numbers(path / "log")) > 3
    start = start_behind(made[TRIMMED_TO - 1] if act == "trim" else some(200, term=50)[-1])
    return Before(act, start, made, [lost[3:]])


def look(path: Path, before: Before) -> bool:
    """Open twice, as nodes do, and check all; has it happened?"""
    seen = False
    for _ in range(2):
        with closing(segment_log(path)) as log:
            found = log.recover()
            assert (found.quarantined, found.ballot) == (None, MEMBER)
            entries = [entry for raw in log.stored() for entry in record.decode(raw)]
            tails = [record.decode(tail.raw) for tail in log.archived()]
            seen = before.after(found.start, entries, tails)
    with closing(segment_log(path)) as log:
        log.recover()
        last = before.start if seen and before.act == "begin_at" else start_behind(before.made[-1])
        more = some_behind(last)
        log.write(write(more, confirmed=TRIMMED_TO))
        assert log.entries(Index(last.index + 1), log.last) == more
    return seen


def some_behind(start: LogStart) -> list[Entry]:
    return [
        record.make(
            index=start.index + 1, term=99, origin=1, lsn=start.index + 1,
            kind=record.EntryKind.TXN, flags=0, time=0.0, body=b"more", previous=start.crc,
        )
    ]  # fmt: skip


def traced_act(tmp_path: Path, act: str) -> tuple[Before, Disk, list[Operation]]:
    if reason := traced.unusable():
        pytest.skip(reason)
    root = tmp_path / "root"
    (root / "n").mkdir(parents=True)
    before = made_at(root / "n", act)
    reader, disk = traced.Reader(root), Disk(root)
    code = CODE.format(path=str(root / "n"), act=act, start=before.start.encode())
    done = traced.run(code, log=tmp_path / "calls")
    assert done.returncode == 0, done.stderr
    return before, disk, list(reader.read(tmp_path / "calls"))


@pytest.mark.parametrize("act", ["trim", "begin_at"])
@pytest.mark.timeout(60 + CUTS / 5)
def test_a_kill_or_a_power_cut_at_any_step_leaves_the_log_as_it_was_or_as_it_is_to_be(
    tmp_path: Path, act: str
) -> None:
    before, disk, operations = traced_act(tmp_path, act)
    dice = Random(1)
    kinds = losses(dice)
    seen = []
    for at, operation in enumerate(operations):
        disk.take(operation)
        for loss in (kinds[0], kinds[1 + at % (len(kinds) - 1)]):
            image = tmp_path / "image"
            disk.save(image, loss)
            seen.append(look(image / "n", before))
            shutil.rmtree(image)
    assert set(seen) == {False, True}
    assert seen[-2:] == [True, True], "it was not on the disk when it was done"


def test_segments_that_go_before_what_says_so_is_flushed_are_noticed_here(tmp_path: Path) -> None:
    """If the test above could not fail, it would prove nothing."""
    before, disk, operations = traced_act(tmp_path, "trim")
    lies = [each for each in operations if not is_flush_of(each, f"n/log/{BEGINNING}.new")]
    assert len(lies) < len(operations)
    with pytest.raises(AssertionError):
        look_after_each(tmp_path, before, disk, lies)


def look_after_each(
    tmp_path: Path, before: Before, disk: Disk, operations: list[Operation]
) -> None:
    """Everything that was not flushed is lost."""
    lost = losses(Random(1))[1]
    for number, operation in enumerate(operations):
        disk.take(operation)
        disk.save(tmp_path / f"image{number}", lost)
        look(tmp_path / f"image{number}" / "n", before)


def is_flush_of(operation: Operation, path: str) -> bool:
    return isinstance(operation, Flushed) and operation.path == path


# --------------------------------------------------------------------------------- what is missing


def lose_beginning(folder: Path) -> None:
    (folder / BEGINNING).unlink()


def tear_beginning(folder: Path) -> None:
    whole = (folder / BEGINNING).read_bytes()
    (folder / BEGINNING).write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))


def shorten_beginning(folder: Path) -> None:
    (folder / BEGINNING).write_bytes(b"qsync")


def foreign_beginning(folder: Path) -> None:
    other = folder.parent.parent / "other"
    other.mkdir()
    made_at(other, "trim")
    with closing(segment_log(other)) as log:
        log.recover()
        log.trim(start_behind(log.entries(Index(20), Index(20))[0]))
    shutil.copy(other / "log" / BEGINNING, folder / BEGINNING)


def lose_first(folder: Path) -> None:
    (folder / f"{segment_numbers(folder)[0]:012}.log").unlink()


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lose_beginning, "segment 1 is missing"),
        (tear_beginning, "what says where the log begins does not verify"),
        (shorten_beginning, "what says where the log begins does not verify"),
        (foreign_beginning, "what says where the log begins is of another log"),
        (lose_first, "is missing"),
    ],
)
def test_a_trimmed_log_without_what_says_so_is_damaged(
    tmp_path: Path, harm: Callable[[Path], None], says: str
) -> None:
    path = tmp_path / "n"
    path.mkdir()
    before = made_at(path, "trim")
    with closing(segment_log(path)) as log:
        log.recover()
        log.trim(before.start)
    assert segment_numbers(path / "log")[0] > 1
    harm(path / "log")
    with closing(segment_log(path)) as log:
        found = log.recover()
        assert says in (found.quarantined or "")
        assert (found.ballot, found.untrusted) == (MEMBER, False)


def test_one_segment_waits_to_be_used_again_and_the_others_are_gone(tmp_path: Path) -> None:
    disk = SegmentDisk(tmp_path)
    before = made_at(tmp_path, "trim")
    log = disk.open()
    log.recover()
    folder = tmp_path / "log"
    numbers, used = segment_numbers(folder), log.bytes_used()
    log.trim(before.start)
    left = segment_numbers(folder)
    assert left == numbers[-len(left) :]
    assert len(left) < len(numbers) - 1
    assert log.bytes_used() < used
    assert (folder / USED).exists()
    disk.close()


def test_who_reads_what_is_trimmed_meanwhile_is_told_so(tmp_path: Path) -> None:
    before = made_at(tmp_path, "trim")
    with closing(segment_log(tmp_path)) as log:
        log.recover()
        reading = log.batches(Index(1), log.last, bytes_max=1)
        assert next(reading).first == 1
        log.trim(before.start)
        with pytest.raises(Compacted):
            list(reading)
