"""A terminal with a user: a process on a pty, and the content of its screen."""

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pyte
from typing_extensions import override

ROOT = Path(__file__).parents[2]
PATIENCE_S = 40.0
AT_REST = 15
"""Looks without a change after which a screen is taken for finished."""

NOT_PASSED = frozenset({"NO_COLOR", "COLUMNS", "LINES"})
"""What a terminal says of itself, and not the environment that the tests run in."""


class _Answering(pyte.Screen):
    """Tells the process where its cursor is, at the very place where it asks."""

    def __init__(self, process: "pexpect.spawn[bytes]", columns: int, rows: int) -> None:
        super().__init__(columns, rows)
        self._process = process

    @override
    def write_process_input(self, data: str) -> None:
        self._process.send(data)


class Screen:
    """80 x 24 unless said otherwise."""

    def __init__(self, process: "pexpect.spawn[bytes]", rows: int, columns: int) -> None:
        self.process = process
        self.alive = True
        self._screen = _Answering(process, columns, rows)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def terminal(self) -> pyte.Screen:
        """Every letter with its colours."""
        return self._screen

    @property
    def text(self) -> str:
        """The lines on the screen."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    @property
    def colours(self) -> set[str]:
        """Those of all letters on the screen, and of what is behind them."""
        lines = self._screen.buffer.values()
        found = {
            colour for line in lines for char in line.values() for colour in (char.fg, char.bg)
        }
        return found - {"default"}

    def type(self, text: str) -> None:
        """Press keys."""
        self.process.send(text)

    def enter(self, text: str) -> None:
        """Press keys and Enter."""
        self.type(text + "\r")

    def until(self, pattern: str, *, patience: float = PATIENCE_S) -> str:
        """Watch until the screen shows it; the whole screen then."""
        deadline = time.monotonic() + patience
        while not re.search(pattern, self.text):
            assert time.monotonic() < deadline, f"no {pattern!r} within {patience} s:\n{self.text}"
            assert self.alive, f"no {pattern!r} before the end:\n{self.text}"
            self.watch()
        return self.text

    def becomes(self, expected: str | None, of: Callable[[str], str]) -> str:
        """Watch until the screen, seen through `of`, is that; without it, until it is at rest.

        Gives back what it came to, which is something else if it has not become so in time.
        """
        deadline, rest = time.monotonic() + PATIENCE_S / 2, 0
        seen = of(self.text)
        while seen != expected and time.monotonic() < deadline and self.alive:
            self.watch()
            former, seen = seen, of(self.text)
            rest = rest + 1 if seen == former else 0
            if expected is None and rest > AT_REST:
                break
        return seen

    def resize(self, columns: int, rows: int) -> None:
        """The user pulls at the corner of the window."""
        self._screen.resize(rows, columns)
        self.process.setwinsize(rows, columns)

    def clear(self) -> None:
        """Begin a fresh screen, so that what is old is not found again."""
        self.type("\x0c")
        self.until(r"\A\S*> ?\n")

    def end(self) -> int | None:
        """Watch until the process has ended; its exit code."""
        deadline = time.monotonic() + PATIENCE_S
        while self.alive:
            assert time.monotonic() < deadline, f"it does not end:\n{self.text}"
            self.watch()
        self.process.close()
        status: int | None = self.process.exitstatus
        return status

    def watch(self) -> None:
        """Take in what the process writes within a moment."""
        try:
            data = self.process.read_nonblocking(65536, timeout=0.2)
        except pexpect.TIMEOUT:
            return
        except pexpect.EOF:
            self.alive = False
            return
        self._stream.feed(data)


@contextmanager
def running(
    *args: str | Path,
    home: Path,
    rows: int = 24,
    columns: int = 80,
    folder: Path = ROOT,
    **variables: str,
) -> Iterator[Screen]:
    """`qsync` with these arguments on a terminal, run in `folder`; ended at the end."""
    env = {
        **{name: value for name, value in os.environ.items() if name not in NOT_PASSED},
        "TERM": "xterm-256color",
        "XDG_STATE_HOME": str(home),
        "PAGER": "",
        "PYTHONPATH": str(ROOT),
        **variables,
    }
    process = pexpect.spawn(
        sys.executable,
        ["-m", "qsync", *map(str, args)],
        dimensions=(rows, columns),
        env=env,
        cwd=str(folder),
    )
    try:
        yield Screen(process, rows, columns)
    finally:
        # Not close(force=True): it gives the kernel a tenth of a second.
        if process.isalive():
            process.kill(signal.SIGKILL)
            process.wait()
        process.close()
