"""Lines of the log whose stream takes none: they are left out and counted, and nobody waits."""

import logging
import os
from collections.abc import Iterator
from contextlib import suppress

import pytest

from qsync.node import line_writer
from qsync.node.line_writer import LEFT_OUT, LINES_WAITING_MAX, LineWriter
from qsync.node.logs import TextFormatter
from tests.full_pipe import full_pipe


class Pipe:
    """Full from the start."""

    def __init__(self) -> None:
        self.reading, self.writing = full_pipe()
        self.writer = LineWriter(self.writing)
        self.writer.setFormatter(TextFormatter())

    def write(self, name: str) -> None:
        self.writer.handle(logging.makeLogRecord({"name": "n1", "msg": name, "levelname": "INFO"}))

    def read_until(self, word: str) -> str:
        """All that comes up to a line with this word."""
        found = b""
        while not (found.endswith(b"\n") and word.encode() in found):
            found += os.read(self.reading, 1 << 16)
        return found.decode().lstrip("x")


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    with suppress(OSError):
        os.close(made.reading)
    made.writer.flush()
    made.writer.close()
    os.close(made.writing)


def test_nobody_waits_for_a_full_pipe_and_what_is_left_out_is_counted(pipe: Pipe) -> None:
    pipe.write("first")
    while pipe.writer._lines.qsize():
        os.sched_yield()  # the thread has taken it, and hangs
    for number in range(LINES_WAITING_MAX + 5):
        pipe.write(f"line{number}")
    pipe.read_until(f"line{LINES_WAITING_MAX - 1}")
    pipe.writer.flush()
    pipe.write("after")
    assert pipe.read_until("after").strip().endswith(f"after {LEFT_OUT}=5")
    pipe.write("next")
    assert LEFT_OUT not in pipe.read_until("next")


def test_the_end_does_not_wait_long_for_a_full_pipe(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_writer, "FLUSH_S_MAX", 0.01)
    pipe.write("first")
    pipe.writer.flush()
    assert pipe.writer._lines.unfinished_tasks == 1


def test_a_line_that_nobody_reads_any_more_counts_as_left_out(pipe: Pipe) -> None:
    os.close(pipe.reading)
    pipe.write("first")
    pipe.writer.flush()
    assert pipe.writer._left_out == 1
