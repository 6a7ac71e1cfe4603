"""The next segment, filled with zeros beside the writing, before it is needed."""

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
        """What is under way comes to its end soon, or is given up."""


class SpareInPlace:
    """Made when it is needed: where threads are in the way."""

    def prepare(self, folder: Path, size: int) -> None:
        """Nothing yet."""

    def take_spare(self, folder: Path, size: int) -> None:
        """Now."""
        _make(folder, size, pause=lambda: None)

    def close(self) -> None:
        """Nothing is under way."""


class SpareInThread:
    """In a thread of its own that lives as long as it fills one file."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._hurry = threading.Event()
        self._ended = threading.Event()

    def prepare(self, folder: Path, size: int) -> None:
        """Begin, and pause often. What fails is done again, and told, when the file is needed."""
        if self._thread is not None or (folder / SPARE).exists():
            return
        self._hurry.clear()
        self._ended.clear()
        self._thread = threading.Thread(
            target=self._fill, args=(folder, size), name="log spare", daemon=True
        )
        self._thread.start()

    def take_spare(self, folder: Path, size: int) -> None:
        """Let the thread come to its end without pauses."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._hurry.set()
            thread.join()
        _make(folder, size, pause=lambda: None)

    def close(self) -> None:
        """Half a spare is none: the next one who needs it begins again."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._ended.set()
            self._hurry.set()
            thread.join(CLOSE_S_MAX)  # a disk that hangs does not keep the process

    def _fill(self, folder: Path, size: int) -> None:
        try:
            _make(folder, size, pause=self._pause)
        except (StoreError, _GivenUp):
            return  # `take_spare` tries again, and tells

    def _pause(self) -> None:
        if self._ended.is_set():
            raise _GivenUp
        self._hurry.wait(_PAUSE_S)


class _GivenUp(Exception):
    """Nobody needs it any more."""


def _make(folder: Path, size: int, *, pause: Callable[[], None]) -> None:
    """Make a spare of at least this size unless there is one."""
    spare = folder / SPARE
    try:
        if not spare.exists() or spare.stat().st_size < size:
            make_spare(folder, size, pause=pause)
    except OSError as error:
        raise faults.typed(error, folder) from error
