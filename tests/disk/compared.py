"""What a life asks of the disk, told from its files before and after each step; needs no tool.

What cannot be seen this way is the order within a step. It is put in as the design says it is
(docs/design/durability.md), and the traced runs check that it really is so.
"""

import mmap
from collections.abc import Iterator
from pathlib import Path

from qsync.store.segments.files import MARK as FLUSHED
from qsync.store.segments.files import SPARE, SUFFIX, UNREADY
from qsync.store.writer import WriterMode
from tests.disk.life import Life
from tests.disk.power import SECTOR, Flushed, Made, Operation, Renamed, Said, Wrote
from tests.disk.writer import Store

META = 2 * mmap.PAGESIZE
"""LMDB's two meta pages: the later one says which pages count."""
LOG, DATA, MARK = "n/log", "n/data/data.mdb", "n/data/mark"
LAST_FLUSHED = f"{LOG}/{FLUSHED}"
Files = dict[str, bytes]


def is_segment(path: str) -> bool:
    return path.startswith(f"{LOG}/") and path.endswith(SUFFIX)


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
        yield from _log(before, after)
        yield from _spaces(before, after)
        yield Said(str(number + 1))
    store.close()


def _files(root: Path) -> Files:
    log = (path.relative_to(root).as_posix() for path in (root / LOG).iterdir())
    return {name: (root / name).read_bytes() for name in (DATA, MARK, *log)}


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


def _log(before: Files, after: Files) -> Iterator[Operation]:
    """A record: written, flushed, marked. Where a segment is full the next one is placed first."""
    new = sorted(name for name in after if is_segment(name) and name not in before)
    for name in new:
        yield from _placed(name, after[name])
    for name in sorted(filter(is_segment, after)):
        content = bytes(len(after[name])) if name in new else before[name]
        low = SECTOR if name in new else 0
        written = list(_changed(content, after[name], low=low, high=len(after[name])))
        for at, sector in written:
            yield Wrote(name, at, sector)
        if written:
            yield Flushed(name)
    if before[LAST_FLUSHED] != after[LAST_FLUSHED]:
        yield Wrote(LAST_FLUSHED, 0, after[LAST_FLUSHED])


def _placed(name: str, content: bytes) -> Iterator[Operation]:
    """Zeros, flushed; its name, flushed; its header, flushed; its number, flushed."""
    unready, spare = f"{LOG}/{UNREADY}", f"{LOG}/{SPARE}"
    yield Made(unready)
    yield Wrote(unready, 0, bytes(len(content)))
    yield Flushed(unready)
    yield Renamed(unready, spare)
    yield Flushed(LOG)
    yield Wrote(spare, 0, content[:SECTOR])
    yield Flushed(spare)
    yield Renamed(spare, name)
    yield Flushed(LOG)


def _spaces(before: Files, after: Files) -> Iterator[Operation]:
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
