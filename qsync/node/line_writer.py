"""Lines of the log for a stream that may take none: a terminal that is stopped, a full pipe.

Nobody waits for it but a thread. A node that waited would neither answer nor send heartbeats.
"""

import logging
import os
import queue
import threading
from typing import Final

from typing_extensions import override

LINES_WAITING_MAX: Final = 1000
"""Lines that wait for the stream; later ones are left out, and counted in the next that is not."""
FLUSH_S_MAX: Final = 1.0
"""Seconds that the end of the process waits for them."""
LEFT_OUT: Final = "left_out"
"""The field with the number of lines that are missing before this one."""


class LineWriter(logging.Handler):
    """Writes each record as a line to a file descriptor."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._lines: queue.Queue[bytes] = queue.Queue(LINES_WAITING_MAX)
        self._thread: threading.Thread | None = None
        self._counting = threading.Lock()
        self._left_out = 0

    @override
    def emit(self, record: logging.LogRecord) -> None:
        told, left_out = getattr(record, "qsync", {}), self._left_out
        if left_out:
            record.qsync = {**told, LEFT_OUT: told.get(LEFT_OUT, 0) + left_out}
        line = self.format(record)
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, name="qsync-log", daemon=True)
            self._thread.start()
        try:
            self._lines.put_nowait(f"{line}\n".encode(errors="backslashreplace"))
        except queue.Full:
            self._count(1)
        else:
            self._count(-left_out)

    @override
    def flush(self) -> None:
        """Wait until the lines so far are written, for a second at most."""
        with self._lines.all_tasks_done:
            self._lines.all_tasks_done.wait_for(
                lambda: not self._lines.unfinished_tasks, FLUSH_S_MAX
            )

    def _write(self) -> None:
        while True:
            left = self._lines.get()
            try:
                # Not by `sys.stderr`: a thread that hangs in there keeps the process from its end.
                while left:
                    left = left[os.write(self._descriptor, left) :]
            except OSError:  # nobody reads any more, or the disk is full
                self._count(1)
            finally:
                self._lines.task_done()

    def _count(self, lines: int) -> None:
        with self._counting:
            self._left_out += lines
