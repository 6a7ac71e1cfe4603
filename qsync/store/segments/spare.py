"""The next segment, filled with zeros beside the writing, before it is needed."""

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from qsync.errors import StoreError
from qsync.store import faults
from qsync.store.beside import CLOSE_S_MAX
from qsync.store.segments.files import SPARE, make_spare

_PAUSE_S: Final = 0.002
"""After each piece that was flushed: the disk is there for commits first."""


class SpareMaker(Protocol):
    """Makes a spare segment ready."""

    def prepare(self, folder: Path, size: int) -> None:
        """Begin to make one of this size, if none is there or under way."""

    def take_spare(self, folder: Path, size: int) -> None:
        """Wait for it, or make one of `size` now. Raises StoreError."""

    def close(self) -> None:
        """End what is under way soon, or give it up."""


class SpareInPlace:
    """Made when it is needed: where threads are in the way."""

    def prepare(self, folder: Path, size: int) -> None:
        """Do nothing yet."""

    def take_spare(self, folder: Path, size: int) -> None:
        """Now."""
        _make(folder, size, pause=lambda: None)

    def close(self) -> None:
        """Do nothing: nothing is under way."""


class SpareInThread:
    """In a thread of its own that lives as long as it fills one file."""

    def __init__(self) -> None:
        self._filling: _Filling | None = None

    def prepare(self, folder: Path, size: int) -> None:
        """Begin, and pause often. A failure is repeated, and reported, when the file is needed.

        So it does not fail: the record that was written before must not count as lost for it.
        """
        if self._filling is None:
            with contextlib.suppress(OSError, RuntimeError):  # no thread is left
                if not (folder / SPARE).exists():
                    self._filling = _Filling(folder, size)

    def take_spare(self, folder: Path, size: int) -> None:
        """Let the thread come to its end without pauses."""
        filling, self._filling = self._filling, None
        if filling is not None:
            filling.hurry.set()
            filling.thread.join()
        _make(folder, size, pause=lambda: None)

    def close(self) -> None:
        """An unfinished spare is not used: the next caller starts again."""
        filling, self._filling = self._filling, None
        if filling is not None:
            filling.given_up.set()
            filling.hurry.set()
            filling.thread.join(CLOSE_S_MAX)  # a disk that hangs does not keep the process


class _Filling:
    """One file, and the thread that fills it.

    Each has events of its own: one that was given up while its disk hung must find that out when
    the disk answers, whatever was begun since. Its file may be a segment by then.
    """

    def __init__(self, folder: Path, size: int) -> None:
        """Begin. Raises RuntimeError when there is no thread for it."""
        self.hurry, self.given_up = threading.Event(), threading.Event()
        self._place = (folder, size)
        self.thread = threading.Thread(target=self._fill, name="log spare", daemon=True)
        self.thread.start()

    def _fill(self) -> None:
        folder, size = self._place
        try:
            _make(folder, size, pause=self._pause)
        except (StoreError, _GivenUp):
            return  # `take_spare` tries again, and tells

    def _pause(self) -> None:
        if self.given_up.is_set():
            raise _GivenUp
        self.hurry.wait(_PAUSE_S)


class _GivenUp(Exception):
    """The file is not needed any more."""


def _make(folder: Path, size: int, *, pause: Callable[[], None]) -> None:
    """Make a spare of at least this size unless there is one."""
    spare = folder / SPARE
    try:
        if not spare.exists() or spare.stat().st_size < size:
            make_spare(folder, size, pause=pause)
    except OSError as error:
        raise faults.typed(error, folder) from error
