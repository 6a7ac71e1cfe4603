"""Ctrl-C in a script: Lua that is running is stopped, and what waits is interrupted as usual."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from cli.shell.runtime import LuaRuntime


@contextmanager
def stopping(runtime: LuaRuntime) -> Iterator[None]:
    """Until the block ends, SIGINT stops Lua, which would take KeyboardInterrupt for its own error.

    Where SIGINT is ignored, as in the background of a script, it stays so.
    """
    former = signal.getsignal(signal.SIGINT)
    if not callable(former):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if runtime.is_running:
            runtime.interrupted = runtime.ended = True
        else:
            former(number, frame)

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)
