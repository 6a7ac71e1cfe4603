"""Decides whether rows on the disk can be trusted: by a mark beside them, and every page."""

import shutil
import threading
from pathlib import Path
from typing import Final

from qsync.checksum import crc32
from qsync.errors import Damaged
from qsync.store import faults, seals
from qsync.store.environment import FILE, sync_directory, write_whole
from qsync.store.head import HEAD_KEY, META, ROWS, SUM_KEY, Head
from qsync.store.pages import Pages
from qsync.store.seals import SealChanges, Sums

CLEAN, DIRTY, DAMAGED = "clean", "dirty", "damaged"
MARK: Final = "mark"
_CHUNK: Final = 1 << 20


def boot_id() -> str:
    """Names this run of the operating system; empty where it is not known."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


class Marking:
    """The mark of an open store. It is on the disk before anything is that is not flushed."""

    def __init__(self, file: Path, boot: str, *, seals: bool = True) -> None:
        """`seals`: the rows were verified at the opening, so the mark may seal them at the end."""
        self._file = file
        self._boot = boot
        self._lock = threading.Lock()
        found = read(file) or ""
        self._is_sealed = found != CLEAN and _is_clean(found)
        self._clean = _is_clean(found)
        self._is_trusted = True
        self._seals = seals
        self._changing = False
        self.changes = 0
        """Completed changes; a flush remembers the number and passes it to `flushed`."""

    @property
    def must_change(self) -> bool:
        """Whether the beginning of a change takes a flush."""
        return self._clean

    def begin_change(self) -> None:
        """A change begins."""
        with self._lock:
            if self._clean:
                write(self._file, self._boot or DIRTY)
                self._clean = self._is_sealed = False
            self._changing = True

    def end(self, *, done: bool) -> None:
        """The change is over; `done`: it is committed."""
        with self._lock:
            self.changes += done
            self._changing = False

    def flushed(self, changes: int) -> None:
        """Note that all changes up to that number are on the disk."""
        with self._lock:
            if self.changes == changes and not self._clean and not self._changing:
                # First: when writing fails the mark may say so all the same, and must be changed.
                self._clean = True
                write(self._file, CLEAN)

    def distrust(self) -> None:
        """Note that something in the file is not as it was written."""
        self._is_trusted = False

    def seal(self, file: Path) -> None:
        """`file` is closed: whatever becomes of it now is found at the next opening."""
        if not self._is_trusted:
            write(self._file, DAMAGED)
        elif self._seals and self._clean and not self._is_sealed:
            write(self._file, closed(file))


def is_trusted(path: Path, *, boot: str | None = None) -> bool:
    """There are rows in DIR/data, and no crash of the system may have mixed them up."""
    mark, here = read(path / MARK) or "", boot_id() if boot is None else boot
    return path.exists() and (_is_clean(mark) or (bool(mark) and mark == here))


def is_damaged(path: Path) -> bool:
    """Return whether rows in DIR/data were found damaged, and are to be built again."""
    return read(path / MARK) == DAMAGED


def discard_untrusted(path: Path, boot: str) -> str | None:
    """Remove rows that are not to be trusted; why, or None."""
    why = distrust(path, boot)
    if why is not None:
        remove(path)
    return why


def distrust(path: Path, boot: str) -> str | None:
    """Why the rows of DIR/data cannot be what was folded; None if they are, or there are none."""
    if not path.exists():
        return None
    if is_damaged(path):
        return "rows were found damaged before the node was stopped"
    if not is_trusted(path, boot=boot):
        return "the system ended with rows that were not flushed"
    file, mark = path / FILE, read(path / MARK) or ""
    try:
        if mark != CLEAN and _is_clean(mark):
            # Closed in order: whatever changed since was not us.
            return None if mark == closed(file) else f"{file} is not as it was closed"
        return _damage(file) if file.exists() else None
    except Damaged as error:
        return error.message
    except OSError as error:
        raise faults.typed(error, file) from error


def _damage(file: Path) -> str | None:
    """Return what is wrong with pages, rows or sums; all of them are checked."""
    pages = Pages(file)
    try:
        tables = pages.tables()
        if META not in tables or ROWS not in tables:
            return None if not tables else f"{file} lacks a table"
        kept = dict(row for rows in pages.rows(tables[META]) for row in rows)
        if HEAD_KEY not in kept and not tables[ROWS].entries:
            return None
        if Head.unpack(kept.get(HEAD_KEY, b"")) is None:
            return f"{file} was stored by another release, or its index is damaged"
        sums, found = Sums(), SealChanges()
        for rows in pages.rows(tables[ROWS]):
            if not found.verify(rows):
                return f"{file}: the checksum of a row does not hold"
        sums.add(found)
        if sums != stored_sums(kept):
            return f"{file} does not hold the rows that were folded"
    finally:
        pages.close()
    return None


def stored_sums(kept: dict[bytes, bytes]) -> Sums | None:
    """The sums among the numbers beside the rows; None when one does not verify."""
    size = len(SUM_KEY)
    found = {
        key[size:]: seals.unpack(key[size:], value)
        for key, value in kept.items()
        if key.startswith(SUM_KEY)
    }
    groups = [(group, each) for group, each in found.items() if each is not None]
    return Sums(groups) if len(groups) == len(found) else None


def closed(file: Path) -> str:
    """The mark of a file that is not written before the next opening."""
    size = crc = 0
    try:
        with file.open("rb") as data:
            while chunk := data.read(_CHUNK):
                size, crc = size + len(chunk), crc32(chunk, crc)
    except OSError as error:
        raise faults.typed(error, file) from error
    return f"{CLEAN} {size} {crc:08x}"


def remove(path: Path) -> None:
    """Remove all of DIR/data; the mark goes first, so that nothing of the rest is trusted."""
    try:
        (path / MARK).unlink(missing_ok=True)
        if path.exists():
            shutil.rmtree(path)
    except OSError as error:
        raise faults.typed(error, path) from error


def read(file: Path) -> str | None:
    """The mark; None without one."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise faults.typed(error, file) from error


def write(file: Path, mark: str) -> None:
    """Durable when it returns. At every moment there is a whole mark, the former or the new one."""
    try:
        write_whole(file, mark.encode())
        sync_directory(file.parent)
    except OSError as error:
        raise faults.typed(error, file.parent) from error


def _is_clean(mark: str) -> bool:
    """`clean`, or that with a size and a checksum."""
    word, *rest = mark.split(" ")
    return word == CLEAN and len(rest) in {0, 2}
