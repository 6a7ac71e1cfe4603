"""The same question to many nodes at once."""

import os
import signal
import threading

import pytest

from admin.cluster import parallel


def test_answers_come_in_the_order_of_the_questions() -> None:
    first_may = threading.Event()

    def ask(number: int) -> int:
        if number:
            first_may.set()
        else:
            assert first_may.wait(10)
        return number * number

    assert parallel.each(range(100), ask) == [each * each for each in range(100)]
    assert parallel.each([], ask) == []


def test_what_one_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        parallel.each([1, 0, 2], lambda each: 1 // each)


def test_ctrl_c_waits_for_nobody_and_asks_nobody_any_more() -> None:
    silent, asked = threading.Event(), list[int]()

    def ask(number: int) -> None:
        asked.append(number)
        if number == parallel.AT_ONCE_MAX - 1:
            os.kill(os.getpid(), signal.SIGINT)
        silent.wait()

    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        parallel.each(range(10 * parallel.AT_ONCE_MAX), ask)
    silent.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert len(asked) <= parallel.AT_ONCE_MAX
