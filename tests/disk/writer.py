"""A process of its own that lives a life on a real directory and says after each step: done."""

import os
import queue
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from qsync.errors import StoreError
from qsync.store.directory import Directory
from qsync.store.segments.log import SegmentLog
from qsync.store.segments.spare import SpareInPlace, SpareInThread
from qsync.store.spaces import SpaceStore
from qsync.store.writer import Choice, LogWriter, WriterMode
from tests.disk.life import Flush, Fold, Life, Reopen, Step
from tests.unit.logs import ME

ROWS_MAX = 5
"""In one step of a fold."""
MAP_SIZE = 64 * 1024
"""Small, so that maps grow while being written."""
SIZES = (8 * 1024, 32 * 1024)
"""Small, so that there are many segments."""


class Store:
    """The directory of a node, opened as a node opens it."""

    def __init__(self, path: Path, *, mode: WriterMode, boot: str | None = None) -> None:
        self._place = (path, mode, boot)
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._open()

    def _open(self) -> None:
        path, mode, boot = self._place
        self.directory = Directory(path, wanted=replace(ME, instance=""))
        self.log = SegmentLog(
            self.directory.log,
            identity=ME,
            sizes=SIZES,
            spares=SpareInThread() if mode is WriterMode.THREAD else SpareInPlace(),
        )
        self.found = self.log.recover()
        self.spaces = SpaceStore(self.directory.data, boot=boot, map_size=MAP_SIZE)
        self._writer = LogWriter(self.log, choice=Choice(mode), call_soon=self._calls.put)

    def close(self) -> None:
        """As a node that is stopped."""
        assert self._writer.close()
        self.spaces.close()
        self.log.close()
        self.directory.close()

    def take(self, step: Step) -> None:
        """Do a step; what must be durable is durable when this returns."""
        if isinstance(step, Reopen):
            self.close()
            self._open()
        elif isinstance(step, Flush):
            self.spaces.sync()
        elif isinstance(step, Fold):
            with closing(self.spaces.folding(step, ROWS_MAX)) as given_up:
                next(given_up, None)
            for _ in self.spaces.folding(step, ROWS_MAX):
                pass
        else:
            answers: list[StoreError | None] = []
            self._writer.submit(step, answers.append)
            while not answers:
                self._calls.get()()
            if answers[0] is not None:
                raise answers[0]


def live(path: Path, *, seed: int, begin: int, end: int | None = None, retries: int = 0) -> int:
    """Take the steps from `begin` on, and say so on the standard output.

    A step that fails is taken once more, at most `retries` times; how often that was.
    """
    life, number = Life(seed), 0
    while number < begin:
        life.step()
        number += 1
    store = Store(path, mode=WriterMode.THREAD if seed % 2 else WriterMode.INLINE)
    os.write(1, b"opened\n")
    failed = 0
    while number != end:
        step = life.step()
        try:
            store.take(step)
        except StoreError:
            failed += 1
            if failed > retries:
                raise
            store.take(step)
        number += 1
        os.write(1, b"%d\n" % number)
    store.close()
    return failed


def serve() -> None:
    """For each line `SEED BEGIN PATH`, a child that lives until it is killed.

    Forking is a hundred times faster than starting an interpreter. What a child says is preceded
    by `pid N` and followed by `end STATUS`.
    """
    for line in sys.stdin:
        seed, begin, path = line.rstrip("\n").split(" ", 2)
        child = os.fork()
        if not child:
            _live_and_die(Path(path), seed=int(seed), begin=int(begin))
        _, status = os.waitpid(child, 0)
        os.write(1, b"end %d\n" % status)


def _live_and_die(path: Path, *, seed: int, begin: int) -> None:
    status = 1
    try:
        # Nobody is left behind when the test itself is killed: then there is no reader any more.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.write(1, b"pid %d\n" % os.getpid())
        live(path, seed=seed, begin=begin)
        status = 0
    except BaseException:  # noqa: BLE001 - told on stderr, and by the status
        traceback.print_exc()
    finally:
        os._exit(status)
