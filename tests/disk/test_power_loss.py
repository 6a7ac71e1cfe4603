"""A power cut at any instant: acked entries are durable, rows are correct or rebuilt."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest

from qsync.store.mark import CLEAN, closed
from qsync.store.segments.log import SegmentLog
from tests.disk import compared, traced
from tests.disk.life import Held, Life
from tests.disk.opened import look, place
from tests.disk.power import Disk, Flushed, Loss, Operation, Said, losses
from tests.unit.logs import ME, MEMBER, ROOT, segment_log, some, write

CUTS = int(os.environ.get("QSYNC_TEST_POWER_CUTS", "400"))
"""How many power cuts each test simulates."""
LIVES = int(os.environ.get("QSYNC_TEST_POWER_LIVES", "1"))
"""Of how many seeds."""
STEPS = 80
IMAGES = 150
ANOTHER_BOOT = "the system was started again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """What a life asked of the disk, and what it held after each step."""

    operations: Sequence[Operation]
    lived: Sequence[Held]
    first: int
    """No power cut before this operation: what is earlier only sets the scene."""


def trace(root: Path, logs: Path, seed: int) -> list[Operation]:
    if reason := traced.unusable():
        pytest.skip(reason)
    reader = traced.Reader(root)
    code = (
        "from pathlib import Path; from tests.disk.writer import live;"
        f"live(Path({str(root / 'n')!r}), seed={seed}, begin=0, end={STEPS})"
    )
    done = traced.run(code, log=logs / "calls")
    assert done.returncode == 0, done.stderr
    return list(reader.read(logs / "calls"))


def compare(root: Path, _: Path, seed: int) -> list[Operation]:
    return list(compared.operations(root, seed=seed, steps=STEPS))


SOURCES: dict[str, Callable[[Path, Path, int], list[Operation]]] = {
    "compared": compare,
    "traced": trace,
}


@pytest.fixture(
    scope="module",
    params=[(source, seed) for source in sorted(SOURCES) for seed in range(LIVES)],
    ids=lambda param: f"{param[0]}-{param[1]}",
)
def journal(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Journal:
    root, logs = tmp_path_factory.mktemp("disk"), tmp_path_factory.mktemp("calls")
    source, seed = request.param
    life, lived = Life(seed), [Held()]
    for _ in range(STEPS + 1):
        life.step()
        lived.append(life.held)
    operations = SOURCES[source](root, logs, seed)
    first = 0 if source == "traced" else operations.index(Said("opened"))
    return Journal(operations=operations, lived=lived, first=first)


@pytest.fixture
def image(tmp_path: Path) -> Iterator[Path]:
    """Where images are written; in memory where there is such a place, for they only get read."""
    memory = Path("/dev/shm")
    folder = memory if os.access(memory, os.W_OK) else tmp_path
    own = Path(tempfile.mkdtemp(prefix="qsync-test-", dir=folder))
    yield own / "image"
    shutil.rmtree(own)


def cuts(
    operations: Sequence[Operation],
    dice: Random,
    *,
    count: int,
    first: int = 0,
    disk: Disk | None = None,
) -> Iterator[tuple[Disk, Loss]]:
    """The disk after so many operations, and what a power cut is to take of it."""
    kinds = losses(dice)
    where: dict[int, list[Loss]] = {}
    for number in range(count):
        at = dice.randrange(first, len(operations))
        where.setdefault(at, []).append(kinds[number % len(kinds)])
    disk = Disk() if disk is None else disk
    for at, operation in enumerate(operations):
        disk.take(operation)
        for loss in where.get(at, ()):
            yield disk, loss


@pytest.mark.timeout(60 + CUTS / 10)
def test_no_power_cut_takes_what_was_acked(journal: Journal, image: Path) -> None:
    rebuilt = 0
    for disk, loss in cuts(journal.operations, Random(1), count=CUTS, first=journal.first):
        disk.save(image, loss)
        alone = loss.name == "kept"  # the process died, and the system lives on
        held = look(image / "n", boot=None if alone else ANOTHER_BOOT)
        acked = max(disk.said - 1, 0)  # the first word is that the store is open
        place(held, journal.lived, acked=acked)
        if alone:
            assert held.folded in {journal.lived[acked].folded, journal.lived[acked + 1].folded}
        rebuilt += held.folded < journal.lived[acked].folded
        shutil.rmtree(image)
    assert rebuilt > CUTS / 20, "no power cut met rows that were not flushed"


def saved(journal: Journal, operations: Sequence[Operation], into: Path) -> list[Path]:
    """Many images, to be looked at by a process of its own."""
    into.mkdir()
    images: list[Path] = []
    for disk, loss in cuts(operations, Random(1), count=IMAGES, first=journal.first):
        images.append(into / str(len(images)))
        disk.save(images[-1], loss)
    return images


def test_a_disk_that_lies_about_flushes_is_noticed_here(journal: Journal, image: Path) -> None:
    """If the test above could not fail, it would prove nothing."""
    assert holds(saved(journal, journal.operations, image))
    lies = [each for each in journal.operations if not is_flush_of_log(each)]
    assert not holds(saved(journal, lies, image.with_name("lies")))


def is_flush_of_log(each: Operation) -> bool:
    return isinstance(each, Flushed) and compared.is_segment(each.path)


def forged(images: Sequence[Path], mark: Callable[[Path], str]) -> Sequence[Path]:
    """The same images with another mark beside the rows, where there is one."""
    for each in images:
        if (each / compared.MARK).exists():
            (each / compared.MARK).write_text(mark(each / compared.DATA))
    return images


def test_rows_that_were_not_flushed_are_found_out_even_if_the_mark_lies(
    journal: Journal, image: Path
) -> None:
    assert holds(forged(saved(journal, journal.operations, image), lambda _: CLEAN))


def test_without_the_mark_unflushed_rows_would_be_wrong(journal: Journal, image: Path) -> None:
    """With a mark that vouches for every byte nobody looks, and LMDB notices nothing."""
    assert not holds(forged(saved(journal, journal.operations, image), closed))


LOOK = """
import sys
from pathlib import Path
from tests.disk.opened import look
for path in sys.argv[1:]:
    look(Path(path) / "n", boot="another")
"""


def holds(images: Sequence[Path]) -> bool:
    """Is all well with each? Damaged pages may kill the process, so it is one of its own."""
    done = subprocess.run(
        [sys.executable, "-c", LOOK, *map(str, images)],
        capture_output=True, text=True, timeout=60, check=False, cwd=ROOT,
    )  # fmt: skip
    return done.returncode == 0


# ------------------------------------------------------------------------ starting over, by strace

START_OVER = """
from pathlib import Path
from qsync.store.segments.log import SegmentLog
from tests.unit.logs import ME
log = SegmentLog(Path({path!r}), identity=ME)
assert log.recover().quarantined
log.start_over(why="a test")
log.close()
"""


def test_a_power_cut_while_a_log_starts_over_loses_neither_term_nor_vote(
    tmp_path: Path, image: Path
) -> None:
    if reason := traced.unusable():
        pytest.skip(reason)
    root = tmp_path / "root"
    (root / "n").mkdir(parents=True)
    log = segment_log(root / "n")
    log.recover()
    made = some(9)
    log.write(write(made[:4], confirmed=3))
    log.write(write(made[4:], confirmed=3))
    log.close()
    (file,) = (root / "n" / "log").glob("*.log")
    data = file.read_bytes()
    assert b"body 5" in data
    file.write_bytes(data.replace(b"body 5", b"body 6"))
    reader, disk = traced.Reader(root), Disk(root)
    code = START_OVER.format(path=str(root / "n" / "log"))
    done = traced.run(code, log=tmp_path / "calls")
    assert done.returncode == 0, done.stderr
    operations = list(reader.read(tmp_path / "calls"))
    seen: set[bool] = set()
    for after, loss in cuts(operations, Random(1), count=CUTS, disk=disk):
        after.save(image, loss)
        log = SegmentLog(image / "n" / "log", identity=ME)
        found = log.recover()
        seen.add(damaged := found.quarantined is not None)
        assert found.ballot == replace(MEMBER, member=damaged)
        assert found.last == (4 if damaged else 0)
        log.close()
        shutil.rmtree(image)
    assert seen == {True, False}
