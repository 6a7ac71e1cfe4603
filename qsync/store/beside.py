"""A thread that does one piece of work after another beside a busy loop."""

import queue
import sys
import threading
from collections.abc import Callable
from typing import Protocol

SWITCH_S = 0.0002
"""Interpreter switch interval beside a busy loop; at the default the thread would starve."""
CLOSE_S_MAX = 5.0
"""How long closing waits for a write on a disk that hangs."""

Work = Callable[[], bool]
"""Says whether more may come."""


class BackgroundWork(Protocol):
    """Where work that may take long is done, in order."""

    def put(self, work: Work) -> None:
        """Do it as soon as what came before is done."""

    def end(self) -> bool:
        """Let what runs come to its end; false if it hangs. `put` begins anew."""


class Thread:
    """See `Beside`. There is a thread only while there is something to do now and then."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._switch_s = sys.getswitchinterval()

    def put(self, work: Work) -> None:
        """Do it in the thread, which is begun if there is none."""
        if self._thread is None:
            self._switch_s = sys.getswitchinterval()
            sys.setswitchinterval(min(SWITCH_S, self._switch_s))
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
        sys.setswitchinterval(self._switch_s)
        return not thread.is_alive()

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            if not work():
                return


class SlowCall:
    """A call that may take long: made by whoever comes first, its error raised to its owner."""

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
        """Make the call if nobody has; raise what it raised."""
        if not self._is_made:
            self.wait()
        if self._error is not None:
            raise self._error
