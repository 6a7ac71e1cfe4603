"""What happened inside of a node, as frames in files: one for each life of its process.

A frame is its length, the CRC of what follows, and records (`eventpack`). A process that is
killed leaves all that it wrote; a frame that it did not finish is passed over. A file that could
not take everything is called `.failed` for as long as that is so, and ends where it says so itself:
a reader must know that there was more.
"""

import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from qsync.checksum import crc32
from qsync.store import eventpack
from qsync.store.eventpack import Record, What

FOLDER: Final = "events"
"""In the directory of a node."""
FORMAT: Final = 3
READABLE: Final = frozenset({1, 2, 3})
"""Formats that are read: 1 had every frame in CBOR, 2 ended where a log lost its beginning."""
PENDING_BYTES_MAX: Final = 16 << 20
"""So much waits in memory for a disk that takes nothing; then the recording is over."""
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_KEPT, _FAILED, _WIPED, _UNSAID = ".events", ".failed", ".wiped", ".unsaid"
_HEAD = struct.Struct("<II")
_END_BYTES: Final = 256
"""Kept free for the last frame, which says why it is the last."""


class EventFile:
    """The file of one life, to be appended to. `stopped` says why it takes no more, if so."""

    def __init__(self, directory: Path, *, bytes_max: int) -> None:
        """Begin the next one in the directory of a node. Raises OSError."""
        folder = directory / FOLDER
        folder.mkdir(exist_ok=True)
        found = _numbered(folder)
        self.number = 1 + max(found, default=0)
        self.path = folder / f"{self.number:06d}{_KEPT}"
        self.stopped = ""
        self._left = bytes_max - sum(path.stat().st_size for path in found.values())
        self._bytes_max = bytes_max
        self._pending = bytearray()
        self._fd = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o644)

    def write(self, records: Sequence[Record]) -> None:
        """Append a frame, in one call. The error of a disk that takes nothing names the file."""
        if self.stopped:
            return
        frame = _frame(records)
        if len(frame) > self._left - _END_BYTES:
            time = records[-1][1]
            assert isinstance(time, int)
            self.end(time, f"node.events_bytes_max ({self._bytes_max}) is reached")
            return
        self._left -= len(frame)
        self._append(frame)

    def end(self, time: int, why: str) -> None:
        """Say why it takes no more from that time on."""
        self._append(_frame([[What.STOPPED, time, why]]))
        self.stopped = why

    def close(self) -> None:
        """No more of this life."""
        os.close(self._fd)

    def _append(self, frame: bytes) -> None:
        pending = self._pending
        waited = bool(pending)
        try:
            if not waited:
                frame = frame[os.write(self._fd, frame) :]
                if not frame:
                    return
            pending += frame
            while pending:
                del pending[: os.write(self._fd, pending)]
            if waited:
                self.path = self.path.replace(self.path.with_suffix(_KEPT))
        except OSError as error:
            pending += b"" if pending else frame
            if not waited:
                self._failing(error)
            elif len(pending) > PENDING_BYTES_MAX:
                self.stopped = f"{PENDING_BYTES_MAX} bytes could not be written: {error}"
                pending.clear()

    def _failing(self, error: OSError) -> None:
        """Before anything else happens: a new name needs no room."""
        try:
            self.path = self.path.replace(self.path.with_suffix(_FAILED))
        except OSError as another:
            self.stopped = f"it could not be written: {error}; nor renamed: {another}"


def clock() -> str:
    """Return a text that identifies this machine's monotonic clock since it was booted."""
    try:
        return _BOOT.read_text("ascii").strip()
    except OSError:
        return os.uname().nodename


def note_wiped(directory: Path) -> None:
    """Everything else of a node's directory is gone: the next life begins with an empty one."""
    _mark(directory, _WIPED)


def note_unsaid(directory: Path) -> None:
    """A life begins of which nothing is written down: what was before is no evidence any more."""
    _mark(directory, _UNSAID)


def _mark(directory: Path, suffix: str) -> None:
    folder = directory / FOLDER
    if folder.is_dir():
        found = _numbered(folder)
        last = max(found, default=0)
        if suffix != _UNSAID or (last and found[last].suffix != _UNSAID):
            (folder / f"{1 + last:06d}{suffix}").touch()


@dataclass(slots=True)
class Life:
    """The file of one life, as it is read. `generation`: of the directory, from 1."""

    path: Path
    number: int
    generation: int

    def records(self) -> Iterator[list[object]]:
        """Return whole frames one after the other; STOPPED at last where more followed."""
        last = 0
        for record in self._read():
            last = int(str(record[1]))
            yield record
            if record[0] == What.STOPPED:
                return
        if self.path.suffix == _FAILED:
            yield [int(What.STOPPED), last, "the disk took no more"]

    def _read(self) -> Iterator[list[object]]:
        last, place = 0, 0
        with self.path.open("rb") as file:
            while len(head := file.read(_HEAD.size)) == _HEAD.size:
                size, crc = _HEAD.unpack(head)
                payload = file.read(size)
                if len(payload) < size:
                    return  # torn: its process was killed
                if crc32(payload) != crc:
                    yield [int(What.STOPPED), last, f"{self.path.name} is damaged at byte {place}"]
                    return
                for record in eventpack.unpack(payload):
                    last = int(str(record[1]))
                    yield record
                place += _HEAD.size + size


def lives(directory: Path) -> list[Life]:
    """Return all recorded lives of a node in order, after the last one without a record."""
    found: list[Life] = []
    generation = 1
    for number, path in sorted(_numbered(directory / FOLDER).items()):
        if path.suffix == _WIPED:
            generation += 1
        elif path.suffix == _UNSAID:
            found.clear()
        else:
            found.append(Life(path, number, generation))
    return found


def _numbered(folder: Path) -> dict[int, Path]:
    ours = {_KEPT, _FAILED, _WIPED, _UNSAID}
    there = folder.iterdir() if folder.is_dir() else ()
    return {int(each.stem): each for each in there if each.suffix in ours and each.stem.isdecimal()}


def _frame(records: Sequence[Record]) -> bytes:
    payload = b"".join(map(eventpack.pack, records))
    return _HEAD.pack(len(payload), crc32(payload)) + payload
