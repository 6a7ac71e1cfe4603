"""Commands that are ended from outside clear up first, as with Ctrl-C."""

import os
import select
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

from qsync import early

_ASKING = (signal.SIGTERM, signal.SIGHUP)
OUTPUTS = (1, 2)
"""Our file descriptors: stdout and stderr."""


def interrupted_by_exception() -> None:
    """From now on Ctrl-C is a KeyboardInterrupt, if the process has ended at once until now."""
    if signal.getsignal(signal.SIGINT) is early.end_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def interrupted_politely() -> Iterator[None]:
    """SIGTERM, and SIGHUP when the terminal is closed, do what Ctrl-C does until the block ends.

    Where SIGHUP is ignored, as under nohup, it stays so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are for the main thread alone
        return
    terminals = [number for number in OUTPUTS if os.isatty(number)]

    def interrupt_once(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            # It may come twice, from the kernel and from a shell; and what is said while
            # clearing up must not fail.
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            silence(terminals)
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):
            raise KeyboardInterrupt  # Ctrl-C is ignored, as in the background of a script
        interrupt(signal.SIGINT, frame)

    wanted = [each for each in _ASKING if signal.getsignal(each) is signal.SIG_DFL]
    for each in wanted:
        signal.signal(each, interrupt_once)
    try:
        yield
    finally:
        for each in wanted:
            signal.signal(each, signal.SIG_DFL)


def open_streams() -> None:
    """A standard stream that the caller has closed leads nowhere from now on.

    Python has none then; and the next file that is opened would be taken for it.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - to the end


def unread() -> list[int]:
    """Our output whose reader is gone, if any."""
    poll = select.poll()
    for each in OUTPUTS:
        poll.register(each, 0)  # errors and hang-ups are told always
    return [number for number, _ in poll.poll(0)]


def silence(numbers: Iterable[int]) -> None:
    """Discard all later output there, also the buffers that Python flushes when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for each in numbers:
        os.dup2(nowhere, each)
    os.close(nowhere)


@contextmanager
def while_read(stop: threading.Event) -> Iterator[None]:
    """Sets the event when the reader of our output is gone, such as a `head` that has enough.

    A command that writes notices by itself; this is for those that may write nothing for long.
    """
    try:
        output = sys.stdout.fileno()
    except (OSError, ValueError):
        yield  # no file, as in tests
        return
    done, end = os.pipe()

    def look() -> None:
        poll = select.poll()
        poll.register(output, 0)  # errors and hang-ups are told always
        poll.register(done, 0)
        if any(number == output for number, _ in poll.poll()):
            stop.set()

    looking = threading.Thread(target=look, name="while-read")
    looking.start()
    try:
        yield
    finally:
        os.close(end)
        looking.join()
        os.close(done)
