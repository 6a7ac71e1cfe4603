"""Runs the log's writes where they disturb least: in place on a fast disk, else in a thread."""

import queue
import statistics
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import NoReturn

from qsync.core.ready import Write
from qsync.errors import StoreError
from qsync.histogram import Histogram
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
SWITCH_S = 0.0002
"""Interpreter switch interval beside a busy loop; at the default the thread would starve."""
SAMPLES = 32
CLOSE_S_MAX = 5.0
"""How long closing waits for a write on a disk that hangs."""


class Mode(StrEnum):
    """Where writes run. `AUTO` starts by a probe of the disk and follows its manners."""

    AUTO = "auto"
    INLINE = "inline"
    THREAD = "thread"


def choose(probe_s: float) -> Mode:
    """Where to write on a disk that takes `probe_s` to make a page durable."""
    return Mode.INLINE if probe_s < INLINE_S_MAX else Mode.THREAD


class Choice:
    """Chooses again when the disk changes its manners."""

    def __init__(self, mode: Mode, *, probe_s: float = 0.0) -> None:
        """`probe_s` counts only for `Mode.AUTO`."""
        self.mode = choose(probe_s) if mode is Mode.AUTO else mode
        self.fixed = mode is not Mode.AUTO
        self._times: deque[float] = deque(maxlen=SAMPLES)

    def took(self, seconds: float) -> Mode:
        """A write took that long; where the next one is to run."""
        self._times.append(seconds)
        if not self.fixed:
            wanted = self._wanted(seconds)
            if wanted is not self.mode:
                self.mode = wanted
                self._times.clear()
        return self.mode

    def _wanted(self, seconds: float) -> Mode:
        if self.mode is Mode.INLINE and seconds >= STALL_S:
            return Mode.THREAD
        if len(self._times) < SAMPLES:
            return self.mode
        median = self.median_s
        if self.mode is Mode.INLINE:
            return Mode.INLINE if median < INLINE_S_MAX else Mode.THREAD
        return Mode.INLINE if median < THREAD_S_MIN else Mode.THREAD

    @property
    def median_s(self) -> float:
        """Of the recent writes in this mode."""
        return statistics.median(self._times) if self._times else 0.0

    @property
    def slowest_s(self) -> float:
        """The longest of the recent writes."""
        return max(self._times, default=0.0)


class Writer:
    """One write at a time. `busy_since` is the monotonic time at which the present one began."""

    def __init__(self, log: Log, *, choice: Choice, call_soon: CallSoon) -> None:
        """`call_soon` brings a thread's answer home."""
        self.choice = choice
        self.times = Histogram()
        self.busy_since: float | None = None
        self._log = log
        self._call_soon = call_soon
        self._thread: threading.Thread | None = None
        self._work: queue.SimpleQueue[tuple[Write, Done] | None] = queue.SimpleQueue()
        self._switch_s = sys.getswitchinterval()
        self._closed = False

    @property
    def mode(self) -> Mode:
        """Where the next write will run."""
        return self.choice.mode

    @property
    def busy_s(self) -> float:
        """How long the present write has taken so far; 0 without one."""
        return 0.0 if self.busy_since is None else time.monotonic() - self.busy_since

    def submit(self, write: Write, done: Done) -> None:
        """Make `write` durable and tell `done`. The next one only after that.

        In place, `done` is called before `submit` returns.
        """
        assert not self._closed
        assert self.busy_since is None
        self.busy_since = time.monotonic()
        if self.choice.mode is Mode.INLINE:
            self._finish(done, *self._run(write))
        else:
            self._begin_thread()
            self._work.put((write, done))

    def close(self) -> bool:
        """Let the write that runs end; false if it hangs, and then the log is still in use.

        Nobody is told of its end any more: whoever was told would want to write again.
        """
        self._closed = True
        return self._end_thread()

    def _run(self, write: Write) -> tuple[StoreError | None, float]:
        """Write, and say what went wrong and how long it took."""
        begun = time.perf_counter()
        try:
            self._log.write(write)
        except StoreError as error:
            return error, time.perf_counter() - begun
        return None, time.perf_counter() - begun

    def _finish(self, done: Done, error: StoreError | None, seconds: float) -> None:
        """On the caller's loop: choose anew, and tell."""
        if self._closed:
            return
        self.busy_since = None
        self.times.add(seconds)
        if self.choice.took(seconds) is Mode.INLINE:
            self._end_thread()
        done(error)

    def _begin_thread(self) -> None:
        if self._thread is None:
            self._switch_s = sys.getswitchinterval()
            sys.setswitchinterval(min(SWITCH_S, self._switch_s))
            self._thread = threading.Thread(target=self._serve, name="log writer", daemon=True)
            self._thread.start()

    def _end_thread(self) -> bool:
        thread, self._thread = self._thread, None
        if thread is None:
            return True
        self._work.put(None)
        thread.join(CLOSE_S_MAX)
        sys.setswitchinterval(self._switch_s)
        return not thread.is_alive()

    def _serve(self) -> None:
        """The thread: one put and one commit for each batch, never row by row."""
        while (work := self._work.get()) is not None:
            write, done = work
            try:
                error, seconds = self._run(write)
            except BaseException as mistake:  # noqa: BLE001 - ours; it must fall on the loop
                self._call_soon(partial(_fall, mistake))
                return
            self._call_soon(partial(self._finish, done, error, seconds))


def _fall(mistake: BaseException) -> NoReturn:
    """Raise on the caller's loop what was a mistake of ours in the thread."""
    raise mistake
