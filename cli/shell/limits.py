"""The time limit of a script, which `--timeout` sets."""

import math
import time
from typing import Final

from cli.exits import StoppedByGuard
from cli.shell.failures import InterruptedUnknown
from cli.shell.verbs import Verbs
from qsync.errors import QsyncError
from qsync.units import show_duration

GRACE_S: Final = 0.5
"""How much later a request is ended that the script waits for: its own limit, which begins with it,
is as long, and its own error says more.
"""
HINT: Final = "give it more time, or leave --timeout out: then only each request has a limit"


class ScriptLimit:
    """Begins now, and lasts for this long."""

    def __init__(self, seconds: float = math.inf) -> None:
        self._seconds = seconds
        self._until = time.monotonic() + seconds

    @property
    def passed(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self._until

    @property
    def grace_s(self) -> float:
        """Seconds until a request that the script waits for is ended too."""
        return self._until + GRACE_S - time.monotonic()

    def error(self, verbs: Verbs) -> QsyncError:
        """Return the error of a stopped script, which says what it has changed."""
        late = f"the script was stopped after {show_duration(self._seconds)} (--timeout)"
        if verbs.writing is not None:
            what = f"{late} while {verbs.writing} was running: it may be applied or not"
            return InterruptedUnknown(what)
        if verbs.changed:
            return InterruptedUnknown(f"{late}: what it wrote before that stays", hint=HINT)
        return StoppedByGuard(f"{late}; it had changed nothing", hint=HINT)
