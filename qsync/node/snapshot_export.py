"""Snapshot files for backups: sent a piece at a time, read beside other work."""

import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from qsync.error_details import RETRY_AFTER
from qsync.errors import Overloaded, QsyncError, SnapshotLost
from qsync.node.connection import Connection
from qsync.node.effects import Effects
from qsync.node.log_export import Send
from qsync.status.storage import SnapshotReaderStatus
from qsync.store import faults
from qsync.store.beside import SlowCall
from qsync.store.snapfiles import snapshot_files
from qsync.wire import replies, verbs

FEATURE: Final = "snapshot-1"
"""In the greeting of a node that answers SNAPSHOT_READ in this form."""
PIECE_BYTES_MAX: Final = 512 << 10
"""Size of one answer: a larger one would delay all other work."""
READERS_MAX: Final = 8
"""How many connections may read snapshots of one node at a time."""


@dataclass(slots=True, eq=False)
class _OpenSnapshot:
    """An open snapshot file. It can be read even after its name is removed. `read`: up to where."""

    snapshot: int
    size: int
    file: BinaryIO
    read: int = 0


class SnapshotExports:
    """Reads pieces of snapshot files in a thread, one after another.

    A connection that has begun with a file has it as long as it stays: newer snapshots remove its
    name, and a slow reader would otherwise never come to the end of any.
    """

    def __init__(
        self, folder: Path | None, *, send: Send, flush: Callable[[], None], effects: Effects
    ) -> None:
        """`folder`: None where nothing is written beside the log."""
        self._folder = folder
        self._send = send
        self._flush = flush
        self._effects = effects
        self._asked: deque[tuple[Connection, verbs.SnapshotReadRequest]] = deque()
        self._open: dict[Connection, _OpenSnapshot] = {}
        self._wake = effects.event()

    def __len__(self) -> int:
        return len(self._open)

    def ask(self, connection: Connection, request: verbs.SnapshotReadRequest) -> None:
        """Take a request. Raises Overloaded."""
        self.close_unused()
        readers = {*self._open, *(each for each, _ in self._asked)}
        if connection not in readers and len(readers) >= READERS_MAX:
            raise Overloaded(
                f"{READERS_MAX} others read snapshots of this node already",
                details={RETRY_AFTER: 1.0},
            )
        self._asked.append((connection, request))
        self._wake.set()

    @property
    def readers(self) -> list[SnapshotReaderStatus]:
        """Who reads what, and how far that is."""
        return [
            SnapshotReaderStatus(
                signature=each.snapshot,
                address=connection.turn.address,
                bytes=each.read,
                bytes_in_all=each.size,
            )
            for connection, each in self._open.items()
            if not connection.closed
        ]

    def close_unused(self) -> None:
        """Close the files of connections that have ended."""
        for connection in [each for each in self._open if each.closed]:
            self._open.pop(connection).file.close()

    async def run(self) -> None:
        """Read pieces until cancelled."""
        try:
            while True:
                if not self._asked:
                    self._wake = self._effects.event()
                    await self._wake.wait()
                connection, request = self._asked.popleft()
                if not connection.closed:
                    await self._answer(connection, request)
        finally:
            for each in self._open.values():
                each.file.close()

    async def _answer(self, connection: Connection, request: verbs.SnapshotReadRequest) -> None:
        found: list[bytes] = []
        try:
            there = self._opened(connection, request.snapshot)
            count = min(max(1, request.bytes_max), PIECE_BYTES_MAX)
            # Behind the end there is nothing; the system knows no offset of 64 bits.
            offset = min(request.offset, there.size)
            reading = SlowCall(lambda: found.append(os.pread(there.file.fileno(), count, offset)))
            await self._effects.in_thread(reading.wait)
            reading.result()
            there.read = min(there.size, offset + len(found[0]))
        except QsyncError as error:
            self._send(connection, replies.failed(request.id, error))
        except OSError as error:
            typed = faults.unreadable(error, self._folder or Path())
            self._send(connection, replies.failed(request.id, typed))
        else:
            self._send(connection, replies.reply(request.id, there.snapshot, there.size, found[0]))
        self._flush()

    def _opened(self, connection: Connection, snapshot: int) -> _OpenSnapshot:
        """Return the file of that index. Raises SnapshotLost, OSError, StoreError."""
        there = self._open.get(connection)
        if there is not None and there.snapshot == snapshot:
            return there
        known = [] if self._folder is None else snapshot_files(self._folder)
        path = next((each.path for each in known if each.index == snapshot), None)
        if path is None:
            raise SnapshotLost(
                f"there is no snapshot at index {snapshot} here (any more)",
                hint="ask for a new one, and begin again with it",
            )
        file = path.open("rb")
        if there is not None:
            there.file.close()
        there = _OpenSnapshot(snapshot, os.fstat(file.fileno()).st_size, file)
        self._open[connection] = there
        return there
