"""Writes run in place on a fast disk and in a thread on a slow one, and the answer comes home."""

import queue
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from election.messages import Index
from qsync.core.ready import Write
from qsync.errors import DiskFull, StoreError
from qsync.store import beside, writer
from qsync.store.contract import Log
from qsync.store.log import LmdbLog
from qsync.store.memory import NOBODY, MemoryLog
from qsync.store.writer import Choice, LogWriter, WriterMode, choose
from tests.unit.logs import some, write


class Loop:
    """Runs what other threads ask for, one call at a time."""

    def __init__(self) -> None:
        self.calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.answers: list[StoreError | None] = []
        self.thread = threading.get_ident()

    def done(self, error: StoreError | None) -> None:
        assert threading.get_ident() == self.thread
        self.answers.append(error)

    def turn(self) -> None:
        self.calls.get(timeout=20)()


class GatedLog(MemoryLog):
    """A disk that hangs until the gate opens."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.gate = threading.Event(), threading.Event()

    def write(self, write: Write) -> None:
        self.reached.set()
        assert self.gate.wait(20)
        super().write(write)


class BrokenLog(MemoryLog):
    """Has a mistake in it."""

    def write(self, write: Write) -> None:
        raise AssertionError("a mistake")


@pytest.fixture
def loop() -> Loop:
    return Loop()


def made(log: Log, loop: Loop, mode: WriterMode) -> LogWriter:
    return LogWriter(log, choice=Choice(mode), call_soon=loop.calls.put)


@pytest.fixture(autouse=True)
def _switch_interval_stays() -> Iterator[None]:
    before = sys.getswitchinterval()
    yield
    assert sys.getswitchinterval() == before


def test_in_place_the_answer_comes_before_submit_returns(loop: Loop) -> None:
    log = MemoryLog()
    one = made(log, loop, WriterMode.INLINE)
    one.submit(write(some(3)), loop.done)
    assert (loop.answers, log.last) == ([None], 3)
    assert one.busy_since is None
    assert one.close()


@pytest.mark.parametrize("mode", [WriterMode.INLINE, WriterMode.THREAD])
def test_a_fault_is_an_answer_and_the_next_write_works(loop: Loop, mode: WriterMode) -> None:
    log = MemoryLog()
    one = made(log, loop, mode)
    for fault in (DiskFull("no room"), None):
        log.fault = fault
        one.submit(write(some(3)), loop.done)
        if mode is WriterMode.THREAD:
            loop.turn()
    assert [type(answer) for answer in loop.answers] == [DiskFull, type(None)]
    assert log.last == 3
    assert one.close()


def test_a_disk_that_hangs_holds_up_only_the_thread(loop: Loop) -> None:
    log = GatedLog()
    one = made(log, loop, WriterMode.THREAD)
    one.submit(write(some(3)), loop.done)
    assert log.reached.wait(20)
    assert one.busy_since is not None
    assert (loop.answers, log.last) == ([], 0)
    log.gate.set()
    loop.turn()
    assert (loop.answers, log.last) == ([None], 3)
    assert one.busy_since is None
    assert one.close()


def test_closing_beside_a_disk_that_hangs_says_so(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "CLOSE_S_MAX", 0.01)
    log = GatedLog()
    one = made(log, loop, WriterMode.THREAD)
    one.submit(write(some(3)), loop.done)
    assert not one.close()
    log.gate.set()
    loop.turn()


def test_a_mistake_in_the_thread_falls_on_the_loop(loop: Loop) -> None:
    one = made(BrokenLog(), loop, WriterMode.THREAD)
    one.submit(write(some(1)), loop.done)
    with pytest.raises(AssertionError, match="a mistake"):
        loop.turn()
    assert one.close()


def test_a_second_write_before_the_answer_is_our_mistake(loop: Loop) -> None:
    log = GatedLog()
    one = made(log, loop, WriterMode.THREAD)
    one.submit(write(some(1)), loop.done)
    with pytest.raises(AssertionError):
        one.submit(write(some(1)), loop.done)
    log.gate.set()
    loop.turn()
    assert one.close()


def test_lmdb_is_read_while_a_thread_writes_and_the_map_grows(loop: Loop, tmp_path: Path) -> None:
    log = LmdbLog(tmp_path / "log", identity=NOBODY, map_size=64 * 1024)
    log.recover()
    one = made(log, loop, WriterMode.THREAD)
    entries = some(3000)
    for at in range(0, 3000, 100):
        one.submit(write(entries[at : at + 100]), loop.done)
        while one.busy_since is not None:
            last = log.last
            assert log.entries(Index(1), last) == entries[:last]
            if not loop.calls.empty():
                loop.turn()
    assert loop.answers == [None] * 30
    assert one.close()
    log.close()


# ------------------------------------------------------------------------------------- the choice


@pytest.mark.parametrize(
    ("probe_s", "mode"),
    [
        (0.00005, WriterMode.INLINE),
        (0.0039, WriterMode.INLINE),
        (0.004, WriterMode.THREAD),
        (0.02, WriterMode.THREAD),
    ],
)
def test_a_disk_that_flushes_within_four_milliseconds_is_written_in_place(
    probe_s: float, mode: WriterMode
) -> None:
    assert choose(probe_s) is mode
    assert Choice(WriterMode.AUTO, probe_s=probe_s).mode is mode


def test_a_disk_that_becomes_slow_moves_to_the_thread_after_a_fair_sample() -> None:
    choice = Choice(WriterMode.AUTO, probe_s=0.0001)
    modes = [choice.took(0.004) for _ in range(writer.SAMPLES)]
    assert modes == [WriterMode.INLINE] * (writer.SAMPLES - 1) + [WriterMode.THREAD]


def test_one_stall_moves_to_the_thread_at_once() -> None:
    assert Choice(WriterMode.AUTO, probe_s=0.0001).took(writer.STALL_S) is WriterMode.THREAD


def test_a_disk_that_recovers_is_written_in_place_again() -> None:
    choice = Choice(WriterMode.AUTO, probe_s=0.01)
    modes = [choice.took(0.0001) for _ in range(writer.SAMPLES)]
    assert modes == [WriterMode.THREAD] * (writer.SAMPLES - 1) + [WriterMode.INLINE]


def test_a_disk_between_the_thresholds_stays_where_it_is() -> None:
    for probe_s, mode in ((0.0001, WriterMode.INLINE), (0.01, WriterMode.THREAD)):
        choice = Choice(WriterMode.AUTO, probe_s=probe_s)
        assert {choice.took(0.003) for _ in range(100)} == {mode}


@pytest.mark.parametrize("mode", [WriterMode.INLINE, WriterMode.THREAD])
def test_a_choice_of_the_operator_stays(mode: WriterMode) -> None:
    choice = Choice(mode)
    assert {choice.took(seconds) for seconds in (9.0, 0.0, *([0.0] * 40))} == {mode}


def test_the_writer_moves_between_the_two_as_the_disk_changes(loop: Loop) -> None:
    log = MemoryLog()
    choice = Choice(WriterMode.AUTO, probe_s=1.0)
    one = LogWriter(log, choice=choice, call_soon=loop.calls.put)
    last = None
    for _ in range(writer.SAMPLES):
        assert one.mode is WriterMode.THREAD
        entries = some(1, after=last)
        one.submit(write(entries), loop.done)
        loop.turn()
        last = entries[0]
    one.submit(write(some(1, after=last)), loop.done)
    assert log.last == writer.SAMPLES + 1
    assert one.mode is WriterMode.INLINE
    assert one.close()


def test_after_closing_nobody_is_told_and_nothing_is_written_any_more(loop: Loop) -> None:
    log = GatedLog()
    one = made(log, loop, WriterMode.THREAD)
    one.submit(write(some(1)), loop.done)
    assert log.reached.wait(20)
    log.gate.set()
    assert one.close()
    loop.turn()  # the end of the write was on its way home
    assert loop.answers == []
