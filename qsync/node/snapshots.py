"""Writes snapshots: all that is confirmed is folded and flushed, then written to a file."""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Final

from qsync.core.replicated_log import ReplicatedLog
from qsync.core.trimming import start_at
from qsync.errors import QsyncError, SnapshotLost, StoreError
from qsync.node.checkpoints import Checkpoints
from qsync.node.connection import Connection
from qsync.node.effects import Effects
from qsync.node.log_export import Send
from qsync.node.timeline import Timeline
from qsync.store.contract import Spaces
from qsync.store.snapfolder import SnapshotFolder
from qsync.wire import replies

ATTEMPTS: Final = 5
"""The file of the rows doubles at most that often while it is read."""


class SnapshotWriter:
    """Writes snapshots in one task. Requests that come during a write get the next file."""

    def __init__(
        self,
        replicated_log: ReplicatedLog,
        spaces: Spaces,
        folder: SnapshotFolder | None,
        *,
        keep: Callable[[], int],
        send: Send,
        flush: Callable[[], None],
        timeline: Timeline,
        effects: Effects,
    ) -> None:
        """`folder`: None where nothing is written beside the log. `keep`: how many files stay."""
        self.checkpoints = Checkpoints(folder, timeline=timeline)
        self.error: str | None = None
        """Why the last one could not be written."""
        self._keep = keep
        self._replicated_log = replicated_log
        self._spaces = spaces
        self._folder = folder
        self._send = send
        self._flush = flush
        self._timeline = timeline
        self._effects = effects
        self._waiting: list[tuple[Connection, int] | None] = []
        """Who is to be answered, if anybody, by the file that is written now and by the next."""
        self._wake = effects.event()

    @property
    def busy(self) -> bool:
        """Whether a file is being written, or about to be."""
        return bool(self._waiting)

    def request(self) -> None:
        """Begin a file for which no request waits."""
        self._waiting.append(None)
        self._wake.set()

    def ask(self, connection: Connection, number: int) -> None:
        """Answer with the index of a snapshot of what is folded now, when its file is there."""
        self._waiting.append((connection, number))
        self._wake.set()

    def look(self) -> None:
        """See which files are there: a snapshot of the leader may have come beside its own.

        Those from before go as when this node writes one, which it may never do.
        """
        self.checkpoints.look()
        newest = self.checkpoints.newest
        if self._folder is None or self.busy or newest is None:
            return
        keep = self._keep()
        try:
            files = self._folder.files()
            if len(files) <= keep or files[-1].index != newest.index:
                return  # nothing is too many, or the newest is none that can be read
            self._folder.remove_old(keep=keep)
        except StoreError as error:
            self._timeline.append("snapshot_kept", {"why": error.message})
        self.checkpoints.look()

    async def run(self) -> None:
        """Write one file after another until cancelled."""
        while True:
            if not self.busy:
                self._wake = self._effects.event()
                await self._wake.wait()
            count = len(self._waiting)
            try:
                index = await self._write()
            except QsyncError as error:
                self.error = error.message
                self._timeline.append("snapshot_failed", {"why": error.message})
                self._answer(count, partial(_failed, error))
            else:
                self.error = None
                self._answer(count, partial(_written, index))
            self.checkpoints.look()
            self._flush()

    def _answer(self, count: int, answer: Callable[[int], bytes]) -> None:
        """Answer those who asked before the file was begun."""
        for each in self._waiting[:count]:
            if each is not None:
                connection, number = each
                self._send(connection, answer(number))
        del self._waiting[:count]

    async def _write(self) -> int:
        """Write a file; return the index of the newest one. Raises StoreError."""
        folder = self._folder
        if folder is None:
            return int(self._spaces.folded)
        for left in reversed(range(ATTEMPTS)):
            try:
                return await self._write_to(folder)
            except SnapshotLost:
                if not left:
                    raise
        raise AssertionError(ATTEMPTS)

    async def _write_to(self, folder: SnapshotFolder) -> int:
        view = self._spaces.view()
        try:
            # What is folded is confirmed, and so in no rolled-back stretch (membership.md M6 f).
            start = start_at(self._replicated_log, view.folded)
            there = folder.files()
            if start.can_begin and (not there or there[-1].index < start.index):
                with closing(folder.writing(view, start)) as steps:
                    for wait in steps:
                        await self._effects.in_thread(wait)
                folder.remove_old(keep=self._keep())
                self._timeline.append("snapshot", {"index": int(start.index)})
            return int(start.index)
        finally:
            view.close()


def _failed(error: QsyncError, number: int) -> bytes:
    return replies.failed(number, error)


def _written(index: int, number: int) -> bytes:
    return replies.reply(number, index)
