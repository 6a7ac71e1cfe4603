"""A thread that does one piece of work after another beside a busy loop."""

import contextlib
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Protocol

SWITCH_S = 0.0002
"""Interpreter switch interval beside a busy loop; at the default the thread would starve."""
CLOSE_S_MAX = 5.0
"""How long closing waits for a write on a disk that hangs."""

Work = Callable[[], bool]
"""Says whether more may come."""


class BackgroundWork(Protocol):
    """Does work that may take long, in order."""

    def put(self, work: Work) -> None:
        """Do it as soon as the work before it is done."""

    def end(self) -> bool:
        """Let what runs come to its end; false if it hangs. `put` starts it again."""


class _Switching:
    """How soon threads yield the interpreter: often, while any works beside a busy loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._usual_s = 0.0

    def begin_work(self) -> None:
        """A thread begins to work."""
        with self._lock:
            if not self._count:
                self._usual_s = sys.getswitchinterval()
                sys.setswitchinterval(min(SWITCH_S, self._usual_s))
            self._count += 1

    def end_work(self) -> None:
        """Note that work in a thread has ended."""
        with self._lock:
            self._count -= 1
            if not self._count:
                sys.setswitchinterval(self._usual_s)


_SWITCHING = _Switching()


@contextlib.contextmanager
def switching_often() -> Iterator[None]:
    """Let threads hold the interpreter for `SWITCH_S` at a time at most, inside the block.

    One call into C holds it for as long as it takes; by itself the interpreter waits 5 ms.
    """
    _SWITCHING.begin_work()
    try:
        yield
    finally:
        _SWITCHING.end_work()


class Thread:
    """See `Beside`. There is a thread only while there is something to do now and then."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()

    def put(self, work: Work) -> None:
        """Do it in the thread, which is started if there is none."""
        if self._thread is None:
            _SWITCHING.begin_work()
            self._thread = threading.Thread(target=self._serve, name="log writer", daemon=True)
            self._thread.start()
        self._work.put(work)

    def end(self) -> bool:
        """No more work comes; wait a little for what runs."""
        thread, self._thread = self._thread, None
        if thread is None:
            return True
        self._work.put(None)
        thread.join(CLOSE_S_MAX)
        _SWITCHING.end_work()
        return not thread.is_alive()

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            if not work():
                return


class SlowCall:
    """A call that may take long: made by the first thread, its error raised to its owner."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._error: BaseException | None = None
        self._is_made = False

    def wait(self) -> int:
        """Make the call, in whatever thread this is; 0."""
        self._is_made = True
        try:
            self._call()
        except BaseException as error:  # noqa: BLE001 - it is raised by `result`
            self._error = error
        return 0

    def result(self) -> None:
        """Make the call if no thread has; raise what it raised."""
        if not self._is_made:
            self.wait()
        if self._error is not None:
            raise self._error
