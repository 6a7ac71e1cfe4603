"""What Ctrl-C does while a command must not be interrupted in the midst of something."""

import os
import signal
from collections.abc import Iterator

import pytest

from admin.lab.processes import interrupts


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    former = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, former)


def test_ctrl_c_is_a_call_each_time_and_raises_as_before_behind_the_block() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    calls: list[int] = []
    with interrupts(lambda: calls.append(1)):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
    assert calls == [1, 1]
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_where_ctrl_c_is_ignored_it_stays_so() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    calls: list[int] = []
    with interrupts(lambda: calls.append(1)):
        os.kill(os.getpid(), signal.SIGINT)
    assert calls == []
