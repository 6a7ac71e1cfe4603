"""Looks at a file of LMDB page by page, without LMDB: what does not hold would end the process.

LMDB believes what a page says. A pointer beyond the end of the file is a SIGBUS, a page of another
kind an assertion that aborts. So a file without a valid mark is walked here first, with every
number checked before it is used. The layout is that of LMDB 0.9 on a 64-bit machine (`mdb.c`:
MDB_page, MDB_node, MDB_meta, MDB_db).
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from qsync.errors import Damaged

# pgno, pad, flags, lower, upper; lower and upper are the number of pages of an overflow.
_HEADER = struct.Struct("<QHHHH")
_OVERFLOW = struct.Struct("<QHHI")
# magic, version, address, map size; then two MDB_db, last page, transaction.
_META = struct.Struct("<IIQQ")
_DB = struct.Struct("<IHHQQQQQ")
_NODE = struct.Struct("<HHHH")
_PGNO = struct.Struct("<Q")
_META_END = struct.Struct("<QQ")
_MAGIC: Final = 0xBEEFC0DE
_VERSION: Final = 1
_BRANCH, _LEAF, _BIG, _META_PAGE = 0x01, 0x02, 0x04, 0x08
_BIG_DATA, _SUB_DATA = 0x01, 0x02
_NO_PAGE: Final = (1 << 64) - 1
_HEADER_SIZE: Final = 16
_NODE_SIZE: Final = 8
_DEPTH_MAX: Final = 32
"""LMDB's own limit for its stack of pages."""
_PAGE_SIZES: Final = frozenset(1 << bits for bits in range(9, 17))


Row = tuple[bytes, bytes]
"""A key, and what is stored there."""


class Db(NamedTuple):
    """One tree, as its MDB_db describes it."""

    flags: int
    depth: int
    branches: int
    leaves: int
    overflows: int
    entries: int
    root: int


class Pages:
    """The last commit in a file. Everything here raises Damaged at the first thing amiss."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = bytearray()
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._size, self._free, self._main, self._last = self._newest()
        except BaseException:
            os.close(self._fd)
            raise

    def close(self) -> None:
        """Release the file."""
        os.close(self._fd)

    def tables(self) -> dict[bytes, Db]:
        """The named trees. Also walks what is free: a page in use there would be overwritten."""
        self._seen = bytearray(self._last + 1)
        named: dict[bytes, Db] = {}
        for rows in self._walk(self._main, _SUB_DATA):
            for key, value in rows:
                if len(value) != _DB.size:
                    raise self._wrong(f"the tree named {key!r} is none")
                named[key] = _db(value)
        for rows in self._walk(self._free, 0):
            for _, value in rows:
                self._walk_free(value)
        return named

    def rows(self, tree: Db) -> Iterator[list[Row]]:
        """The rows of a tree in order, those of one page at a time."""
        return self._walk(tree, 0)

    # -- the parts of it

    def _wrong(self, what: str) -> Damaged:
        return Damaged(f"{self._path}: {what}", details={"path": str(self._path)})

    def _read(self, at: int, size: int) -> bytes:
        found = os.pread(self._fd, size, at)
        if len(found) != size:
            raise self._wrong(f"it ends before byte {at + size}")
        return found

    def _newest(self) -> tuple[int, Db, Db, int]:
        """Page size, the tree of what is free, the main tree, the last page."""
        size = _DB.unpack_from(self._read(_HEADER_SIZE + _META.size, _DB.size))[0]
        if size not in _PAGE_SIZES:
            raise self._wrong(f"a page cannot have {size} bytes")
        found: list[tuple[int, Db, Db, int]] = []
        for number in range(2):
            page = self._read(number * size, size)
            _, _, flags, _, _ = _HEADER.unpack_from(page)
            magic, version, _, _ = _META.unpack_from(page, _HEADER_SIZE)
            if (magic, version) != (_MAGIC, _VERSION) or not flags & _META_PAGE:
                raise self._wrong(f"page {number} is no meta page")
            at = _HEADER_SIZE + _META.size
            free, main = _db(page[at : at + _DB.size]), _db(page[at + _DB.size :][: _DB.size])
            last, txn = _META_END.unpack_from(page, at + 2 * _DB.size)
            found.append((txn, free, main, last))
        _, free, main, last = max(found, key=lambda each: each[0])
        if (last + 1) * size > os.fstat(self._fd).st_size:
            raise self._wrong(f"it is cut short: there are {last + 1} pages by its meta page")
        return size, free, main, last

    def _page(self, number: int) -> bytes:
        """A page that nothing else has led to."""
        self._take(number)
        page = self._read(number * self._size, self._size)
        if _PGNO.unpack_from(page)[0] != number:
            raise self._wrong(f"page {number} says it is another one")
        return page

    def _take(self, number: int) -> None:
        if not 1 < number <= self._last:
            raise self._wrong(f"there is no page {number}")
        if self._seen[number]:
            raise self._wrong(f"page {number} is used twice")
        self._seen[number] = 1

    def _walk(self, tree: Db, kind: int) -> Iterator[list[Row]]:
        """The rows of each leaf; all of them are of this kind."""
        if tree.root == _NO_PAGE:
            if tree.entries or tree.depth:
                raise self._wrong("a tree with entries has no root")
            return
        if not 0 < tree.depth <= _DEPTH_MAX:
            raise self._wrong(f"a tree cannot be {tree.depth} pages deep")
        entries, last, begun = 0, b"", False
        numbers = tree.flags & 0x08  # MDB_INTEGERKEY: native integers
        for rows in self._below(tree.root, tree.depth, kind):
            for key, _ in rows:
                order = key[::-1] if numbers else key
                if order <= last and begun:
                    raise self._wrong(f"the key {key[:32]!r} is out of order")
                last, begun = order, True
            entries += len(rows)
            yield rows
        if entries != tree.entries:
            raise self._wrong(f"a tree of {tree.entries} entries has {entries}")

    def _below(self, number: int, depth: int, kind: int) -> Iterator[list[Row]]:
        page = self._page(number)
        _, _, flags, lower, upper = _HEADER.unpack_from(page)
        wanted = _LEAF if depth == 1 else _BRANCH
        if flags & ~0x10 != wanted:  # 0x10: it was written in the transaction that has it
            raise self._wrong(f"page {number} is of another kind than its place")
        if not _HEADER_SIZE <= lower <= upper <= self._size or lower % 2:
            raise self._wrong(f"page {number} is laid out wrongly")
        places = struct.unpack_from(f"<{(lower - _HEADER_SIZE) // 2}H", page, _HEADER_SIZE)
        if not places or (depth > 1 and len(places) < 2):  # noqa: PLR2004 - a branch has two
            raise self._wrong(f"page {number} is empty")
        if min(places) < upper or max(places) > self._size - _NODE_SIZE:
            raise self._wrong(f"page {number} points out of itself")
        if depth == 1:
            yield self._rows_of(page, number, places, kind)
            return
        for place in places:
            low, high, above, length = _NODE.unpack_from(page, place)
            if place + _NODE_SIZE + length > self._size:
                raise self._wrong(f"a key of page {number} is longer than the page")
            yield from self._below(low | high << 16 | above << 32, depth - 1, kind)

    def _rows_of(self, page: bytes, number: int, places: tuple[int, ...], wanted: int) -> list[Row]:
        """Return what the nodes of a leaf hold. A start does this for every row."""
        rows: list[Row] = []
        unpack, limit = _NODE.unpack_from, self._size
        for place in places:
            low, high, kind, length = unpack(page, place)
            begun: int = place + _NODE_SIZE
            end: int = begun + length
            size: int = low | high << 16
            if end > limit:
                raise self._wrong(f"a key of page {number} is longer than the page")
            key = page[begun:end]
            if kind == wanted and end + size <= limit:
                rows.append((key, page[end : end + size]))
            elif kind == wanted | _BIG_DATA:
                rows.append((key, self._beside(page, end, size)))
            elif kind == wanted:
                raise self._wrong("a value is longer than its page")
            else:
                raise self._wrong(f"the node of {key[:32]!r} is of no kind for its tree")
        return rows

    def _beside(self, page: bytes, at: int, size: int) -> bytes:
        """A value on pages of its own; `page` says at `at` which they are."""
        if at + _PGNO.size > self._size:
            raise self._wrong("a value is nowhere")
        (number,) = _PGNO.unpack_from(page, at)
        first = self._page(number)
        _, _, flags, pages = _OVERFLOW.unpack_from(first)
        if flags & ~0x10 != _BIG or pages * self._size < _HEADER_SIZE + size:
            raise self._wrong(f"page {number} does not hold the value it should")
        for each in range(number + 1, number + pages):
            self._take(each)
        return self._read(number * self._size + _HEADER_SIZE, size)

    def _walk_free(self, value: bytes) -> None:
        """A list of free pages: their number, then the largest first."""
        if len(value) < _PGNO.size or len(value) % _PGNO.size:
            raise self._wrong("a list of free pages is laid out wrongly")
        count, *numbers = struct.unpack(f"<{len(value) // _PGNO.size}Q", value)
        if count > len(numbers):
            raise self._wrong("a list of free pages is longer than it is")
        last = self._last + 1
        for number in numbers[:count]:
            if number >= last:
                raise self._wrong("a list of free pages is out of order")
            self._take(number)
            last = number


def _db(raw: bytes) -> Db:
    return Db(*_DB.unpack(raw)[1:])
