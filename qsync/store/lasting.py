"""A read view of an LMDB environment that lasts beside writes."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import lmdb

from qsync.errors import SnapshotLost
from qsync.store import faults

if TYPE_CHECKING:
    from lmdb import Transaction

T = TypeVar("T")


class LastingView:
    """A read view for any thread, one call at a time. It ends when the map has to move.

    Pages that it sees are not used again meanwhile, so the file grows the longer it lasts.
    """

    def __init__(self, txn: "Transaction[bytes]", path: Path) -> None:
        self._txn: Transaction[bytes] | None = txn
        self._path = path
        self._reading = threading.Lock()

    def read(self, ask: Callable[["Transaction[bytes]"], T]) -> T:
        """Run `ask` on it; it returns copies. Raises SnapshotLost when the view has ended."""
        with self._reading:
            if self._txn is None:
                raise SnapshotLost(f"{self._path} had to grow while it was read")
            try:
                return ask(self._txn)
            except lmdb.Error as error:
                raise faults.typed(error, self._path) from error

    def close(self) -> None:
        """Let the pages be used again."""
        with self._reading:
            if self._txn is not None:
                self._txn.abort()
                self._txn = None
