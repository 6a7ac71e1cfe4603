"""A writing process is killed at random instants; whatever it had acked is there, and only that."""

import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.disk.life import Held, Life
from tests.disk.opened import look, place
from tests.unit.logs import ROOT

LIVES = int(os.environ.get("QSYNC_TEST_LIVES", "3"))
"""Directories, each with a seed of its own."""
KILLS = 40
"""Of each: later ones hit a larger store, and maps that have to grow."""
MOMENT_MAX = 0.04
"""Seconds until a kill: time for opening the store, or for some dozens of commits."""
DEADLINE = 30.0
CODE = "from tests.disk.writer import serve; serve()"


class Nursery:
    """Starts children that write, one after the other, and hears what they say."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
        )
        self._heard = b""

    def life(self, path: Path, *, seed: int, begin: int, moment: float, after: int | None) -> int:
        """Kill a child `moment` seconds `after` so many acks, or (None) after it began to open.

        The last step that it acked.
        """
        self._say(f"{seed} {begin} {path}\n")
        pid = int(self._line(DEADLINE).removeprefix("pid "))
        last, killed = begin, False
        if after is not None:
            assert self._line(DEADLINE) == "opened"
            while last < begin + after:
                last += 1
                assert self._line(DEADLINE) == str(last)
        ends = time.monotonic() + moment
        while True:
            line = self._line(DEADLINE if killed else ends - time.monotonic())
            if line.isdigit():
                assert int(line) == last + 1
                last += 1
            elif line.startswith("end "):
                assert os.WTERMSIG(int(line[4:])) == signal.SIGKILL
                return last
            elif not line:
                assert not killed, "it does not end"
                os.kill(pid, signal.SIGKILL)
                killed = True

    def close(self) -> None:
        self._process.communicate(timeout=DEADLINE)
        assert self._process.returncode == 0

    def _say(self, line: str) -> None:
        pipe = self._pipe(self._process.stdin)
        pipe.write(line.encode())
        pipe.flush()

    def _line(self, seconds: float) -> str:
        """The next line; empty when there is none in time."""
        pipe = self._pipe(self._process.stdout)
        while b"\n" not in self._heard:
            if not select.select([pipe], [], [], max(seconds, 0))[0]:
                return ""
            heard = os.read(pipe.fileno(), 65536)
            assert heard, "the process that starts the children is gone"
            self._heard += heard
        line, _, self._heard = self._heard.partition(b"\n")
        return line.decode()

    def _pipe(self, pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    try:
        yield made
    finally:
        made.close()


@pytest.mark.slow
@pytest.mark.timeout(60 + LIVES * 30)
@pytest.mark.parametrize("seed", range(LIVES))
def test_what_was_acked_survives_a_kill_at_any_instant_and_nothing_else_appears(
    nursery: Nursery, tmp_path: Path, seed: int
) -> None:
    dice, life = random.Random(seed), Life(seed)
    lived = [Held()]
    begin = 0
    for _ in range(KILLS):
        acked = nursery.life(
            tmp_path / "n",
            seed=seed,
            begin=begin,
            moment=_moment(dice),
            after=None if dice.random() < 0.3 else dice.randint(0, 5),
        )
        while len(lived) < acked + 2:
            life.step()
            lived.append(life.held)
        held = look(tmp_path / "n")
        begin = place(held, lived, acked=acked)
        # A kill leaves the pages in the hands of the system: no fold is lost, and none is undone.
        assert held.folded in {lived[acked].folded, lived[acked + 1].folded}
        assert held.ballot.term >= lived[acked].ballot.term
    assert begin > KILLS


def _moment(dice: random.Random) -> float:
    """Sooner more often than later: so there are many lives."""
    return MOMENT_MAX * dice.random() ** 2
