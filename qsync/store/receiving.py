"""A snapshot that comes chunk by chunk: into the rows that are to be, and into a file of DIR/snap.

The file is there so that the rows can be rebuilt once the log begins behind them: what is folded
into them later is not flushed, and a power cut takes all of it (see `mark`). A chunk is on the disk
in the file before it is in the rows, so the file always has all that the rows have.
"""

import contextlib
import os
from pathlib import Path
from typing import BinaryIO, Final

from election.messages import Index
from qsync.errors import Damaged
from qsync.store import faults
from qsync.store.contract import Spaces
from qsync.store.environment import sync_directory
from qsync.store.snapfiles import LENGTH_SIZE, frame_ends, snapshot_path, write_frame
from qsync.store.snapshot import SnapshotHead, SnapshotName, decode_head, name_of

INCOMING: Final = ".incoming"
"""Of a file that is not whole yet."""


class ReceivedSnapshot:
    """A snapshot as it arrives. Any thread, one call at a time; a stop loses no whole chunk."""

    def __init__(self, spaces: Spaces, folder: Path | None, head: SnapshotHead) -> None:
        """Go on with what is there of this very snapshot. `folder`: None where no file is wanted.

        Raises Damaged, StoreError.
        """
        self.head = head
        self.start = head.start
        """Where a log goes on behind it, with what is known of older entries in this life."""
        self.text = head.encode()
        self.rows = spaces.importing(head)
        self.chunks_taken = self.rows.taken
        """So many are here, durably; also when all are, where they came in this life."""
        self.bytes_taken = 0
        """Their size."""
        self._file: _IncomingFile | None = None
        try:
            if folder is not None:
                self._file = _IncomingFile(folder, head.start.index, self.text)
                if self._file.goes_on(self.rows.taken, whole=self.rows.finished):
                    self.bytes_taken = self._file.kept
                else:
                    self._begin_anew()
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> SnapshotName:
        """Which one it is."""
        return name_of(self.text)

    @property
    def taken(self) -> int:
        """The number of chunks that are here, durably; None where all are."""
        return self.rows.taken

    @property
    def is_whole(self) -> bool:
        """Whether all of it is here."""
        return self.rows.finished

    def take_chunk(self, chunk: bytes) -> None:
        """The next chunk. Raises Damaged, StoreError, and then it was not taken."""
        file = self._file
        at = 0 if file is None else file.append(chunk)
        try:
            self.rows.take_chunk(chunk)
        except BaseException:
            if file is not None:
                file.cut(at)
            raise
        self.chunks_taken = self.rows.taken
        self.bytes_taken += len(chunk)

    def finish(self) -> None:
        """No chunk is left. Raises Damaged when the rows are not those of the head, StoreError.

        After an error again: it goes on.
        """
        if not self.rows.finished:
            self.rows.finish()
        if self._file is not None:
            self._file.put_in_place()

    def discard(self) -> None:
        """Forget all of it, for good. Raises StoreError."""
        self.rows.remove()
        self.close()
        if self._file is not None:
            self._file.remove()

    def close(self) -> None:
        """Release it; what was taken stays."""
        self.rows.close()
        if self._file is not None:
            self._file.close()

    def _begin_anew(self) -> None:
        assert self._file is not None
        self.rows.discard()
        self.chunks_taken = 0
        self._file.begin_with_head()


class _IncomingFile:
    """A snapshot file that is not whole yet, under another name until it is."""

    def __init__(self, folder: Path, index: Index, text: bytes) -> None:
        self._path = snapshot_path(folder, index)
        self._unready = self._path.with_suffix(INCOMING)
        self._text = text
        self._opened: BinaryIO | None = None
        self._end = 0
        """What is behind does not count: a part of a chunk that was not taken."""
        self.kept = 0
        """Bytes of the chunks that were there when it was opened."""

    def goes_on(self, taken: int, *, whole: bool) -> bool:
        """Continue after that many chunks; false if it does not have them.

        `whole`: all of them were taken. It had them all before the last one was.
        """
        try:
            if whole and not self._unready.exists():
                return self._path.exists()
            file = self._opened = self._unready.open("r+b")
            ends = list(frame_ends(file))
            file.seek(LENGTH_SIZE)
            if len(ends) <= taken or file.read(len(self._text)) != self._text:
                return False
            if whole:
                self.put_in_place()
            else:
                self.cut(ends[taken])
                self.kept = ends[taken] - ends[0] - taken * LENGTH_SIZE
        except FileNotFoundError:
            return False
        except OSError as error:
            raise faults.typed(error, self._path) from error
        return True

    def begin_with_head(self) -> None:
        """Begin with nothing but the head. Raises StoreError."""
        self.close()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._opened, self._end = self._unready.open("w+b"), 0
            self.append(self._text)
            sync_directory(self._path.parent)
        except OSError as error:
            raise faults.typed(error, self._path) from error

    def append(self, frame: bytes) -> int:
        """On the disk when this returns; where it begins. Raises StoreError: then it is not."""
        at = self._end
        try:
            file = self._at_end()
            write_frame(file, frame)
            _flush(file)
            self._end = file.tell()
        except OSError as error:
            self.cut(at)
            raise faults.typed(error, self._path) from error
        return at

    def cut(self, at: int) -> None:
        """Forget what follows. Raises StoreError; then the next call that writes does it."""
        # What a failed write has left to be written must not come later.
        self.close()
        self._end = at
        try:
            self._at_end()
        except OSError as error:
            raise faults.typed(error, self._path) from error

    def put_in_place(self) -> None:
        """Put a whole snapshot in place. Raises StoreError; again, it goes on; Damaged if gone."""
        try:
            if self._unready.exists():
                _flush(self._at_end())
                self.close()
                self._unready.rename(self._path)
            elif not self._path.exists():
                raise Damaged(f"{self._unready} was removed while it was written")
            sync_directory(self._path.parent)
        except OSError as error:
            raise faults.typed(error, self._path) from error

    def remove(self) -> None:
        """Raises StoreError."""
        try:
            self._unready.unlink(missing_ok=True)
        except OSError as error:
            raise faults.typed(error, self._path) from error

    def close(self) -> None:
        """Release it."""
        file, self._opened = self._opened, None
        if file is not None:
            with contextlib.suppress(OSError):  # what a failed write has left is cut off later
                file.close()

    def _at_end(self) -> BinaryIO:
        """The file, open at the end of what counts. Raises OSError."""
        if self._opened is None:
            file = self._unready.open("r+b")
            try:
                file.truncate(self._end)
                file.seek(self._end)
            except OSError:
                file.close()
                raise
            self._opened = file
        return self._opened


def newest_incoming(folder: Path) -> SnapshotHead | None:
    """Return the newest snapshot of which some came; None without any. Raises StoreError."""
    try:
        for path in sorted(folder.glob(f"*{INCOMING}"), reverse=True):
            with path.open("rb") as file:
                end = next(frame_ends(file), 0)
                file.seek(LENGTH_SIZE)
                text = file.read(max(0, end - LENGTH_SIZE))
            with contextlib.suppress(Damaged):
                return decode_head(text)
    except OSError as error:
        raise faults.typed(error, folder) from error
    return None


def remove_incoming(folder: Path, *, keep: Index) -> None:
    """At a start, remove what came of snapshots that are not wanted any more. Raises StoreError."""
    try:
        for each in folder.glob(f"*{INCOMING}"):
            if each.stem != snapshot_path(folder, keep).stem:
                each.unlink()
    except OSError as error:
        raise faults.typed(error, folder) from error


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
