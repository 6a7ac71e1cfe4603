"""What a life asks of the disk, told from its files before and after each step; needs no tool.

What cannot be seen this way is the order within a step. It is put in as the design says it is
(docs/design/durability.md), and the traced runs check that it really is so.
"""

import mmap
from collections.abc import Iterator
from pathlib import Path

from qsync.store.writer import WriterMode
from tests.disk.life import Life
from tests.disk.power import SECTOR, Flushed, Made, Operation, Renamed, Said, Wrote
from tests.disk.writer import Store

META = 2 * mmap.PAGESIZE
"""LMDB's two meta pages: the later one says which pages count."""
LOG, DATA, MARK = "n/log/data.mdb", "n/data/data.mdb", "n/data/mark"


def operations(root: Path, *, seed: int, steps: int) -> Iterator[Operation]:
    """Live at `root`/n, and tell. Everything that is there when the store is opened is flushed."""
    life = Life(seed)
    store = Store(root / "n", mode=WriterMode.INLINE)
    yield from _everything(root)
    yield Said("opened")
    for number in range(steps):
        before = _files(root)
        store.take(life.step())
        after = _files(root)
        yield from _log(before[LOG], after[LOG])
        yield from _spaces(before, after)
        yield Said(str(number + 1))
    store.close()


def _files(root: Path) -> dict[str, bytes]:
    return {name: (root / name).read_bytes() for name in (LOG, DATA, MARK)}


def _everything(root: Path) -> Iterator[Operation]:
    paths = sorted(root.rglob("*"))
    for path in paths:
        name = path.relative_to(root).as_posix()
        yield Made(name, directory=path.is_dir())
        if path.is_file():
            yield Wrote(name, 0, path.read_bytes())
            yield Flushed(name)
    for path in [root, *paths]:
        if path.is_dir():
            yield Flushed(path.relative_to(root).as_posix())


def _changed(before: bytes, after: bytes, *, low: int, high: int) -> Iterator[tuple[int, bytes]]:
    """The sectors in a range that are not what they were."""
    for at in range(low, min(high, len(after)), SECTOR):
        sector = after[at : at + SECTOR]
        if sector != before[at : at + SECTOR]:
            yield at, sector


def _log(before: bytes, after: bytes) -> Iterator[Operation]:
    """A durable commit: pages, a flush, then the meta page, written through."""
    for at, sector in _changed(before, after, low=META, high=len(after)):
        yield Wrote(LOG, at, sector)
    if before != after:
        yield Flushed(LOG)
    for at, sector in _changed(before, after, low=0, high=META):
        yield Wrote(LOG, at, sector)
        yield Flushed(LOG, (at, at + SECTOR))


def _spaces(before: dict[str, bytes], after: dict[str, bytes]) -> Iterator[Operation]:
    """The mark goes before the first lazy commit, and comes back after the flush."""
    clean, marked = after[MARK].startswith(b"clean"), before[MARK] != after[MARK]
    if marked and not clean:
        yield from _mark(after[MARK])
    for low, high in ((META, len(after[DATA])), (0, META)):
        for at, sector in _changed(before[DATA], after[DATA], low=low, high=high):
            yield Wrote(DATA, at, sector)
    if marked and clean:
        yield Flushed(DATA)
        yield from _mark(after[MARK])


def _mark(content: bytes) -> Iterator[Operation]:
    yield Made(f"{MARK}.new")
    yield Wrote(f"{MARK}.new", 0, content)
    yield Flushed(f"{MARK}.new")
    yield Renamed(f"{MARK}.new", MARK)
    yield Flushed("n/data")
