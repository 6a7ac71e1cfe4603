"""Runs the log's writes where they disturb least: in place on a fast disk, else in a thread."""

import statistics
import time
from collections import deque
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import NoReturn

from qsync.core.ready import Write
from qsync.errors import StoreError
from qsync.histogram import Histogram
from qsync.store.beside import BackgroundWork, Thread
from qsync.store.contract import Log

Done = Callable[[StoreError | None], None]
"""Told when a write is durable (None) or failed, on the caller's loop."""
CallSoon = Callable[[Callable[[], None]], object]
"""Runs a call on the caller's loop, from any thread: `TrioToken.run_sync_soon`."""

INLINE_S_MAX = 0.004
"""A disk that flushes faster than this is written to in place. A hand-over to a thread costs about
a third of the throughput even where a flush takes a millisecond (docs/performance.md)."""
THREAD_S_MIN = 0.002
"""Back in place only when the disk is clearly fast again, so that the choice does not swing."""
STALL_S = 0.05
"""One write as slow as this moves to the thread at once."""
SAMPLES = 32


class WriterMode(StrEnum):
    """Where writes run. `AUTO` starts with a probe of the disk, then goes by its times."""

    AUTO = "auto"
    INLINE = "inline"
    THREAD = "thread"


def choose(probe_s: float) -> WriterMode:
    """Return where to write on a disk that takes `probe_s` to make a page durable."""
    return WriterMode.INLINE if probe_s < INLINE_S_MAX else WriterMode.THREAD


class Choice:
    """Chooses again when the disk changes its manners."""

    def __init__(self, mode: WriterMode, *, probe_s: float = 0.0) -> None:
        """`probe_s` counts only for `Mode.AUTO`."""
        self.mode = choose(probe_s) if mode is WriterMode.AUTO else mode
        self.fixed = mode is not WriterMode.AUTO
        self._times: deque[float] = deque(maxlen=SAMPLES)
        self._writes_to_look = SAMPLES

    def took(self, seconds: float) -> WriterMode:
        """A write took that long; where the next one is to run."""
        self._times.append(seconds)
        if not self.fixed:
            wanted = self._wanted(seconds)
            if wanted is not self.mode:
                self.mode = wanted
                self._times.clear()
                self._writes_to_look = SAMPLES
        return self.mode

    def _wanted(self, seconds: float) -> WriterMode:
        if self.mode is WriterMode.INLINE and seconds >= STALL_S:
            return WriterMode.THREAD
        # The median costs more than the rest of a small write: once for all that it is made of.
        self._writes_to_look -= 1
        if self._writes_to_look > 0:
            return self.mode
        self._writes_to_look = SAMPLES
        median = self.median_s
        if self.mode is WriterMode.INLINE:
            return WriterMode.INLINE if median < INLINE_S_MAX else WriterMode.THREAD
        return WriterMode.INLINE if median < THREAD_S_MIN else WriterMode.THREAD

    @property
    def median_s(self) -> float:
        """The median of the recent writes in this mode, in seconds."""
        return statistics.median(self._times) if self._times else 0.0

    @property
    def slowest_s(self) -> float:
        """The longest of the recent writes."""
        return max(self._times, default=0.0)


class LogWriter:
    """One write at a time. `busy_since` is the monotonic time at which the present one began."""

    def __init__(
        self,
        log: Log,
        *,
        choice: Choice,
        call_soon: CallSoon,
        beside: BackgroundWork | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`call_soon` brings the answer of what is done `beside` home: in a thread, if not said."""
        self.choice = choice
        self.times = Histogram()
        self.busy_since: float | None = None
        self._log = log
        self._call_soon = call_soon
        self._beside: BackgroundWork = Thread() if beside is None else beside
        self._clock = clock
        self.took: Callable[[float], None] | None = None
        """Told of each write how many seconds it took."""
        self._closed = False

    @property
    def mode(self) -> WriterMode:
        """Where the next write will run."""
        return self.choice.mode

    @property
    def busy_s(self) -> float:
        """How long the present write has taken so far, in seconds; 0 without one."""
        return 0.0 if self.busy_since is None else self._clock() - self.busy_since

    def submit(self, write: Write, done: Done) -> None:
        """Make `write` durable and tell `done`. The next one only after that.

        In place, `done` is called before `submit` returns. A log that begins at a snapshot is
        rewritten, which takes longer than others can wait.
        """
        assert not self._closed
        assert self.busy_since is None
        self.busy_since = self._clock()
        if self.choice.mode is WriterMode.INLINE and write.begins is None:
            self._finish(done, *self._run(write))
        else:
            self._beside.put(partial(self._work, write, done))

    def close(self) -> bool:
        """Let the write that runs end; false if it hangs, and then the log is still in use.

        Its end is not reported any more: the caller would want to write again.
        """
        self._closed = True
        return self._beside.end()

    def _run(self, write: Write) -> tuple[StoreError | None, float]:
        """Write, and say what went wrong and how long it took."""
        begun = self._clock()
        try:
            if write.begins is not None and write.begins != self._log.start:
                self._log.begin_at(write.begins)
            self._log.write(write)
        except StoreError as error:
            return error, self._clock() - begun
        return None, self._clock() - begun

    def _finish(self, done: Done, error: StoreError | None, seconds: float) -> None:
        """On the caller's loop: choose again, and report it."""
        if self._closed:
            return
        self.busy_since = None
        self.times.add(seconds)
        if self.took is not None:
            self.took(seconds)
        if self.choice.took(seconds) is WriterMode.INLINE:
            self._beside.end()
        done(error)

    def _work(self, write: Write, done: Done) -> bool:
        """In the thread: one put and one commit for each batch, never row by row."""
        try:
            error, seconds = self._run(write)
        except BaseException as mistake:  # noqa: BLE001 - ours; it must fall on the loop
            self._call_soon(partial(_fall, mistake))
            return False
        self._call_soon(partial(self._finish, done, error, seconds))
        return True


def _fall(mistake: BaseException) -> NoReturn:
    """Raise on the caller's loop what was a mistake of ours in the thread."""
    raise mistake
